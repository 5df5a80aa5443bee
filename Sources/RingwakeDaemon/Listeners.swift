internal import Cryptography
internal import DaemonConfiguration
internal import DeviceLink
internal import Glibc
internal import HTTPServer
internal import Logging
internal import PushGateway
internal import RingwakeCore
internal import RunLoop
internal import ServiceManager

/// Every socket that the daemon accepts from: the control socket, the status socket, and the provider ports.
final class Listeners {
    /// The provider ports.
    let providers: ProviderPorts
    private let control: UnixHTTPListener
    private let status: UnixHTTPListener
    /// The port for links; nil if there is none.
    private(set) var links: HTTP2TLSListener?

    /// Starts listening. Of what it opened, nothing stays open if it throws.
    ///
    /// - Parameters:
    ///   - tls: nil if the configuration has no `[server]`; then there are no provider ports.
    ///   - makeControl: makes the handler of a connection to the control socket, whose group it is told.
    ///   - makeStatus: makes the handler of a connection to the status socket.
    ///   - makeProvider: makes the handler of a connection to a port of an environment.
    ///   - onFailure: is called for a connection to such a port that ends before its first request.
    ///   - takeLink: takes a connection of a device when its TLS handshake is done.
    init(
        _ configuration: Configuration, passed: PassedSockets, tls: TLSServerContext?,
        linkTLS: TLSServerContext?, descriptors: DescriptorLimit, runLoop: RunLoop, logger: Logger,
        makeControl: @escaping @MainActor (PeerInfo, UInt32?) -> any HTTPConnectionHandler,
        makeStatus: @escaping @MainActor (PeerInfo) -> any HTTPConnectionHandler,
        makeProvider: @escaping @MainActor (PeerInfo, PushEnvironment) -> any HTTPConnectionHandler,
        onFailure: @escaping @MainActor (FailedConnection, PushEnvironment) -> Void,
        takeLink: @escaping @MainActor (AcceptedTLS) -> Void
    ) throws(RingwakeError) {
        let path = configuration.controlSocket
        let access = try Listeners.access(configuration.controlGroup)
        let socket: UnixListeningSocket =
            if let given = passed.control {
                try .adopt(given.descriptor, path: path)
            } else {
                try .open(path, access: access)
            }
        let group = SocketAccess.group(of: path)
        control = try UnixHTTPListener(
            runLoop: runLoop, socket: socket, limits: .control(available: descriptors.controlConnections),
            logger: logger
        ) { peer in makeControl(peer, group) }
        do {
            status = try UnixHTTPListener(
                runLoop: runLoop, socket: try Listeners.statusSocket(configuration), limits: .status,
                pace: Pace(runLoop: runLoop, perSecond: Listeners.strangersPerSecond, burst: Listeners.strangersAtOnce),
                logger: logger
            ) { peer in makeStatus(peer) }
        } catch {
            control.close()
            throw error
        }
        providers = ProviderPorts(
            descriptors: descriptors, runLoop: runLoop, logger: logger, makeHandler: makeProvider, onFailure: onFailure,
            handOff: configuration.gateway.onPushPorts
                ? ProtocolHandOff(takes: { $0 == linkProtocol }, take: takeLink) : nil)
        guard let tls else { return }
        do {
            if let address = configuration.gateway.listen, let linkTLS {
                links = try HTTP2TLSListener(
                    runLoop: runLoop, socket: try TCPListeningSocket.open(address, isDualStack: true),
                    tls: linkTLS,
                    limits: .provider(available: descriptors.connections(forEachOf: 2)), budget: BufferBudget(),
                    bounds: providers.bounds, logger: logger,
                    handOff: ProtocolHandOff(takes: { _ in true }, take: takeLink)
                ) { _ in NoRequests() }
            }
            try providers.start(
                configuration.listeners, passed: passed, tls: tls, teams: configuration.teams.count)
        } catch {
            links?.closeNow()
            control.close()
            status.close()
            throw error
        }
    }

    /// Connections and requests of all strangers together: about a hundredth of a processor.
    private static let strangersPerSecond = 100
    private static let strangersAtOnce = 100

    /// What waits here when an attack ends has to be accepted, at the pace of strangers, before the next honest one.
    private static let strangersBacklog: Int32 = 64

    private static func statusSocket(_ configuration: Configuration) throws(RingwakeError) -> UnixListeningSocket {
        try .open(configuration.statusSocket, access: .everybody, backlog: strangersBacklog)
    }

    /// Who may connect to a control socket that the daemon makes.
    ///
    /// - Throws: `badConfiguration` if there is no such group.
    private static func access(_ group: String) throws(RingwakeError) -> SocketAccess {
        guard !group.isEmpty else { return .owner }
        guard let entry = getgrnam(group) else {
            throw RingwakeError(
                .badConfiguration, "control_group: there is no group '\(group)'; make it with groupadd, or name another"
            )
        }
        return .group(entry.pointee.gr_gid)
    }

    /// From a signal to the end of every connection. Each stage of a connection has a deadline of its own, and clients that
    /// use up one after the other must not decide when the daemon ends: systemd kills it after `TimeoutStopSec=`.
    private static let drainLimit = Duration.seconds(6)

    /// Stops accepting, answers what was requested, and closes every connection, at the latest after ``drainLimit``.
    ///
    /// - Parameter whenDrained: called once, when the last connection is closed.
    func drain(on runLoop: RunLoop, whenDrained: @escaping () -> Void) {
        let latest = runLoop.refreshNow().advanced(by: Self.drainLimit)
        runLoop.schedule(at: latest, tolerance: .milliseconds(500)) { [self] in
            providers.closeNow()
            links?.closeNow()
            control.closeNow()
            status.closeNow()
        }
        var remaining = providers.count + 2
        let oneIsDrained = {
            remaining -= 1
            if remaining == 0 { whenDrained() }
        }
        // Its connections are others' when their handshakes are done.
        links?.closeNow()
        providers.drain(whenDrained: oneIsDrained)
        control.drain(whenDrained: oneIsDrained)
        status.drain(whenDrained: oneIsDrained)
    }
}

/// A port for links never gets as far as a request.
private final class NoRequests: HTTPConnectionHandler {
    func received(_ request: HTTPRequest, on exchange: any HTTPExchange) { exchange.abort() }
    func connectionClosed() {}
}
