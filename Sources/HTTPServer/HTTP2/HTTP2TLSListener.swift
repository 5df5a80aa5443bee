import CRingwakeLinux
package import Cryptography
package import Logging
package import RingwakeCore
package import RunLoop

extension WakeupCause {
    /// Something happened on the provider's TLS port.
    package static let provider = WakeupCause("provider")
}

/// Serves HTTP/2 over TLS on one TCP address, and nothing else.
///
/// ```swift
/// let listener = try HTTP2TLSListener(
///     runLoop: runLoop, address: SocketAddress(parsing: "[::1]:8443"), tls: context, limits: ConnectionLimits(),
///     budget: BufferBudget(), logger: logger
/// ) { peer in gateway.makeConnectionHandler(peer: peer, environment: .production) }
/// ```
/// A client that offers no ALPN gets HTTP/2 as well. The run loop keeps the listener until ``close()``, and its
/// connections until they are closed. The process must ignore SIGPIPE.
package final class HTTP2TLSListener {
    /// The address with the port that is listened on, also when port 0 was asked for.
    package let localAddress: SocketAddress

    private var tls: TLSServerContext
    private let shared: HTTP2ListenerContext
    private var acceptor: Acceptor?
    private var connections: [ObjectIdentifier: HTTP2Connection] = [:]
    private var whenDrained: (() -> Void)?

    /// Listens at once.
    ///
    /// - Parameter makeHandler: makes the handler of each connection, when its TLS handshake is done.
    /// - Throws: `inUse` when the port is taken; `notPermitted` when the right to the port is missing;
    ///   `badConfiguration` for an address that this machine does not have; `system`.
    package init(
        runLoop: RunLoop, address: SocketAddress, tls: TLSServerContext, limits: ConnectionLimits,
        budget: BufferBudget, logger: Logger, makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) throws(RingwakeError) {
        self.tls = tls
        shared = try HTTP2ListenerContext(
            runLoop: runLoop, limits: limits, budget: budget, logger: logger, makeHandler: makeHandler)
        let descriptor = try TCPListeningSocket.open(address)
        localAddress = TCPListeningSocket.localAddress(of: descriptor) ?? address
        acceptor = try Acceptor(
            runLoop: runLoop, descriptor: descriptor, cause: .provider,
            maximumConnections: limits.maximumConnections, logger: logger
        ) { descriptor, peer in
            // Strong: the loop keeps the listener until it is closed.
            self.accepted(descriptor, peer)
        }
    }

    /// Connections that are open, those in their handshake included.
    package var connectionCount: Int { connections.count }

    /// Connections from now on get this context's certificate and provider CAs.
    ///
    /// Those that are open go on, unless the CAs changed: a CA that was taken away must not vouch for anybody any
    /// more, so the connections that showed a certificate are drained, and their clients connect again.
    package func replaceTLS(_ context: TLSServerContext) {
        let hasSameCAs = context.judgesClients(as: tls)
        tls = context
        guard !hasSameCAs else { return }
        for connection in connections.values where connection.mayHaveCertificate {
            connection.drain(reason: "Shutdown")
        }
    }

    /// Stops accepting; open connections go on. Idempotent.
    package func close() {
        acceptor?.close()
    }

    /// Stops accepting, tells each client with GOAWAY which of its requests will be answered, and closes each
    /// connection once they are, or after ``ConnectionLimits/drainDeadline``.
    ///
    /// - Parameters:
    ///   - reason: stands in GOAWAY as `{"reason":"..."}`.
    ///   - whenDrained: called once when the last connection is closed; at once when there is none.
    package func drain(reason: String = "Shutdown", whenDrained: (() -> Void)? = nil) {
        close()
        self.whenDrained = whenDrained
        for connection in connections.values {
            connection.drain(reason: reason)
        }
        reportIfDrained()
    }

    /// Stops accepting and closes every connection at once.
    package func closeNow() {
        close()
        for connection in connections.values {
            connection.close()
        }
    }

    private func accepted(_ descriptor: Int32, _ peer: sockaddr_storage) {
        let connection = HTTP2Connection(
            descriptor: descriptor, address: SocketAddress.describe(peer) ?? "unknown", tls: tls, shared: shared
        ) { [weak self] connection in
            self?.ended(connection)
        }
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
    }

    private func ended(_ connection: HTTP2Connection) {
        connections[ObjectIdentifier(connection)] = nil
        acceptor?.connectionEnded()
        reportIfDrained()
    }

    private func reportIfDrained() {
        guard connections.isEmpty, let whenDrained else { return }
        self.whenDrained = nil
        whenDrained()
    }
}
