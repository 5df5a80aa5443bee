internal import ControlProtocol
internal import DaemonConfiguration
internal import FileSystem
internal import Glibc
internal import PushJournal
internal import RingwakeCore
internal import StoreMigration

/// `ringwaked --store`: looks at the store, or migrates it, while no daemon runs. `ringwake store` uses it.
enum StoreTask: String, CaseIterable {
    /// Prints what the store is.
    case status
    /// Prints what a migration does.
    case plan
    /// Migrates it, and prints how far that is.
    case migrate

    /// - Parameter emit: prints one line.
    /// - Throws: `inUse` if a daemon runs, `notFound` without a store.
    func run(
        file: String, defaults: StandardPaths, emit: @escaping (StoreLine) -> Void
    ) throws(RingwakeError) {
        let configuration = try Configuration.load(file: file, defaults: defaults)
        let directory = configuration.stateDirectory
        var status = stat()
        guard stat(directory, &status) == 0 else {
            throw RingwakeError(.notFound, "there is no state directory \(directory): the daemon has not run yet")
        }
        // What root makes there, the daemon could not open.
        try CheckUser.become("\(status.st_uid)")
        let lock = try Daemon.lock(directory)
        defer { withExtendedLifetime(lock) {} }
        let store = try IdleStore(
            inDirectory: directory, limits: configuration.journal, clocks: try Daemon.clocks())
        switch self {
        case .status:
            emit(StoreLine(store: StoreMessage(try store.report())))
        case .plan:
            emit(StoreLine(store: StoreMessage(try store.plan())))
        case .migrate:
            var percent = -1
            let damage = try store.migrate { progress in
                guard progress.percent != percent else { return }
                percent = progress.percent
                emit(
                    StoreLine(
                        progress: StoreLine.Progress(
                            version: progress.version, rows: progress.rows, allRows: progress.allRows)))
            }
            var message = StoreMessage(try store.report())
            message.damage = damage.isEmpty ? nil : damage
            emit(StoreLine(store: message))
        }
    }
}

extension StoreMessage {
    init(_ report: StoreReport) {
        self.init(
            file: report.path, version: report.version, currentVersion: report.currentVersion,
            oldestVersion: report.oldestVersion, bytes: report.bytes, unusedBytes: report.unusedBytes,
            freeBytes: report.freeBytes, rows: report.rows)
    }

    init(_ plan: StorePlan) {
        self.init(plan.report)
        guard let seconds = plan.seconds else { return }
        migration = Migration(
            steps: plan.steps.map { Step(from: $0.from, to: $0.to, changes: $0.changes) }, seconds: seconds,
            neededBytes: plan.neededBytes)
    }
}
