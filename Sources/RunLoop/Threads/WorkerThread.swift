internal import CRingwakeLinux
internal import Glibc

/// A thread for a loop of its own, as a library has it behind its public face. It takes no signal of the process.
package struct LoopThread: Sendable {
    /// Bytes of its stack; callbacks run on it. What is not touched takes no memory.
    private static let stackBytes = 512 << 10

    /// What the thread runs, on its way there.
    private final class Handover {
        let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }
    }

    private let thread: pthread_t

    /// Hands `body`, and what it holds, over to a new thread; nobody else touches that after this.
    /// - Parameter name: What tools show, at most 15 bytes.
    /// - Throws: EAGAIN: too many threads.
    package init(name: String, running body: sending @escaping () -> Void) throws(RunLoopError) {
        let handover = Unmanaged.passRetained(Handover(body))
        var thread = pthread_t()
        let result = ringwake_start_thread(
            &thread, Self.stackBytes, name,
            { argument in
                guard let argument else { return nil }
                LoopThread.run(Unmanaged<Handover>.fromOpaque(argument).takeRetainedValue())
                return nil
            }, handover.toOpaque())
        guard result == 0 else {
            handover.release()
            throw RunLoopError(operation: "pthread_create", errno: result)
        }
        self.thread = thread
    }

    private static func run(_ handover: Handover) {
        handover.body()
    }

    /// Whether the caller runs on it.
    package var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }

    /// Waits for its end. Once, and never after ``detach()``.
    package func join() {
        pthread_join(thread, nil)
    }

    /// Lets it end when it can.
    package func detach() {
        pthread_detach(thread)
    }
}
