internal import CRingwakeLinux
internal import Glibc
internal import Synchronization

/// A thread for work that may block, or for a loop of its own. It takes no signal of the process, and inherits the
/// network and mount namespaces of the thread that starts it.
///
/// It is joined once, or detached: at the latest with the last reference to this object.
package final class WorkerThread: Sendable {
    /// Transfers the body to the thread.
    private final class Envelope {
        let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }
    }

    /// Nil once it was joined or detached.
    private let thread: Mutex<pthread_t?>

    /// Starts a thread that runs `body`. The thread owns what `body` captures from now on.
    ///
    /// - Parameters:
    ///   - name: What tools show, at most 15 bytes.
    ///   - stackBytes: Size of its stack. Untouched pages take no memory.
    /// - Throws: EAGAIN: too many threads.
    package init(
        name: String, stackBytes: Int = 512 << 10, running body: sending @escaping () -> Void
    ) throws(RunLoopError) {
        let envelope = Unmanaged.passRetained(Envelope(body))
        var thread = pthread_t()
        let result = ringwake_start_thread(
            &thread, stackBytes, name,
            { argument in
                guard let argument else { return nil }
                WorkerThread.run(Unmanaged<Envelope>.fromOpaque(argument).takeRetainedValue())
                return nil
            }, envelope.toOpaque())
        guard result == 0 else {
            envelope.release()
            throw RunLoopError(operation: "pthread_create", errno: result)
        }
        self.thread = Mutex(thread)
    }

    private static func run(_ envelope: Envelope) {
        envelope.body()
    }

    deinit { detach() }

    /// Whether the caller runs on this thread; false once it was joined or detached.
    package var isCurrent: Bool {
        thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Waits until it ends. Called on the thread itself, or a second time, it doesn't wait.
    package func join() {
        if isCurrent { return detach() }
        if let thread = take() { pthread_join(thread, nil) }
    }

    /// Frees the thread when it ends; nobody waits for that. Idempotent.
    package func detach() {
        if let thread = take() { pthread_detach(thread) }
    }

    private func take() -> pthread_t? {
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
    }
}
