internal import Glibc
internal import RunLoop

/// Reads the event socket on the loop, and pauses when too many events come.
final class EventReader {
    /// Maximum datagrams of one turn; the next turn reads the rest.
    private static let datagramsPerTurn = 512
    /// Maximum turns of ``drain()``: more than the kernel's buffer holds.
    private static let turnsPerDrain = 8

    private let runLoop: RunLoop
    private let socket: EventSocket
    private let onBatch: (EventSocket.Batch) -> Bool
    private var throttle = EventThrottle()
    private var source: ReadinessSource?
    private var rest: Timer?
    /// The last error of pausing or watching the socket.
    private(set) var lastError: String?

    /// Pauses since the start.
    var rests: UInt64 { throttle.rests }

    /// - Parameter onBatch: gets each batch, and returns whether it changed a result; the next one may come after a pause.
    /// - Throws: The loop can't watch the descriptor.
    init(
        runLoop: RunLoop, socket: EventSocket, onBatch: @escaping (EventSocket.Batch) -> Bool
    ) throws(ReachabilityError) {
        self.runLoop = runLoop
        self.socket = socket
        self.onBatch = onBatch
        do throws(RunLoopError) {
            source = try runLoop.watch(socket.descriptor, for: .read, cause: .init("netlink")) { [weak self] _ in
                self?.receive()
            }
        } catch {
            throw ReachabilityError(error, advice: "raise the limit on descriptors")
        }
    }

    deinit { close() }

    /// Idempotent.
    func close() {
        source?.cancel()
        source = nil
        if let rest { runLoop.cancel(rest) }
        rest = nil
    }

    /// Handles what the kernel has queued, also during a pause.
    func drain() {
        for _ in 0..<Self.turnsPerDrain where source != nil {
            let batch = socket.receive(maximumDatagrams: Self.datagramsPerTurn)
            _ = onBatch(batch)
            if !batch.isMore { return }
        }
    }

    private func receive() {
        let (now, start) = (BootClock.now(), Self.processorTime())
        let isChange = onBatch(socket.receive(maximumDatagrams: Self.datagramsPerTurn))
        let took = Self.processorTime() - start
        guard let pause = throttle.handledBatch(isChange: isChange, took: took, at: now), rest == nil,
            listen(for: [])
        else { return }
        schedule(after: pause, tolerance: pause / 10)
    }

    /// The time that this thread has had a processor: on a busy machine news must not wait for what others took.
    private static func processorTime() -> Duration {
        var time = timespec()
        // This can't fail: every kernel has the clock, and the pointer is valid.
        _ = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private func schedule(after pause: Duration, tolerance: Duration) {
        let end = runLoop.now.advanced(by: pause)
        rest = runLoop.schedule(at: end, tolerance: tolerance, wakingFromSuspend: false) { [weak self] in
            self?.endRest()
        }
    }

    private func endRest() {
        rest = nil
        // Without events the monitor reports nothing, so try again.
        if !listen(for: .read) { schedule(after: EventThrottle.longestRest, tolerance: .zero) }
    }

    /// While the socket isn't watched, the kernel queues its messages.
    private func listen(for interest: Interest) -> Bool {
        guard let source else { return false }
        do throws(RunLoopError) {
            try source.update(interest)
            return true
        } catch {
            lastError = error.description
            return false
        }
    }
}
