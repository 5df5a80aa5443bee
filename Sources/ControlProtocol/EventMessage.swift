/// One line of `/v1/events`.
///
/// The stream begins with where each matching call stands now, what its handler is to do and what waits to be
/// fetched, so that a handler which reports first and listens afterwards misses nothing. A client that does not read
/// is dropped when 1 MiB wait for it.
package struct EventMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// What happened:
    /// - `call`: it changed its state;
    /// - `action`: the handler is to do something and say so;
    /// - `push`: one arrived that changed nothing, or one waits for the handler to fetch it (`reason` is `waiting`);
    /// - `strike`: a handler did not do its part in the call;
    /// - `missed`: the call ended, and nobody answered or declined it anywhere;
    /// - `path`: the network changed; once for the daemon, without `app`, and once for each call that rings, is being
    ///   answered or is connected, so that its handler can tell its peer where it is now;
    /// - `connection`: the daemon (without `app`) or an app is online, limited or offline;
    /// - `reload`: the configuration was read again.
    package var event: String
    /// The app; nil where the event is the daemon's own.
    package var app: String?
    /// The call.
    package var call: String?
    /// The call's state after the event.
    package var state: String?
    /// Of `call` and `missed`, why the call ended. Of `connection`, why it is not `online`. Of `push`, `waiting` or the same as `outcome`. Of `strike`,
    /// `didNotStart`, `didNotReport`, `didNotConfirm`, `didNotAct` or `exited`.
    package var reason: String?
    /// What became of a push that changed nothing: `duplicate` or `tooLate`.
    package var outcome: String?
    /// What waits to be fetched: `call` (one to report) or `update` (more about one that the handler has).
    package var kind: String?
    /// The push's `apns-id`.
    package var apnsId: String?
    /// What the handler is to do: `answer` or `end`.
    package var action: String?
    /// Milliseconds until the state's or the action's deadline.
    package var deadlineMs: Int64?
    /// Who calls; set once it is known.
    package var caller: String?
    /// Microseconds since the push arrived.
    package var atUs: Int64?
    /// `online`, `limited` or `offline`.
    package var connection: String?
    /// What the network offers now.
    package var path: PathMessage?

    package init(
        event: String, app: String? = nil, call: String? = nil, state: String? = nil, reason: String? = nil,
        outcome: String? = nil, kind: String? = nil, apnsId: String? = nil, action: String? = nil,
        deadlineMs: Int64? = nil, caller: String? = nil, atUs: Int64? = nil, connection: String? = nil,
        path: PathMessage? = nil
    ) {
        self.event = event
        self.app = app
        self.call = call
        self.state = state
        self.reason = reason
        self.outcome = outcome
        self.kind = kind
        self.apnsId = apnsId
        self.action = action
        self.deadlineMs = deadlineMs
        self.caller = caller
        self.atUs = atUs
        self.connection = connection
        self.path = path
    }
}
