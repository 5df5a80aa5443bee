internal import ControlProtocol
internal import FileSystem
internal import Glibc
internal import HTTPServer
internal import Logging
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// `POST /v1/store/copy`: copies the store for a backup while pushes go on. The copy lives as long as the request's
/// stream: when the client leaves, whatever ended it, the file is removed.
///
/// A thread frees what the file held: that takes some tenths of a second for each gigabyte, during
/// which the loop would answer no push.
final class StoreCopies {
    /// The copy's name in the state directory.
    static let name = "store.copy"

    private let journal: PushJournal
    private let path: String
    private let runLoop: RunLoop
    private let logger: Logger
    private var exchange: (any HTTPExchange)?
    /// Whether the journal makes the copy, or has made it. Otherwise it waits for `removal`.
    private var isStarted = false
    /// Frees the former copy.
    private var removal: SlowWork<Void>?

    init(journal: PushJournal, directory: String, runLoop: RunLoop, logger: Logger) {
        self.journal = journal
        self.runLoop = runLoop
        self.logger = logger
        path = "\(directory)/\(StoreCopies.name)"
        // What a killed daemon has left.
        remove()
    }

    /// Begins a copy, and sends a line for each percent, and a last one with the file.
    /// - Throws: `inUse` while there is another copy.
    func begin(_ exchange: any HTTPExchange) throws(RingwakeError) {
        guard self.exchange == nil else {
            throw RingwakeError(.inUse, "another client has a copy of the store; wait until its backup has ended")
        }
        do throws(FileSystemError) {
            remove()
            try FileSystem.create(path, mode: 0o600)
        } catch {
            throw RingwakeError(.system, "\(error.description); the state directory has to be writable")
        }
        self.exchange = exchange
        exchange.onClose = { [weak self] in self?.end() }
        exchange.beginLines()
        // `onClose` isn't called for a client that has already left.
        guard exchange.isOpen else { return end() }
        // The journal looks whether the disk has room, and the former copy takes it up until then.
        if removal == nil { start() }
    }

    private func start() {
        isStarted = true
        journal.copy(to: path) { [weak self] percent in
            self?.send(StoreCopyLine(percent: percent))
        } completion: { [weak self] result in
            self?.finish(result)
        }
    }

    private func finish(_ result: Result<Void, RingwakeError>) {
        var status = stat()
        switch result {
        case .success where stat(path, &status) == 0:
            send(StoreCopyLine(percent: 100, file: path, bytes: Int64(status.st_size)))
        case .success:
            fail(RingwakeError(.system, "\(path) is gone: somebody removed it"))
        case .failure(let error):
            fail(error)
        }
    }

    private func fail(_ error: RingwakeError) {
        send(StoreCopyLine(error: ErrorMessage(error: error.code.slug, message: error.message)))
        let exchange = exchange
        end()
        exchange?.finish()
    }

    private func send(_ line: StoreCopyLine) {
        guard let exchange, !exchange.send(controlLine(line)) else { return }
        end()
    }

    private func end() {
        guard let exchange else { return }
        exchange.onClose = nil
        self.exchange = nil
        if isStarted { journal.cancelCopy() }
        isStarted = false
        remove()
        logger.debug("copy of the store removed", metadata: ["path": "\(path)"])
    }

    private func remove() {
        // A copy that has not been started is empty.
        guard removal == nil, let file = try? RemovedFile(path) else {
            unlink(path)
            return
        }
        do throws(RingwakeError) {
            removal = try SlowWork("copy removal", on: runLoop) { () throws(RingwakeError) in
                file.free()
            } completion: { [weak self] _ in
                self?.removed()
            }
        } catch {
            // Closing the file frees it here, which takes longer.
            logger.notice("copy of the store removed on the loop", metadata: ["reason": "\(error.message)"])
        }
    }

    private func removed() {
        removal = nil
        if exchange != nil, !isStarted { start() }
    }
}
