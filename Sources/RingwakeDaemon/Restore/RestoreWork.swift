internal import ControlProtocol
internal import Cryptography
internal import DaemonConfiguration
internal import FileSystem
internal import FoundationEssentials
internal import Glibc
internal import PushJournal
internal import RingwakeCore

/// `ringwaked --store restore`, for `ringwake backup restore`: see ``RestoreOrder``.
struct RestoreWork {
    private static let maximumOrderBytes = 1 << 20

    private let staged: StagedRestore
    private let limits: JournalLimits
    private let protection: ProtectionSettings

    /// - Parameter directory: the state directory, whose owner this process is.
    init(directory: String, limits: JournalLimits, _ protection: ProtectionSettings) {
        self.protection = protection
        staged = StagedRestore(directory: directory)
        self.limits = limits
    }

    func run() throws(RingwakeError) {
        let lock = try staged.lock()
        defer { withExtendedLifetime(lock) {} }
        try finishFormer()
        var input = LineInput(descriptor: STDIN_FILENO, maximumBytes: Self.maximumOrderBytes)
        guard let line = try input.next(), let order = try? JSONDecoder().decode(RestoreOrder.self, from: Data(line))
        else {
            throw RingwakeError(.invalidRequest, "--store restore reads an order; 'ringwake backup restore' writes it")
        }
        do throws(RingwakeError) {
            let passphrase = try Passphrase(line: try input.next())
            var preparation = try RestorePreparation(
                staged, order, passphrase, limits: limits, clocks: try Daemon.clocks())
            let prepared = try preparation.prepare(
                report: StoreWork.eachPercent { emit(RestoreLine(progress: $0)) })
            emit(RestoreLine(prepared: prepared))
            guard try input.next() == Array(RestoreOrder.commit.utf8) else { return try staged.discard() }
            try staged.commit(order)
        } catch {
            // What stays of it is removed by the next restore.
            try? staged.discard()
            throw error
        }
        let (isComplete, outcome): (Bool, StagedRestore.Outcome?)
        do throws(RingwakeError) {
            (isComplete, outcome) = try finish()
        } catch {
            // It is committed, and the next start goes on.
            if staged.isWaiting { emit(RestoreLine(isComplete: false, why: error.message)) }
            throw error
        }
        emit(
            RestoreLine(
                isComplete: isComplete, added: outcome?.records?.added, skipped: outcome?.records?.skipped))
    }

    /// A committed restore has to be in place before the next one.
    private func finishFormer() throws(RingwakeError) {
        guard staged.isWaiting, try !finish().isComplete else { return }
        throw RingwakeError(
            .conflict, "a restore waits for the daemon to start again; restart ringwaked, and then restore")
    }

    /// - Returns: not complete if a daemon runs, which does it when it starts the next time.
    private func finish() throws(RingwakeError) -> (isComplete: Bool, outcome: StagedRestore.Outcome?) {
        let lock: FileLock
        do throws(FileSystemError) {
            lock = try FileLock(path: "\(staged.directory)/lock")
        } catch {
            guard error.errno == EWOULDBLOCK else { throw StagedRestore.failure(error) }
            return (false, nil)
        }
        defer { withExtendedLifetime(lock) {} }
        let keys = { () throws(RingwakeError) in try IdleKeys.forWriting(inDirectory: staged.directory, protection) }
        let outcome = try staged.finish(limits: limits, keys: keys) { () throws(RingwakeError) in try Daemon.clocks() }
        return (true, outcome)
    }

    private func emit(_ line: RestoreLine) {
        // A reader that has left also ends the input, which cancels the restore.
        try? StandardStream.output.write(controlLine(line))
    }
}
