internal import CallService
internal import RingwakeCore
internal import RingwakeKit
internal import Synchronization

/// A client's connection to a simulated daemon. Requests of one sender wait for each other, as on a socket.
final class SimulatedTransport: ControlTransport {
    private let daemon: SimulatedDaemon
    private let queue: ClientQueue
    /// Stands for the PID of the client.
    private let client: Int32
    private let requests: SimulatedRequests
    /// The streams: the number here, and the daemon's request for it.
    private var streams: [ControlRequest.Sender: (number: UInt64, request: RequestID)] = [:]

    private init(_ daemon: SimulatedDaemon, _ queue: ClientQueue, client: Int32) {
        self.daemon = daemon
        self.queue = queue
        self.client = client
        requests = SimulatedRequests(daemon, queue, client)
    }

    static func maker(
        _ daemon: SimulatedDaemon
    ) -> @Sendable (ClientQueue) throws(RingwakeKitError) -> any ControlTransport {
        let client = daemon.with { $0.addClient() }
        return { queue in SimulatedTransport(daemon, queue, client: client) }
    }

    static let away = RingwakeKitError(.daemonNotRunning, "the simulated daemon is stopped")
    static let broken = RingwakeKitError(.unreachable, "the simulated daemon ended the connection")

    // MARK: - Streams

    func openStream(_ number: UInt64, _ request: ControlRequest) {
        let (queue, client) = (queue, client)
        let opened = daemon.with { state in
            state.open(request, of: client) { event in
                switch event {
                case .opened: queue.deliver(.streamOpened(number))
                case .line(let line): queue.deliver(.streamLine(number, line))
                case .answered(let answer): queue.deliver(.streamRefused(number, answer))
                case .ended, .dropped: queue.deliver(.streamEnded(number, SimulatedTransport.broken))
                }
            }
        }
        streams[request.sender] = opened.map { (number, $0) }
        if opened == nil { queue.deliver(.streamEnded(number, SimulatedTransport.away)) }
    }

    func closeStream(_ number: UInt64) {
        guard let (sender, stream) = streams.first(where: { $0.value.number == number }) else { return }
        streams[sender] = nil
        daemon.with { $0.leave(stream.request) }
    }

    // MARK: - Requests

    func send(_ number: UInt64, _ request: ControlRequest) { requests.send(number, request) }

    func cancel(_ number: UInt64) { requests.cancel(number) }

    func close() {
        requests.close()
        for stream in streams.values { closeStream(stream.number) }
    }
}

/// The requests of a client; those of one sender wait for each other.
private final class SimulatedRequests: Sendable {
    private struct Queue {
        var waiting: [(number: UInt64, request: ControlRequest)] = []
        /// The daemon is answering a request.
        var isBusy = false
    }

    private let daemon: SimulatedDaemon
    private let client: ClientQueue
    private let pid: Int32
    private let queues = Mutex<[ControlRequest.Sender: Queue]>([:])

    init(_ daemon: SimulatedDaemon, _ client: ClientQueue, _ pid: Int32) {
        self.daemon = daemon
        self.client = client
        self.pid = pid
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
        let pid = pid
        let opened = daemon.with { state in
            state.open(request, of: pid) { event in
                switch event {
                case .answered(let answer): self.finish(sender, .answered(number, answer))
                case .dropped, .ended:
                    self.finish(sender, .failed(number, SimulatedTransport.broken, wasSent: true))
                case .opened, .line: break
                }
            }
        }
        if opened == nil { finish(sender, .failed(number, SimulatedTransport.away, wasSent: false)) }
    }

    private func finish(_ sender: ControlRequest.Sender, _ event: TransportEvent) {
        client.deliver(event)
        queues.withLock { $0[sender]?.isBusy = false }
        proceed(sender)
    }
}
