/// One line of `/v1/events`.
///
/// The stream begins with where each matching call stands now, so that a handler which reports first and listens
/// afterwards misses nothing. A client that does not read is dropped when 256 KiB wait for it.
package struct EventMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// `call` (it changed state), `action` (the handler is to do something and say so), `push` (one arrived that
    /// started no call) or `reload`.
    package var event: String
    /// The app; nil where the event is the daemon's own.
    package var app: String?
    /// The call.
    package var call: String?
    /// The call's state after the event.
    package var state: String?
    /// The end reason of a call that ended, or what became of a push: `expired`, `duplicate`.
    package var reason: String?
    /// What the handler is to do: `answer` or `end`.
    package var action: String?
    /// Milliseconds until the state's or the action's deadline.
    package var deadlineMs: Int64?
    /// Who calls; set once reported.
    package var caller: String?
    /// Microseconds since the push arrived.
    package var atUs: Int64?

    package init(
        event: String, app: String? = nil, call: String? = nil, state: String? = nil, reason: String? = nil,
        action: String? = nil, deadlineMs: Int64? = nil, caller: String? = nil, atUs: Int64? = nil
    ) {
        self.event = event
        self.app = app
        self.call = call
        self.state = state
        self.reason = reason
        self.action = action
        self.deadlineMs = deadlineMs
        self.caller = caller
        self.atUs = atUs
    }
}
