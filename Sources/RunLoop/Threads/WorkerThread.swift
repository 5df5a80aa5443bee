internal import CRingwakeLinux
internal import Glibc

/// A thread for work that may block, or for a loop of its own. It takes no signal of the process, and inherits the
/// network and mount namespaces of the thread that starts it.
package struct WorkerThread: Sendable {
    /// Transfers the body to the thread.
    private final class Envelope {
        let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }
    }

    private let thread: pthread_t

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
        self.thread = thread
    }

    private static func run(_ envelope: Envelope) {
        envelope.body()
    }

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }

    /// Waits until it ends. Call it once, and never after ``detach()``.
    package func join() {
        pthread_join(thread, nil)
    }

    /// Frees the thread when it ends; nobody waits for that.
    package func detach() {
        pthread_detach(thread)
    }
}
