import Glibc
package import Logging
package import RingwakeCore
package import RunLoop

extension WakeupCause {
    /// An event of the control socket.
    package static let control = WakeupCause("control")
}

/// Serves HTTP/1.1 on a Unix socket.
///
/// The loop keeps the listener alive until ``close()``, and its connections until they are closed.
package final class UnixHTTPListener {
    /// Path of the socket.
    package let path: String

    private let shared: HTTP1ListenerContext
    private let socket: UnixListeningSocket
    private var acceptor: Acceptor?
    private var connections: [ObjectIdentifier: HTTP1Connection] = [:]
    /// The connections of each holder.
    private var held = HolderCounts()
    private var whenDrained: (() -> Void)?

    /// Starts listening at a path. The socket of a dead process at the path is replaced.
    ///
    /// - Parameters:
    ///   - access: who may connect.
    ///   - makeHandler: makes the handler of each connection.
    /// - Throws: `inUse` if a living process answers at the path, or the path isn't a socket; `badConfiguration` if the
    ///   path is too long; `notPermitted`, `system`.
    package convenience init(
        runLoop: RunLoop, path: String, access: SocketAccess, limits: ConnectionLimits = .control(), logger: Logger,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) throws(RingwakeError) {
        try self.init(
            runLoop: runLoop, socket: try UnixListeningSocket.open(path, access: access), limits: limits,
            logger: logger, makeHandler: makeHandler)
    }

    /// Accepts from a listening socket, which it closes at the end, even if it throws.
    ///
    /// - Parameter pace: the rate of connections and requests; nil: no limit.
    package init(
        runLoop: RunLoop, socket: UnixListeningSocket, limits: ConnectionLimits = .control(), pace: Pace? = nil,
        logger: Logger, makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) throws(RingwakeError) {
        self.socket = socket
        path = socket.path
        shared = HTTP1ListenerContext(
            runLoop: runLoop, limits: limits, pace: pace, logger: logger, makeHandler: makeHandler)
        do {
            acceptor = try Acceptor(
                runLoop: runLoop, descriptor: socket.descriptor, cause: .control,
                maximumConnections: limits.maximumConnections, pace: pace, logger: logger
            ) { descriptor, _ in
                // A strong reference: the loop keeps the listener until it is closed.
                self.accepted(descriptor)
            }
        } catch {
            socket.removeFile()
            throw error
        }
        shared.becameIdle = { [weak self] in self?.makeRoom() }
    }

    /// Number of open connections.
    package var connectionCount: Int { connections.count }

    /// Stops accepting, and removes the socket file if it is still ours. Open connections continue. Idempotent.
    package func close() {
        guard let acceptor else { return }
        self.acceptor = nil
        socket.removeFile()
        acceptor.close()
    }

    /// Stops accepting, ends streamed answers, and closes each connection when its request has been answered, or after
    /// ``ConnectionLimits/drainDeadline``.
    ///
    /// - Parameter whenDrained: called once, when the last connection is closed; at once if there is none.
    package func drain(whenDrained: (() -> Void)? = nil) {
        close()
        self.whenDrained = whenDrained
        for connection in connections.values {
            connection.drain()
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

    private func accepted(_ descriptor: Int32) {
        let connection = HTTP1Connection(descriptor: descriptor, shared: shared) { [weak self] in self?.ended($0) }
        connections[ObjectIdentifier(connection)] = connection
        held.add(connection.holder)
        connection.start()
        guard isWithinItsLimit(connection) else {
            connection.endWith(UnixHTTPListener.tooMany)
            return connection.close()
        }
        makeRoom(beside: connection)
    }

    /// Whether a new connection's holder may have another one. If it has too many, its idlest is closed.
    private func isWithinItsLimit(_ newest: HTTP1Connection) -> Bool {
        let holder = newest.holder
        if held[holder] > shared.limits.connections(of: holder) {
            return closeIdlest { $0 !== newest && $0.holder == holder }
        }
        guard holder.isUser, held.users > shared.limits.maximumConnectionsOfUsers else { return true }
        return closeIdlest { $0 !== newest && $0.holder.isUser }
    }

    /// At the limit, closes the connection that has been idle longest, so that idle connections don't keep out a
    /// handler with a call; of those who hold connections, the one that holds most loses it.
    private func makeRoom(beside newest: HTTP1Connection? = nil) {
        guard connections.count >= shared.limits.maximumConnections else { return }
        for (holder, _) in held.counts.sorted(by: { $0.value > $1.value }) {
            if closeIdlest({ $0 !== newest && $0.holder == holder }) { return }
        }
    }

    private func closeIdlest(_ isMeant: (HTTP1Connection) -> Bool) -> Bool {
        let idle = connections.values.filter(isMeant).compactMap { connection in
            connection.idleness.map { (idleness: $0, connection: connection) }
        }
        // To ask the kernel costs more than all else here, and mostly the first is the one.
        let idlest = idle.min { $0.idleness < $1.idleness }.flatMap { $0.connection.hasUnreadInput ? nil : $0 }
        let found = idlest ?? idle.sorted { $0.idleness < $1.idleness }.first { !$0.connection.hasUnreadInput }
        found?.connection.close()
        return found != nil
    }

    private static let tooMany = HTTPResponse.refusal(
        .limitReached, "you hold as many connections to this socket as you may; try again later")

    private func ended(_ connection: HTTP1Connection) {
        connections[ObjectIdentifier(connection)] = nil
        held.remove(connection.holder)
        acceptor?.connectionEnded()
        reportIfDrained()
    }

    private func reportIfDrained() {
        guard connections.isEmpty, let whenDrained else { return }
        self.whenDrained = nil
        whenDrained()
    }
}
