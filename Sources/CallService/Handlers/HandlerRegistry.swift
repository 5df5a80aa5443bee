package import ControlProtocol
package import RingwakeCore

/// The identity of each handler: its app, the hash of its secret, its connection. The coordinator's lanes hold its
/// calls.
package struct HandlerRegistry: Sendable {
    /// One start of a handler, or one handler that connected by itself.
    package struct Handler: Sendable {
        package let app: AppID
        /// The hash of its secret. The secret itself is not stored, so that a stored file cannot open the control
        /// socket.
        package fileprivate(set) var secretHash: [UInt8]
        /// The request of its stream; nil if it is not connected.
        package fileprivate(set) var connection: RequestID?
        /// Whether it connected by itself. The daemon did not start it, and never stops it.
        package fileprivate(set) var cameByItself = false
        /// The process of a self-connected handler. It identifies the handler after a restart of the daemon.
        package fileprivate(set) var process: ProcessIdentity?
        /// The RingwakeKit of the connected handler; nil if it uses none, or isn't connected.
        package fileprivate(set) var kit: PeerVersion?
    }

    private var handlers: [WakeID: Handler] = [:]
    private var wakes: [[UInt8]: WakeID] = [:]

    /// Whether the handlers of the last run are here, as far as they live. They are not while the store cannot be opened.
    var hasLastRun = true

    package init() {}

    /// The error for somebody who says to be a handler and is none of these. An unknown handler leaves, and one of the
    /// last run must not: it has a call.
    func unknown(_ message: String) -> RingwakeError {
        guard !hasLastRun else { return RingwakeError(.notPermitted, message) }
        return RingwakeError(
            .timedOut, "the journal is not open, so the handlers of the last run are not known yet; try again")
    }

    package subscript(wake: WakeID) -> Handler? { handlers[wake] }

    /// The handler with this secret.
    func handler(ofSecretHash hash: [UInt8]) -> (app: AppID, wake: WakeID)? { wakes[hash].flatMap { handler($0) } }

    func handler(_ wake: WakeID) -> (app: AppID, wake: WakeID)? { handlers[wake].map { ($0.app, wake) } }

    /// The handler with this stream.
    func handler(ofConnection id: RequestID) -> WakeID? { handlers.first { $0.value.connection == id }?.key }

    /// The self-connected handler that ran as this process and has not connected again.
    func disconnected(_ process: ProcessIdentity, of app: AppID) -> WakeID? {
        handlers.first { $0.value.app == app && $0.value.process == process && $0.value.connection == nil }?.key
    }

    /// The number of connected handlers of each app.
    package var connections: [AppID: Int] {
        handlers.values.reduce(into: [:]) { if $1.connection != nil { $0[$1.app, default: 0] += 1 } }
    }

    /// The versions of RingwakeKit of the connected handlers of each app.
    package var kits: [AppID: Set<PeerVersion>] {
        handlers.values.reduce(into: [:]) { kits, handler in
            if let kit = handler.kit { kits[handler.app, default: []].insert(kit) }
        }
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
        _ wake: WakeID, of app: AppID, secretHash: [UInt8], connection: RequestID, process: ProcessIdentity?,
        kit: PeerVersion?
    ) {
        handlers[wake] = Handler(
            app: app, secretHash: secretHash, connection: connection, cameByItself: true, process: process, kit: kit)
        wakes[secretHash] = wake
    }

    /// Replaces the secret of a handler that was identified by its process.
    mutating func renewSecret(of wake: WakeID, hash: [UInt8]) {
        guard let handler = handlers[wake] else { return }
        wakes[handler.secretHash] = nil
        handlers[wake]?.secretHash = hash
        wakes[hash] = wake
    }

    /// - Returns: the connection that this one replaces.
    mutating func attach(_ connection: RequestID, to wake: WakeID, kit: PeerVersion?) -> RequestID? {
        defer {
            handlers[wake]?.connection = connection
            handlers[wake]?.kit = kit
        }
        return handlers[wake]?.connection
    }

    /// The handler is disconnected. A self-connected one is removed.
    mutating func detach(_ wake: WakeID) {
        handlers[wake]?.connection = nil
        handlers[wake]?.kit = nil
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
    /// The process of a self-connected handler.
    package var process: ProcessIdentity?
    /// Its lane state. The calls' records say which calls it has.
    package var state: HandlerLane.Handler

    package init(secretHash: [UInt8], process: ProcessIdentity?, state: HandlerLane.Handler) {
        self.secretHash = secretHash
        self.process = process
        self.state = state
    }
}
