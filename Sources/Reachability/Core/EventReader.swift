internal import RunLoop

/// Reads the event socket on the loop, and pauses when too many events come.
final class EventReader {
    /// Maximum datagrams of one turn; the next turn reads the rest.
    private static let datagramsPerTurn = 512

    private let runLoop: RunLoop
    private let socket: EventSocket
    private let onBatch: (EventSocket.Batch) -> Void
    private var throttle = EventThrottle()
    private var source: ReadinessSource?
    private var rest: Timer?
    /// The last error of pausing or watching the socket.
    private(set) var lastError: String?

    /// Pauses since the start.
    var rests: UInt64 { throttle.rests }

    /// - Parameter onBatch: gets each batch; the next one may come after a pause.
    /// - Throws: The loop can't watch the descriptor.
    init(
        runLoop: RunLoop, socket: EventSocket, onBatch: @escaping (EventSocket.Batch) -> Void
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

    private func receive() {
        onBatch(socket.receive(maximumDatagrams: Self.datagramsPerTurn))
        guard let pause = throttle.handledBatch(at: runLoop.now), rest == nil, listen(for: []) else { return }
        schedule(after: pause, tolerance: pause / 10)
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
