internal import CRingwakeLinux
internal import Glibc
internal import Synchronization

/// A thread for blocking work, or for a loop of its own. All signals are blocked in it. It inherits the network and
/// mount namespaces of the thread that starts it.
///
/// It is joined or detached once, at the latest when the last reference to this object is released.
package final class WorkerThread: Sendable {
    /// Transfers the body to the thread.
    private final class Envelope {
        let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }
    }

    /// Nil after join or detach.
    private let thread: Mutex<pthread_t?>

    /// Starts a thread that runs `body`. The thread owns everything that `body` captures.
    ///
    /// - Parameters:
    ///   - name: the name that tools show, at most 15 bytes.
    ///   - stackBytes: size of its stack. Untouched pages use no memory.
    /// - Throws: EAGAIN if there are too many threads.
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

    /// Whether the caller runs on this thread; false after join or detach.
    package var isCurrent: Bool {
        thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Waits until the thread ends. Doesn't wait if called on the thread itself or a second time.
    package func join() {
        if isCurrent { return detach() }
        if let thread = take() { pthread_join(thread, nil) }
    }

    /// Lets the thread free itself when it ends. Idempotent.
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
