internal import ControlProtocol
internal import RingwakeCore
internal import RingwakeKit
internal import Synchronization

/// A client's way to a simulated daemon. Requests of a lane wait for each other, as they do on a connection.
final class SimulatedTransport: ControlTransport {
    private let daemon: SimulatedDaemon
    private let port: ClientPort
    /// Stands for the process of the client.
    private let client: UInt64
    private let lanes: RequestLanes
    /// The stream's number here, and the daemon's of it.
    private var stream: (number: UInt64, daemons: UInt64)?

    private init(_ daemon: SimulatedDaemon, _ port: ClientPort, client: UInt64) {
        self.daemon = daemon
        self.port = port
        self.client = client
        lanes = RequestLanes(daemon, port)
    }

    static func maker(
        _ daemon: SimulatedDaemon
    ) -> @Sendable (ClientPort) throws(RingwakeKitError) -> any ControlTransport {
        let client = daemon.with { state in
            state.clientsMade += 1
            return state.clientsMade
        }
        return { port in SimulatedTransport(daemon, port, client: client) }
    }

    static let away = RingwakeKitError(.daemonNotRunning, "the simulated daemon is stopped")
    static let broken = RingwakeKitError(.unreachable, "the simulated daemon ended the connection")

    // MARK: - The stream

    func openStream(_ number: UInt64, _ request: ControlRequest) {
        let (port, client) = (port, client)
        let sink = LineSink(
            line: { line in port.tell(.streamLine(number, line.last == UInt8(ascii: "\n") ? line.dropLast() : line)) },
            end: { port.tell(.streamEnded(number, SimulatedTransport.broken)) })
        let query = ControlPath(request.target)?.query
        stream = daemon.with { state in
            guard state.isRunning else {
                state.outbox.append { port.tell(.streamEnded(number, SimulatedTransport.away)) }
                return nil
            }
            state.lastStream += 1
            let pending = PendingStream(
                number: state.lastStream, sink: sink, client: client, since: query?["since"].flatMap { Int64($0) })
            let before = state.outbox.count
            do throws(RingwakeError) {
                try state.open(request, pending)
                state.outbox.insert({ port.tell(.streamOpened(number)) }, at: before)
            } catch {
                let answer = ControlAnswer(error)
                state.outbox.append { port.tell(.streamRefused(number, answer)) }
                return nil
            }
            return (number, pending.number)
        }
    }

    func closeStream(_ number: UInt64) {
        guard let stream, stream.number == number else { return }
        self.stream = nil
        daemon.with { $0.closeStream(stream.daemons) }
    }

    // MARK: - Requests

    func send(_ number: UInt64, _ request: ControlRequest) { lanes.send(number, request) }

    func cancel(_ number: UInt64) { lanes.cancel(number) }

    func close() {
        lanes.close()
        if let stream { closeStream(stream.number) }
    }
}

/// The requests of a client, of which those of a lane wait for each other.
private final class RequestLanes: Sendable {
    private struct Lane {
        var waiting: [(number: UInt64, request: ControlRequest)] = []
        /// The daemon is answering one.
        var isBusy = false
    }

    private let daemon: SimulatedDaemon
    private let port: ClientPort
    private let lanes = Mutex<[ControlRequest.Lane: Lane]>([:])

    init(_ daemon: SimulatedDaemon, _ port: ClientPort) {
        self.daemon = daemon
        self.port = port
    }

    func send(_ number: UInt64, _ request: ControlRequest) {
        lanes.withLock { $0[request.lane, default: Lane()].waiting.append((number, request)) }
        proceed(request.lane)
    }

    func cancel(_ number: UInt64) {
        lanes.withLock { lanes in
            for lane in lanes.keys { lanes[lane]?.waiting.removeAll { $0.number == number } }
        }
    }

    func close() {
        lanes.withLock { lanes in
            for lane in lanes.keys { lanes[lane]?.waiting = [] }
        }
    }

    private func proceed(_ lane: ControlRequest.Lane) {
        let next = lanes.withLock { lanes -> (number: UInt64, request: ControlRequest)? in
            guard let queue = lanes[lane], !queue.isBusy, !queue.waiting.isEmpty else { return nil }
            lanes[lane]?.isBusy = true
            return lanes[lane]?.waiting.removeFirst()
        }
        guard let (number, request) = next else { return }
        let reply = Reply(
            answered: { self.finish(lane, .answered(number, $0)) },
            dropped: { self.finish(lane, .failed(number, SimulatedTransport.broken, wasSent: true)) })
        daemon.with { state in
            guard state.isRunning else {
                let event = TransportEvent.failed(number, SimulatedTransport.away, wasSent: false)
                return state.outbox.append { self.finish(lane, event) }
            }
            state.answer(request, reply)
        }
    }

    private func finish(_ lane: ControlRequest.Lane, _ event: TransportEvent) {
        port.tell(event)
        lanes.withLock { $0[lane]?.isBusy = false }
        proceed(lane)
    }
}
