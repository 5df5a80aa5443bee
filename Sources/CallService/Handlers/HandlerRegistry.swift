package import RingwakeCore

/// Who each handler is: its app, the hash of its secret, its connection. What it does is in the coordinator's lanes.
package struct HandlerRegistry: Sendable {
    /// One start of a handler, or one handler that connected by itself.
    package struct Handler: Sendable {
        package let app: AppID
        /// Of its secret: a stored secret must not open the control socket.
        package fileprivate(set) var secretHash: [UInt8]
        /// The request whose stream it keeps; nil: it is not connected.
        package fileprivate(set) var connection: RequestID?
        /// Whether it connected by itself. The daemon did not start it, and never stops it.
        package fileprivate(set) var cameByItself = false
        /// Process of a self-connected handler, by which it is recognised after a restart of the daemon.
        package fileprivate(set) var process: ProcessIdentity?
    }

    private var handlers: [WakeID: Handler] = [:]
    private var wakes: [[UInt8]: WakeID] = [:]

    package init() {}

    package subscript(wake: WakeID) -> Handler? { handlers[wake] }

    /// The handler with this secret.
    func handler(ofSecretHash hash: [UInt8]) -> (app: AppID, wake: WakeID)? { wakes[hash].flatMap { handler($0) } }

    func handler(_ wake: WakeID) -> (app: AppID, wake: WakeID)? { handlers[wake].map { ($0.app, wake) } }

    /// The handler whose stream this is.
    func handler(ofConnection id: RequestID) -> WakeID? { handlers.first { $0.value.connection == id }?.key }

    /// The self-connected handler that ran as this process, and has not connected again.
    func disconnected(_ process: ProcessIdentity, of app: AppID) -> WakeID? {
        handlers.first { $0.value.app == app && $0.value.process == process && $0.value.connection == nil }?.key
    }

    /// Number of connected handlers of each app.
    package var connections: [AppID: Int] {
        handlers.values.reduce(into: [:]) { if $1.connection != nil { $0[$1.app, default: 0] += 1 } }
    }

    mutating func add(_ wake: WakeID, of app: AppID, secretHash: [UInt8]) {
        handlers[wake] = Handler(app: app, secretHash: secretHash)
        wakes[secretHash] = wake
    }

    mutating func add(_ wake: WakeID, of app: AppID, _ restored: RestoredHandler) {
        add(wake, of: app, secretHash: restored.secretHash)
        handlers[wake]?.cameByItself = restored.state.cameByItself
        handlers[wake]?.process = restored.process
    }

    /// A handler connected by itself.
    mutating func join(
        _ wake: WakeID, of app: AppID, secretHash: [UInt8], connection: RequestID, process: ProcessIdentity?
    ) {
        handlers[wake] = Handler(
            app: app, secretHash: secretHash, connection: connection, cameByItself: true, process: process)
        wakes[secretHash] = wake
    }

    /// Replaces the secret of a handler that was recognised without it.
    mutating func renewSecret(of wake: WakeID, hash: [UInt8]) {
        guard let handler = handlers[wake] else { return }
        wakes[handler.secretHash] = nil
        handlers[wake]?.secretHash = hash
        wakes[hash] = wake
    }

    /// - Returns: The connection that this one replaces.
    mutating func attach(_ connection: RequestID, to wake: WakeID) -> RequestID? {
        defer { handlers[wake]?.connection = connection }
        return handlers[wake]?.connection
    }

    /// The handler is not connected anymore. A self-connected one is gone.
    mutating func detach(_ wake: WakeID) {
        handlers[wake]?.connection = nil
        if handlers[wake]?.cameByItself == true { remove(wake) }
    }

    @discardableResult
    mutating func remove(_ wake: WakeID) -> Handler? {
        guard let handler = handlers.removeValue(forKey: wake) else { return nil }
        wakes[handler.secretHash] = nil
        return handler
    }
}

/// A handler of the last run.
package struct RestoredHandler: Sendable {
    package var secretHash: [UInt8]
    /// Of a self-connected handler.
    package var process: ProcessIdentity?
    /// What it was doing. Which calls it has is in the calls' records.
    package var state: HandlerLane.Handler

    package init(secretHash: [UInt8], process: ProcessIdentity?, state: HandlerLane.Handler) {
        self.secretHash = secretHash
        self.process = process
        self.state = state
    }
}
