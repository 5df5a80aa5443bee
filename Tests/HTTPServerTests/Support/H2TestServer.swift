import HTTPServer
import Logging
import RunLoop

/// A listener on loopback with the handlers of its connections.
@MainActor final class H2TestServer {
    let loop: TestLoop
    let budget: BufferBudget
    let bounds = BoundCounters()
    private(set) var handlers: [RecordingHandler] = []
    private var started: HTTP2TLSListener?
    /// What is done with each request; at first: accept it.
    var onRequest: (HTTPRequest, any HTTPExchange) -> Void = { _, exchange in exchange.respond(.accepted) }

    /// Prepares the handler of each connection; at first: it belongs to an account.
    var onConnect: (RecordingHandler) -> Void = { $0.account = "team" }

    init(
        _ loop: TestLoop, address: String = "127.0.0.1:0", budget: BufferBudget = BufferBudget(),
        limits change: (inout ConnectionLimits) -> Void = { _ in }
    ) throws {
        self.loop = loop
        self.budget = budget
        var limits = ConnectionLimits()
        limits.deadlineTolerance = .zero
        change(&limits)
        started = try HTTP2TLSListener(
            runLoop: loop.runLoop, address: SocketAddress(parsing: address), tls: TLSFixture.context(),
            limits: limits, budget: budget, bounds: bounds,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { [unowned self] peer in
            let handler = RecordingHandler(peer: peer) { [unowned self] request, exchange in
                self.onRequest(request, exchange)
            }
            self.onConnect(handler)
            self.handlers.append(handler)
            return handler
        }
    }

    var listener: HTTP2TLSListener {
        guard let started else { preconditionFailure("init has made it") }
        return started
    }

    var port: UInt16 { listener.localAddress.port }
    var requests: [HTTPRequest] { handlers.flatMap(\.requests) }
    var exchanges: [any HTTPExchange] { handlers.flatMap(\.exchanges) }

    /// Closes everything, so that the loop lets go of it.
    func stop() {
        listener.closeNow()
    }
}
