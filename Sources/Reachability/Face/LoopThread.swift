internal import CRingwakeLinux
internal import Glibc

/// The thread of a context: takes turns of the loop until the board is closed.
struct LoopThread: Sendable {
    /// Bytes of its stack; callbacks run on it. What is not touched takes no memory.
    private static let stackBytes = 512 << 10

    private let thread: pthread_t

    /// Hands `side` over to a new thread; nobody else touches it after this.
    /// - Throws: EAGAIN: too many threads.
    init(running side: sending LoopSide) throws(ReachabilityError) {
        let handover = Unmanaged.passRetained(side)
        var thread = pthread_t()
        let result = ringwake_start_thread(
            &thread, Self.stackBytes, "reachability",
            { argument in
                guard let argument else { return nil }
                LoopThread.run(Unmanaged<LoopSide>.fromOpaque(argument).takeRetainedValue())
                return nil
            }, handover.toOpaque())
        guard result == 0 else {
            handover.release()
            throw ReachabilityError(call: "pthread_create", errno: result, advice: "raise the limit on tasks")
        }
        self.thread = thread
    }

    private static func run(_ side: LoopSide) {
        while !side.board.isClosed { side.turn(timeout: nil) }
        side.close()
    }

    /// Whether the caller runs on it.
    var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }

    /// Waits for its end. Once, and never after ``detach()``.
    func join() {
        pthread_join(thread, nil)
    }

    /// Lets it end when it can.
    func detach() {
        pthread_detach(thread)
    }
}
