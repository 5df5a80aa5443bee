import CRingwakeLinux
package import Cryptography
import Glibc
package import Logging
package import RingwakeCore
package import RunLoop

extension WakeupCause {
    /// An event of the provider's TLS port.
    package static let provider = WakeupCause("provider")
}

/// Serves only HTTP/2 over TLS, on one TCP address.
///
/// ```swift
/// let listener = try HTTP2TLSListener(
///     runLoop: runLoop, address: SocketAddress(parsing: "[::1]:8443"), tls: context, limits: ConnectionLimits(),
///     budget: BufferBudget(), logger: logger
/// ) { peer in gateway.makeConnectionHandler(peer: peer, environment: .production) }
/// ```
/// A client without ALPN gets HTTP/2 too. The loop keeps the listener alive until ``close()``, and its connections
/// until they are closed. The process must ignore SIGPIPE.
package final class HTTP2TLSListener {
    /// The address with the real port, even if port 0 was requested.
    package let localAddress: SocketAddress

    private var tls: TLSServerContext
    private let shared: HTTP2ListenerContext
    private var acceptor: Acceptor?
    private var places: ConnectionPlaces<HTTP2Connection>
    private var idleTimer = DeadlineTimer()
    private var trimmer: MemoryTrimmer
    private var connections: [ObjectIdentifier: HTTP2Connection] = [:]
    private var whenDrained: (() -> Void)?

    /// Starts listening on an address.
    ///
    /// - Parameter makeHandler: makes the handler of each connection after the TLS handshake.
    /// - Throws: `inUse` if the port is taken; `notPermitted` if the privilege for the port is missing;
    ///   `badConfiguration` if this machine doesn't have the address; `system`.
    package convenience init(
        runLoop: RunLoop, address: SocketAddress, tls: TLSServerContext, limits: ConnectionLimits,
        budget: BufferBudget, bounds: BoundCounters = BoundCounters(), logger: Logger,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) throws(RingwakeError) {
        try self.init(
            runLoop: runLoop, socket: try TCPListeningSocket.open(address), tls: tls, limits: limits, budget: budget,
            bounds: bounds, logger: logger, makeHandler: makeHandler)
    }

    /// Accepts from a listening socket, which it closes at the end, even if it throws.
    ///
    /// - Parameter onFailure: is called for a connection that ends before its first request, because the client and the
    ///   listener could not agree.
    /// - Parameter handOff: takes the connections of another protocol.
    package init(
        runLoop: RunLoop, socket: TCPListeningSocket, tls: TLSServerContext, limits: ConnectionLimits,
        budget: BufferBudget, bounds: BoundCounters, logger: Logger,
        onFailure: @escaping (FailedConnection) -> Void = { _ in }, handOff: ProtocolHandOff? = nil,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) throws(RingwakeError) {
        self.tls = tls
        localAddress = socket.localAddress
        places = ConnectionPlaces(limits)
        trimmer = MemoryTrimmer(runLoop: runLoop)
        do {
            shared = try HTTP2ListenerContext(
                runLoop: runLoop, limits: limits, budget: budget, bounds: bounds, logger: logger,
                makeHandler: makeHandler,
                onFailure: onFailure, handOff: handOff)
        } catch {
            _ = Glibc.close(socket.descriptor)
            throw error
        }
        acceptor = try Acceptor(
            runLoop: runLoop, descriptor: socket.descriptor, cause: .provider,
            maximumConnections: .max,
            // Before the handshakes begin to wait, the places don't run out.
            maximumPerTurn: min(Acceptor.maximumAcceptsPerTurn, max(1, limits.maximumUnprovenConnections / 8)),
            logger: logger
        ) { descriptor, peer in
            // A strong reference: the loop keeps the listener until it is closed.
            self.accepted(descriptor, peer)
        }
        shared.prove = { [weak self] connection, account in self?.prove(connection, as: account) ?? false }
        shared.handshakes.onPressure = { [weak self] in self?.acceptor?.hold($0) }
    }

    /// Guarantees an equal part of the places to each of this many accounts.
    package func divide(among accounts: Int) {
        places.divide(among: accounts)
    }

    /// Closes the connections of clients that must no longer be connected, when their requests have been answered.
    package func drainRevoked() {
        for connection in connections.values {
            guard let reason = connection.revocation else { continue }
            connection.drain(reason: reason)
        }
    }

    /// Number of open connections, including those in their handshake.
    package var connectionCount: Int { connections.count }

    /// Connections whose TLS handshake waits for its turn.
    package var waitingHandshakes: Int { shared.handshakes.waitingCount }

    /// New connections get this context's certificate and provider CAs.
    ///
    /// Open connections continue, unless the CAs have changed. A removed CA must no longer be trusted, so the
    /// connections with a client certificate are drained, and their clients connect again.
    package func replaceTLS(_ context: TLSServerContext) {
        let hasSameCAs = context.judgesClients(as: tls)
        tls = context
        guard !hasSameCAs else { return }
        for connection in connections.values where connection.mayHaveCertificate {
            connection.drain(reason: "Shutdown")
        }
    }

    /// Stops accepting. Open connections continue. Idempotent.
    package func close() {
        acceptor?.close()
    }

    /// Stops accepting, and closes each connection when its requests have been answered, with a GOAWAY, or after
    /// ``ConnectionLimits/drainDeadline``. A client that has just connected gets its first request answered.
    ///
    /// - Parameters:
    ///   - reason: sent in GOAWAY as `{"reason":"..."}`.
    ///   - whenDrained: called once, when the last connection is closed; at once if there is none.
    package func drain(reason: String = "Shutdown", whenDrained: (() -> Void)? = nil) {
        close()
        self.whenDrained = whenDrained
        for connection in connections.values {
            connection.retire(reason: reason)
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
            descriptor: descriptor, peer: peer, tls: tls, shared: shared
        ) { [weak self] connection in
            self?.ended(connection)
        }
        connections[ObjectIdentifier(connection)] = connection
        trimmer.noteConnections(connections.count)
        if let displaced = places.admit(connection) {
            displaced.connection.displace(for: displaced.bound)
            if displaced.connection === connection { return }
        }
        closeIdle()
        connection.start()
    }

    /// Moves a connection to the places of its account. If the account has none left, its oldest idle connection ends.
    private func prove(_ connection: HTTP2Connection, as account: String) -> Bool {
        if places.prove(connection, as: account) { return true }
        let idle = connections.values.lazy.filter { $0.account == account && $0.isIdle }
        guard let oldest = idle.min(by: { $0.acceptedAt < $1.acceptedAt }) else {
            shared.report(.placesOfSender, of: connection)
            return false
        }
        oldest.displace(for: .placesOfSender)
        return places.prove(connection, as: account)
    }

    /// Closes connections that have proven nothing for a while, if many of their kind are open.
    private func closeIdle() {
        while let deadline = places.idleDeadline(after: shared.limits.unprovenIdleTime),
            let oldest = places.oldestUnproven
        {
            guard deadline <= shared.runLoop.now else {
                idleTimer.require(deadline, on: shared.runLoop, tolerance: shared.limits.deadlineTolerance) {
                    [weak self] in
                    self?.idleTimer.fired()
                    self?.closeIdle()
                }
                return
            }
            oldest.displace(for: .unprovenIdle)
        }
    }

    private func ended(_ connection: HTTP2Connection) {
        connections[ObjectIdentifier(connection)] = nil
        places.remove(connection)
        trimmer.noteConnections(connections.count)
        acceptor?.connectionEnded()
        reportIfDrained()
    }

    private func reportIfDrained() {
        guard connections.isEmpty, let whenDrained else { return }
        self.whenDrained = nil
        whenDrained()
    }
}
