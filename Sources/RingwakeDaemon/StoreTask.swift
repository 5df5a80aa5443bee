internal import ControlProtocol
internal import CRingwakeLinux
internal import Cryptography
internal import DaemonConfiguration
internal import DataProtection
internal import FileSystem
internal import Glibc
internal import PushJournal
internal import RingwakeCore
internal import StoreMigration

/// What `ringwaked --store` does while no daemon runs. `ringwake store` and `ringwake backup` use it.
enum StoreTask: String, CaseIterable {
    /// Prints what the store is.
    case status
    /// Prints what a migration does.
    case plan
    /// Migrates it, and prints how far that is.
    case migrate
    /// Copies the store, prints where the copy is, and removes it when standard input ends.
    case copy
    /// Prints the store's records. If a passphrase opens their keys, it is in the first line of standard input, as
    /// ``IdlePassphrase`` says.
    case export
    /// Reads records and adds them.
    case `import`
    /// Puts a backup in place of the state, as ``RestoreOrder`` says.
    case restore
}

/// Does a ``StoreTask`` as the owner of the state directory: what root makes there, the daemon could not open.
struct StoreWork {
    private let task: StoreTask
    private let directory: String
    private let limits: JournalLimits
    private let copy: String?
    private let protection: ProtectionSettings

    /// - Parameters:
    ///   - task: what is to be done.
    ///   - file: the configuration.
    ///   - other: for an export a copy of the store, for a restore the state directory; nil: those of the configuration.
    /// - Throws: `notFound` if there is no state directory, `badConfiguration`.
    init(_ task: StoreTask, file: String, defaults: StandardPaths, other: String?) throws(RingwakeError) {
        self.task = task
        let configuration = try Configuration.load(file: file, defaults: defaults)
        directory = (task == .restore ? other : nil) ?? configuration.stateDirectory
        limits = configuration.journal
        protection = configuration.protection
        copy = task == .export ? other : nil
        var status = stat()
        // Of a copy the folder counts: its owner decides what the name of the copy stands for.
        let folder = copy.map { FileSystem.split($0).directory } ?? directory
        guard stat(folder, &status) == 0 else {
            throw RingwakeError(
                .notFound,
                "there is no state directory \(folder); start the daemon, which makes one, or restore a backup")
        }
        try CheckUser.become("\(status.st_uid)")
    }

    /// - Throws: `inUse` if a daemon runs, `notFound` without a store.
    func run() throws(RingwakeError) {
        if task == .export, let copy {
            return try export { keys throws(RingwakeError) in
                try PortableExport(copy: copy, keys: keys, header: Self.header)
            }
        }
        if task == .restore { return try RestoreWork(directory: directory, limits: limits, protection).run() }
        let lock = try Daemon.lock(directory)
        defer { withExtendedLifetime(lock) {} }
        // An interrupted one.
        let keys = { () throws(RingwakeError) in try IdleKeys.forWriting(inDirectory: directory, protection) }
        _ = try StagedRestore(directory: directory).finish(limits: limits, keys: keys) { () throws(RingwakeError) in
            try Daemon.clocks()
        }
        switch task {
        case .status: emit(StoreLine(store: StoreMessage(try store().report())))
        case .plan: emit(StoreLine(store: StoreMessage(try store().plan())))
        case .migrate: try migrate()
        case .copy: try makeCopy()
        case .export:
            try export { keys throws(RingwakeError) in try store().export(keys: keys, header: Self.header) }
        case .import: try add(try keys())
        case .restore: break
        }
    }

    private func store() throws(RingwakeError) -> IdleStore {
        try IdleStore(inDirectory: directory, limits: limits, clocks: try Daemon.clocks())
    }

    private func migrate() throws(RingwakeError) {
        let damage = try store().migrate(report: Self.eachPercent { emit(StoreLine(progress: $0)) })
        var message = StoreMessage(try store().report())
        message.damage = damage.isEmpty ? nil : damage
        emit(StoreLine(store: message))
    }

    private func makeCopy() throws(RingwakeError) {
        let path = "\(directory)/\(StoreCopies.name)"
        defer { unlink(path) }
        do throws(FileSystemError) {
            unlink(path)
            try FileSystem.create(path, mode: 0o600)
        } catch {
            throw RingwakeError(.system, "\(error.description); the state directory has to be writable")
        }
        try store().copy(to: path) { emit(StoreCopyLine(percent: $0)) }
        var status = stat()
        guard stat(path, &status) == 0 else { throw RingwakeError(.system, "\(path) is gone: somebody removed it") }
        emit(StoreCopyLine(percent: 100, file: path, bytes: Int64(status.st_size)))
        var buffer = [UInt8](repeating: 0, count: 4096)
        while Glibc.read(STDIN_FILENO, &buffer, buffer.count) > 0 {}
    }

    /// Passes on each percent of a migration once.
    static func eachPercent(_ body: @escaping (StoreLine.Progress) -> Void) -> (MigrationProgress) -> Void {
        var percent = -1
        return { progress in
            guard progress.percent != percent else { return }
            percent = progress.percent
            body(.init(version: progress.version, rows: progress.rows, allRows: progress.allRows))
        }
    }

    static func header(_ header: inout JSONWriter) {
        header.add("program", "ringwake \(ProductVersion.current)")
        header.add("created_ms", unixMilliseconds())
        header.add("host", hostName() ?? "localhost")
    }

    private func export(_ begin: (KeyRing) throws(RingwakeError) -> PortableExport) throws(RingwakeError) {
        let keys = try IdleKeys(inDirectory: directory) { () throws(RingwakeError) in
            var input = LineInput(
                descriptor: STDIN_FILENO, maximumBytes: Passphrase.maximumBytes + IdlePassphrase.overhead)
            return try Passphrase(line: try input.next())
        }
        let lost = try StandardStream.output.write(try begin(keys.ring))
        var said: [String] = []
        if lost.locked > 0 { said.append("what is protected of \(lost.locked) records was left out: \(keys.why)") }
        if lost.deleted > 0 { said.append("\(lost.deleted) records lack what was deleted with their keys") }
        guard !said.isEmpty else { return }
        try? StandardStream.error.write("ringwaked: \(said.joined(separator: "; "))\n")
    }

    private func add(_ keys: KeyRing) throws(RingwakeError) {
        var input = LineInput(descriptor: STDIN_FILENO, maximumBytes: PortableImport.maximumLineBytes)
        let outcome = try PortableImport.run(
            inDirectory: directory, limits: limits, clocks: try Daemon.clocks(),
            keys: keys
        ) { () throws(RingwakeError) in try input.next() }
        emit(StoreLine(added: outcome.added, skipped: outcome.skipped))
        guard let newest = outcome.newestArrival, ClockJudge.isBehind(unixMilliseconds(), newest) else { return }
        try? StandardStream.error.write(
            "ringwaked: the newest push that was imported is of \(UTCTime(milliseconds: newest)), and this machine's clock is "
                + "behind that: pushes will be answered 503 until then. If the clock is right, start the daemon and run "
                + "'ringwake clock accept'\n")
    }

    private func emit(_ line: some Encodable) {
        // A reader that has left needs no line; what was begun is finished.
        try? StandardStream.output.write(controlLine(line))
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
