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
    private var whenDrained: (() -> Void)?

    /// Starts listening at a path. The socket of a dead process at the path is replaced.
    ///
    /// - Parameters:
    ///   - mode: permissions of the socket file, which decide who may connect.
    ///   - makeHandler: makes the handler of each connection.
    /// - Throws: `inUse` if a living process answers at the path, or the path isn't a socket; `badConfiguration` if the
    ///   path is too long; `notPermitted`, `system`.
    package convenience init(
        runLoop: RunLoop, path: String, mode: UInt32, limits: ConnectionLimits = .control, logger: Logger,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) throws(RingwakeError) {
        try self.init(
            runLoop: runLoop, socket: try UnixListeningSocket.open(path, mode: mode), limits: limits, logger: logger,
            makeHandler: makeHandler)
    }

    /// Accepts from a listening socket, which it closes at the end, even if it throws.
    package init(
        runLoop: RunLoop, socket: UnixListeningSocket, limits: ConnectionLimits = .control, logger: Logger,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) throws(RingwakeError) {
        self.socket = socket
        path = socket.path
        shared = HTTP1ListenerContext(runLoop: runLoop, limits: limits, logger: logger, makeHandler: makeHandler)
        do {
            acceptor = try Acceptor(
                runLoop: runLoop, descriptor: socket.descriptor, cause: .control,
                maximumConnections: limits.maximumConnections, logger: logger
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
        let credentials = PeerCredentials(of: descriptor)
        guard credentials?.isOwner ?? false || hasRoomForOtherUsers else { return refuse(descriptor) }
        let connection = HTTP1Connection(descriptor: descriptor, credentials: credentials, shared: shared) {
            [weak self] connection in
            self?.ended(connection)
        }
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
        makeRoom(beside: connection)
    }

    /// At the limit, closes the connection that has been idle longest, so that idle connections don't keep out a
    /// handler with a call. A connection with an unread request isn't idle.
    private func makeRoom(beside newest: HTTP1Connection? = nil) {
        guard connections.count >= shared.limits.maximumConnections else { return }
        let idle = connections.values.compactMap { connection in
            connection === newest ? nil : connection.idleSince.map { (since: $0, connection: connection) }
        }
        let oldest = idle.sorted { $0.since < $1.since }.first { !SocketInput.isWaiting(on: $0.connection.descriptor) }
        oldest?.connection.close()
    }

    private var hasRoomForOtherUsers: Bool {
        let others = connections.values.count { !($0.credentials?.isOwner ?? false) }
        return others < shared.limits.maximumConnectionsOfOtherUsers
    }

    /// Sends the reason, as far as the socket's buffer accepts it, and closes.
    private func refuse(_ descriptor: Int32) {
        let answer = lastResponse(
            status: RingwakeError.Code.limitReached.httpStatus, error: RingwakeError.Code.limitReached.slug,
            message: "other users hold as many connections to the control socket as they may; try again later")
        _ = send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL))
        _ = Glibc.close(descriptor)
        acceptor?.connectionEnded()
    }

    private func ended(_ connection: HTTP1Connection) {
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
