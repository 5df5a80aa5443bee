internal import ControlProtocol
internal import RingwakeCore
internal import RingwakeKit
internal import Synchronization

/// A client's connection to a simulated daemon. Requests of one sender wait for each other, as on a socket.
final class SimulatedTransport: ControlTransport {
    private let daemon: SimulatedDaemon
    private let queue: ClientQueue
    /// Stands for the process of the client.
    private let client: UInt64
    private let requests: SimulatedRequests
    /// The stream's number here, and the daemon's of it.
    private var stream: (number: UInt64, daemons: UInt64)?

    private init(_ daemon: SimulatedDaemon, _ queue: ClientQueue, client: UInt64) {
        self.daemon = daemon
        self.queue = queue
        self.client = client
        requests = SimulatedRequests(daemon, queue)
    }

    static func maker(
        _ daemon: SimulatedDaemon
    ) -> @Sendable (ClientQueue) throws(RingwakeKitError) -> any ControlTransport {
        let client = daemon.with { state in
            state.clientsMade += 1
            return state.clientsMade
        }
        return { queue in SimulatedTransport(daemon, queue, client: client) }
    }

    static let away = RingwakeKitError(.daemonNotRunning, "the simulated daemon is stopped")
    static let broken = RingwakeKitError(.unreachable, "the simulated daemon ended the connection")

    // MARK: - The stream

    func openStream(_ number: UInt64, _ request: ControlRequest) {
        let (queue, client) = (queue, client)
        let sink = LineSink(
            line: { line in queue.deliver(.streamLine(number, line.last == UInt8(ascii: "\n") ? line.dropLast() : line))
            },
            end: { queue.deliver(.streamEnded(number, SimulatedTransport.broken)) })
        let query = ControlPath(request.target)?.query
        stream = daemon.with { state in
            guard state.isRunning else {
                state.outbox.append { queue.deliver(.streamEnded(number, SimulatedTransport.away)) }
                return nil
            }
            state.lastStream += 1
            let pending = PendingStream(
                number: state.lastStream, sink: sink, client: client, since: query?["since"].flatMap { Int64($0) })
            let before = state.outbox.count
            do throws(RingwakeError) {
                try state.open(request, pending)
                state.outbox.insert({ queue.deliver(.streamOpened(number)) }, at: before)
            } catch {
                let answer = ControlAnswer(error)
                state.outbox.append { queue.deliver(.streamRefused(number, answer)) }
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

    func send(_ number: UInt64, _ request: ControlRequest) { requests.send(number, request) }

    func cancel(_ number: UInt64) { requests.cancel(number) }

    func close() {
        requests.close()
        if let stream { closeStream(stream.number) }
    }
}

/// The requests of a client; those of one sender wait for each other.
private final class SimulatedRequests: Sendable {
    private struct Queue {
        var waiting: [(number: UInt64, request: ControlRequest)] = []
        /// The daemon is answering one.
        var isBusy = false
    }

    private let daemon: SimulatedDaemon
    private let client: ClientQueue
    private let queues = Mutex<[ControlRequest.Sender: Queue]>([:])

    init(_ daemon: SimulatedDaemon, _ client: ClientQueue) {
        self.daemon = daemon
        self.client = client
    }

    func send(_ number: UInt64, _ request: ControlRequest) {
        queues.withLock { $0[request.sender, default: Queue()].waiting.append((number, request)) }
        proceed(request.sender)
    }

    func cancel(_ number: UInt64) {
        queues.withLock { queues in
            for sender in queues.keys { queues[sender]?.waiting.removeAll { $0.number == number } }
        }
    }

    func close() {
        queues.withLock { queues in
            for sender in queues.keys { queues[sender]?.waiting = [] }
        }
    }

    private func proceed(_ sender: ControlRequest.Sender) {
        let next = queues.withLock { queues -> (number: UInt64, request: ControlRequest)? in
            guard let queue = queues[sender], !queue.isBusy, !queue.waiting.isEmpty else { return nil }
            queues[sender]?.isBusy = true
            return queues[sender]?.waiting.removeFirst()
        }
        guard let (number, request) = next else { return }
        let reply = Reply(
            answered: { self.finish(sender, .answered(number, $0)) },
            dropped: { self.finish(sender, .failed(number, SimulatedTransport.broken, wasSent: true)) })
        daemon.with { state in
            guard state.isRunning else {
                let event = TransportEvent.failed(number, SimulatedTransport.away, wasSent: false)
                return state.outbox.append { self.finish(sender, event) }
            }
            state.answer(request, reply)
        }
    }

    private func finish(_ sender: ControlRequest.Sender, _ event: TransportEvent) {
        client.deliver(event)
        queues.withLock { $0[sender]?.isBusy = false }
        proceed(sender)
    }
}
