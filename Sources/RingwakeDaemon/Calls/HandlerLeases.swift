internal import Cryptography
internal import FoundationEssentials
internal import HTTPServer
internal import HandlerActivation
internal import RingwakeCore

/// The handlers that there are: those that were started, each with its lease, and those that keep a connection; and
/// the secret of each.
final class HandlerLeases {
    /// One handler: a start of it, a connection of it, or both.
    private struct Handler {
        let app: AppID
        /// SHA-256 of its secret: what is written down must not open the control socket.
        var secretHash: [UInt8]
        var lease: (any HandlerLease)?
        var connection: (any HTTPExchange)?
        /// Of one that came by itself: its process. It is nobody's to be ended.
        var guest: ProcessIdentity?
        var isGuest = false
    }

    private let activator: HandlerActivator
    private let exitPatience: Duration
    private var handlers: [WakeID: Handler] = [:]
    private var wakes: [[UInt8]: WakeID] = [:]

    /// What a stopped handler gets between SIGTERM and SIGKILL.
    private static let stopGrace = Duration.seconds(5)

    /// - Parameter exitPatience: What a handler gets between its last call's end and SIGTERM. It is to exit by itself;
    ///   but handlers that hang must not gather until no further one can be started.
    init(activator: HandlerActivator, exitPatience: Duration) {
        self.activator = activator
        self.exitPatience = exitPatience
    }

    // MARK: - Who is who

    /// Whose this secret is, while that handler is there.
    func wake(ofSecret secret: String) -> (app: AppID, wake: WakeID)? {
        guard let wake = wakes[SHA256.digest(Array(secret.utf8))], let handler = handlers[wake] else { return nil }
        return (handler.app, wake)
    }

    /// Whose process this is: one of a unit that was started for a handler, or of a handler that was found again.
    func wake(ofPeer pid: Int32) -> (app: AppID, wake: WakeID)? {
        guard let wake = activator.wake(ofPeer: pid), let handler = handlers[wake] else { return nil }
        return (handler.app, wake)
    }

    /// How many handlers of each app keep a connection.
    var connections: [AppID: Int] {
        handlers.values.reduce(into: [:]) { if $1.connection != nil { $0[$1.app, default: 0] += 1 } }
    }

    // MARK: - Starting and finding

    /// Starts a handler. `events` may be told of the start before this returns.
    func start(_ request: WakeRequest, way: HandlerWay, events: HandlerEvents) throws(RingwakeError) {
        let secret = encodeHex(try SecureRandom.bytes(32))
        remember(request.wake, of: request.app, secretHash: SHA256.digest(Array(secret.utf8)))
        do throws(RingwakeError) {
            let lease = try activator.wake(request, way: way, secret: secret, events: ending(request.wake, events))
            // It may have ended already.
            handlers[request.wake]?.lease = lease
        } catch {
            forget(request.wake)
            throw error
        }
    }

    /// Finds a handler of the last run.
    ///
    /// - Returns: false when it does not run any more.
    func adopt(_ record: HandlerRecord, of app: AppID, events: HandlerEvents) -> Bool {
        guard let mark = record.mark, let hash = decodeHex(Array(record.secretHash.utf8)) else { return false }
        remember(record.wake, of: app, secretHash: hash)
        guard let lease = activator.adopt(mark, wake: record.wake, events: ending(record.wake, events)) else {
            forget(record.wake)
            return false
        }
        handlers[record.wake]?.lease = lease
        handlers[record.wake]?.isGuest = record.state.cameByItself
        if case .process(let process) = mark, record.state.cameByItself { handlers[record.wake]?.guest = process }
        return true
    }

    /// What has to be written down of a handler to find it again; nil when nothing of it can be found.
    func record(of wake: WakeID, _ state: HandlerLane.Handler) -> HandlerRecord? {
        guard let handler = handlers[wake] else { return nil }
        let mark = handler.lease?.mark ?? handler.guest.map { .process($0) }
        return HandlerRecord(wake: wake, secretHash: encodeHex(handler.secretHash), mark: mark, state: state)
    }

    private func ending(_ wake: WakeID, _ events: HandlerEvents) -> HandlerEvents {
        HandlerEvents(
            started: events.started,
            failed: { [weak self] error in
                self?.forget(wake)
                events.failed(error)
            },
            ended: { [weak self] exit in
                self?.forget(wake)
                events.ended(exit)
            })
    }

    private func remember(_ wake: WakeID, of app: AppID, secretHash: [UInt8]) {
        handlers[wake] = Handler(app: app, secretHash: secretHash)
        wakes[secretHash] = wake
    }

    private func forget(_ wake: WakeID) {
        guard let handler = handlers.removeValue(forKey: wake) else { return }
        wakes[handler.secretHash] = nil
        handler.connection?.finish()
    }

    // MARK: - Connections

    /// A handler that came by itself keeps this connection from now on.
    ///
    /// - Returns: its secret.
    func connect(_ wake: WakeID, of app: AppID, by connection: any HTTPExchange, peer: Int32?) throws(RingwakeError)
        -> String
    {
        let secret = encodeHex(try SecureRandom.bytes(32))
        remember(wake, of: app, secretHash: SHA256.digest(Array(secret.utf8)))
        handlers[wake]?.connection = connection
        handlers[wake]?.isGuest = true
        handlers[wake]?.guest = peer.flatMap { ProcessIdentity(current: $0) }
        return secret
    }

    /// Gives a handler that was found by its process a secret in the place of the one that it does not show.
    func renewSecret(of wake: WakeID) throws(RingwakeError) -> String {
        let secret = encodeHex(try SecureRandom.bytes(32))
        if let former = handlers[wake]?.secretHash { wakes[former] = nil }
        handlers[wake]?.secretHash = SHA256.digest(Array(secret.utf8))
        if let hash = handlers[wake]?.secretHash { wakes[hash] = wake }
        return secret
    }

    /// Which handler of the last run this process is, that came by itself and has not connected again.
    func guest(_ peer: Int32?, of app: AppID) -> WakeID? {
        guard let peer, let process = ProcessIdentity(current: peer) else { return nil }
        return handlers.first { $0.value.app == app && $0.value.guest == process && $0.value.connection == nil }?.key
    }

    /// A handler that was started, or found again, keeps this connection from now on; one that it kept before ends.
    func attach(_ connection: any HTTPExchange, to wake: WakeID) {
        handlers[wake]?.connection?.onClose = nil
        handlers[wake]?.connection?.finish()
        handlers[wake]?.connection = connection
        handlers[wake]?.lease?.keep()
    }

    /// The handler no longer keeps a connection. One that came by itself is gone with it.
    func detach(_ wake: WakeID) {
        handlers[wake]?.connection = nil
        if handlers[wake]?.isGuest == true { forget(wake) }
    }

    /// Sends a line to the handler that keeps a connection. One that does not read is disconnected by it.
    func send(_ line: [UInt8], to wake: WakeID) {
        guard let connection = handlers[wake]?.connection, connection.send(line) else { return }
        connection.flush()
    }

    // MARK: - Ending

    /// Ends a handler: its process by SIGTERM now and SIGKILL when it still runs later, its unit; of one that came by
    /// itself only the connection, and true is returned, for nothing more will be heard of it.
    func stop(_ wake: WakeID) -> Bool {
        guard let handler = handlers[wake] else { return false }
        guard handler.isGuest else {
            handler.lease?.stop(grace: HandlerLeases.stopGrace)
            return false
        }
        handler.connection?.onClose = nil
        forget(wake)
        return true
    }

    /// A handler has no call any more: it is stopped if it does not exit by itself.
    func release(_ wake: WakeID) {
        guard handlers[wake]?.isGuest == false else { return }
        handlers[wake]?.lease?.expectExit(within: exitPatience, grace: HandlerLeases.stopGrace)
    }

    /// A handler that was released has a call again.
    func retain(_ wake: WakeID) {
        handlers[wake]?.lease?.keep()
    }
}

/// What is stored of a handler, to find it again after a restart of the daemon.
nonisolated struct HandlerRecord: Codable, Equatable {
    private struct Wake: Codable, Equatable {
        let number: UInt64

        enum CodingKeys: String, CodingKey {
            case number
        }
    }

    private struct State: Codable, Equatable {
        let pid: Int32?
        let origin: CallKey?
        let cameByItself: Bool
        let isStopping: Bool

        enum CodingKeys: String, CodingKey {
            case pid, origin, cameByItself, isStopping
        }
    }

    private let start: Wake
    /// SHA-256 of its secret, in hex.
    let secretHash: String
    /// How to find it; nil when it cannot be.
    let mark: HandlerMark?
    private let doing: State

    enum CodingKeys: String, CodingKey {
        case start = "wake"
        case secretHash, mark
        case doing = "state"
    }

    init(wake: WakeID, secretHash: String, mark: HandlerMark?, state: HandlerLane.Handler) {
        start = Wake(number: wake.number)
        self.secretHash = secretHash
        self.mark = mark
        doing = State(
            pid: state.pid, origin: state.origin, cameByItself: state.cameByItself, isStopping: state.isStopping)
    }

    var wake: WakeID { WakeID(number: start.number) }

    /// What it was doing. Which calls it has is in the calls' records, and connections end with the daemon.
    var state: HandlerLane.Handler {
        HandlerLane.Handler(
            pid: doing.pid, origin: doing.origin, cameByItself: doing.cameByItself, isStopping: doing.isStopping)
    }
}
