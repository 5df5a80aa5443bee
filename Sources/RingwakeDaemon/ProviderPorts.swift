internal import Cryptography
internal import DaemonConfiguration
internal import HTTPServer
internal import Logging
internal import PushGateway
internal import RingwakeCore
internal import RunLoop
internal import ServiceManager

/// The ports that accept pushes: those that systemd holds, which stay, and those that the configuration names, which a
/// reload can change.
final class ProviderPorts {
    /// A port that accepts connections.
    struct Port {
        let listener: HTTP2TLSListener
        let environment: PushEnvironment
        /// The `[[listener]]` that it is for; nil if systemd holds its socket.
        let configured: Configuration.Listener?
    }

    private(set) var open: [Port] = []
    /// How often peers met each bound of these ports.
    let bounds = BoundCounters()
    /// Ports that are closed, while their connections end.
    private var leaving: [ObjectIdentifier: HTTP2TLSListener] = [:]

    private let runLoop: RunLoop
    private let descriptors: DescriptorLimit
    private let logger: Logger
    private let budget = BufferBudget()
    /// The number of teams, each of which has a guaranteed part of places and bytes.
    private var teams = 1
    private let makeHandler: @MainActor (PeerInfo, PushEnvironment) -> any HTTPConnectionHandler
    private let onFailure: @MainActor (FailedConnection, PushEnvironment) -> Void
    /// Takes links, if the ports are for these too.
    private let handOff: ProtocolHandOff?

    /// - Parameters:
    ///   - makeHandler: makes the handler of a connection to a port of an environment.
    ///   - onFailure: is called for a connection that ends before its first request.
    init(
        descriptors: DescriptorLimit, runLoop: RunLoop, logger: Logger,
        makeHandler: @escaping @MainActor (PeerInfo, PushEnvironment) -> any HTTPConnectionHandler,
        onFailure: @escaping @MainActor (FailedConnection, PushEnvironment) -> Void, handOff: ProtocolHandOff? = nil
    ) {
        self.handOff = handOff
        self.descriptors = descriptors
        self.runLoop = runLoop
        self.logger = logger
        self.makeHandler = makeHandler
        self.onFailure = onFailure
    }

    /// Takes systemd's sockets, and opens the others. Nothing is open if it throws.
    func start(
        _ configured: [Configuration.Listener], passed: PassedSockets, tls: TLSServerContext, teams: Int
    ) throws(RingwakeError) {
        divide(among: teams)
        let count = configured.count + passed.providers.count
        do {
            for given in passed.providers {
                let socket = try TCPListeningSocket.adopt(given.socket.descriptor)
                open.append(try port(socket, given.environment, nil, tls, of: count))
            }
            for listener in configured { open.append(try port(listener, tls, of: count)) }
        } catch {
            closeNow()
            throw error
        }
    }

    /// Opens and closes ports, so that these listeners are open besides those of systemd. A port that stays as it is
    /// keeps its connections.
    ///
    /// New ports are open before old ones close. Only a port that takes the place of an old one with the same number has
    /// to wait for that. The connections of a closed port end with GOAWAY, when what they asked for is answered.
    ///
    /// - Throws: why a port cannot be opened. The old ones are open then.
    func change(to configured: [Configuration.Listener], tls: TLSServerContext?) throws(RingwakeError) {
        let stay = open.filter { $0.configured.map(configured.contains) ?? true }
        let close = open.filter { port in !stay.contains { $0.listener === port.listener } }
        let missing = configured.filter { listener in !stay.contains { $0.configured == listener } }
        guard !close.isEmpty || !missing.isEmpty else { return }
        let change = try open(missing, inPlaceOf: close, tls, of: stay.count + missing.count)
        for port in close where !change.closed.contains(where: { $0.listener === port.listener }) { end(port) }
        open = stay + change.opened
        for port in change.opened { log("a port for pushes is open", port) }
    }

    /// Opens ports, and closes those among `former` that would keep one of them from being opened.
    private func open(
        _ missing: [Configuration.Listener], inPlaceOf former: [Port], _ tls: TLSServerContext?, of count: Int
    ) throws(RingwakeError) -> (opened: [Port], closed: [Port]) {
        guard !missing.isEmpty else { return ([], []) }
        guard let tls else {
            throw RingwakeError(
                .badConfiguration, "there is a [[listener]] and no [server]; add one with its certificate")
        }
        let isInTheWay = { (port: Port, listener: Configuration.Listener) in
            port.listener.localAddress.port == listener.address.port
                && port.listener.localAddress.isIPv6 == listener.address.isIPv6
        }
        let late = missing.filter { listener in former.contains { isInTheWay($0, listener) } }
        let closed = former.filter { port in late.contains { isInTheWay(port, $0) } }
        var opened: [Port] = []
        do {
            for listener in missing where !late.contains(listener) { opened.append(try port(listener, tls, of: count)) }
        } catch {
            for port in opened { port.listener.closeNow() }
            throw error
        }
        for port in closed { end(port) }
        do {
            for listener in late { opened.append(try port(listener, tls, of: count)) }
        } catch {
            for port in opened { port.listener.closeNow() }
            open.removeAll { port in closed.contains { $0.listener === port.listener } }
            reopen(closed, tls)
            throw error
        }
        return (opened, closed)
    }

    /// Guarantees equal parts to this many teams, and ends the connections of senders that may send no longer.
    ///
    /// Call it when the gateway has its new configuration.
    func teamsChanged(count: Int) {
        divide(among: count)
        for listener in all { listener.drainRevoked() }
    }

    private func divide(among teams: Int) {
        self.teams = teams
        budget.divide(among: teams)
        for listener in all { listener.divide(among: teams) }
    }

    /// New connections get the certificate and the provider CAs of `context`.
    func replaceTLS(_ context: TLSServerContext) {
        for port in open { port.listener.replaceTLS(context) }
    }

    /// Stops accepting, and closes each connection when it has its answers.
    ///
    /// - Parameter whenDrained: called once for each of ``count`` ports.
    func drain(whenDrained: @escaping () -> Void) {
        for listener in all { listener.drain(whenDrained: whenDrained) }
    }

    /// The number of ports whose connections ``drain(whenDrained:)`` ends.
    var count: Int { all.count }

    func closeNow() {
        for listener in all { listener.closeNow() }
    }

    private var all: [HTTP2TLSListener] { open.map(\.listener) + leaving.values }

    private func port(
        _ listener: Configuration.Listener, _ tls: TLSServerContext, of count: Int
    ) throws(RingwakeError) -> Port {
        try port(try TCPListeningSocket.open(listener.address), listener.environment, listener, tls, of: count)
    }

    /// - Parameter count: the number of ports that share the descriptors.
    private func port(
        _ socket: TCPListeningSocket, _ environment: PushEnvironment, _ configured: Configuration.Listener?,
        _ tls: TLSServerContext, of count: Int
    ) throws(RingwakeError) -> Port {
        var limits = ConnectionLimits.provider(available: descriptors.connections(forEachOf: count))
        limits.maximumBodyBytes = PushGateway.maximumPayloadBytes
        let listener = try HTTP2TLSListener(
            runLoop: runLoop, socket: socket, tls: tls, limits: limits, budget: budget, bounds: bounds, logger: logger,
            onFailure: { [onFailure] failure in onFailure(failure, environment) }, handOff: handOff
        ) { [makeHandler] peer in makeHandler(peer, environment) }
        listener.divide(among: teams)
        return Port(listener: listener, environment: environment, configured: configured)
    }

    /// Stops accepting at a port. Its connections end by themselves.
    private func end(_ port: Port) {
        log("a port for pushes is closed", port)
        let name = ObjectIdentifier(port.listener)
        leaving[name] = port.listener
        port.listener.drain { [weak self] in self?.leaving[name] = nil }
    }

    /// Opens ports again that were closed for others which could not be opened.
    private func reopen(_ ports: [Port], _ tls: TLSServerContext) {
        for former in ports.compactMap(\.configured) {
            do throws(RingwakeError) {
                open.append(try port(former, tls, of: open.count + ports.count))
            } catch {
                logger.error("a port for pushes is lost until the next reload", metadata: ["why": "\(error.message)"])
            }
        }
    }

    private func log(_ what: Logger.Message, _ port: Port) {
        logger.notice(
            what,
            metadata: ["address": "\(port.listener.localAddress)", "environment": "\(port.environment.rawValue)"])
    }
}
