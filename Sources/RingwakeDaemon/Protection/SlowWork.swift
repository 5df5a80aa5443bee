internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// One blocking operation on a thread of its own, whose result comes back to the loop. A TPM takes up to a second, and
/// pushes must not wait for that.
final class SlowWork<Value: Sendable> {
    /// What the thread and the loop share.
    private nonisolated final class Mailbox: Sendable {
        let result = Mutex<Result<Value, RingwakeError>?>(nil)
        let bell: EventDescriptor

        init() throws(RunLoopError) {
            bell = try EventDescriptor(nonblocking: true)
        }
    }

    private var source: ReadinessSource?
    private let mailbox: Mailbox

    /// Starts the thread, and calls `completion` on the loop, unless the work is cancelled before.
    ///
    /// - Throws: `system` without a thread or a descriptor.
    init(
        _ name: String, on runLoop: RunLoop, _ work: @escaping @Sendable () throws(RingwakeError) -> Value,
        completion: @escaping (Result<Value, RingwakeError>) -> Void
    ) throws(RingwakeError) {
        do throws(RunLoopError) {
            let mailbox = try Mailbox()
            self.mailbox = mailbox
            source = try runLoop.watch(mailbox.bell.number, for: .read, cause: WakeupCause(name)) { [weak self] _ in
                guard let self, let result = mailbox.result.withLock({ $0 }) else { return }
                cancel()
                completion(result)
            }
            try WorkerThread(name: name) {
                let result: Result<Value, RingwakeError>
                do throws(RingwakeError) {
                    result = .success(try work())
                } catch {
                    result = .failure(error)
                }
                mailbox.result.withLock { $0 = result }
                mailbox.bell.ring()
            }.detach()
        } catch {
            throw RingwakeError(
                .system,
                "the thread '\(name)' can't be started: \(error.reason); raise the limits on descriptors and tasks")
        }
    }

    isolated deinit { cancel() }

    /// Nobody waits for the result any more.
    func cancel() {
        source?.cancel()
        source = nil
    }
}
