/// One line of `/v1/events`.
///
/// The stream begins with where each matching call stands now, what its handler is to do and what waits to be
/// fetched, so that a handler which reports first and listens afterwards misses nothing. A client that does not read
/// is dropped when 1 MiB wait for it.
package struct EventMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// What happened:
    /// - `handler`: the first line of a connected handler's stream, with its `secret` and the control socket's path;
    /// - `wake`: a connected handler is given a push, which the daemon splices in as the member `push`, with the
    ///   bytes that standard input would have;
    /// - `call`: it changed its state, or its handler was lost (`claimMs`) or found again;
    /// - `action`: the handler is to do something and say so;
    /// - `push`: one arrived that changed nothing, or one waits for the handler to fetch it (`reason` is `waiting`);
    /// - `strike`: a handler did not do its part in the call;
    /// - `struckOut`: with that strike the app's handler is not started any more (`active`), or it is again;
    /// - `restricted`: the call was kept out; `reason` says by what, `detail` more of it;
    /// - `cellular`: the first cellular call of the device began (`active`), or the last one ended;
    /// - `audio`: the call's audio session became active, or is not any more (`audio`): its handler plays and records in
    ///   between, and at no other time;
    /// - `missed`: the call ended, and nobody answered or declined it anywhere;
    /// - `path`: the network changed; once for the daemon, without `app`, and once for each call that rings, is being
    ///   answered, is connected or is held, so that its handler can tell its peer where it is now;
    /// - `connection`: the daemon (without `app`) or an app is online, limited or offline;
    /// - `credentials`: what senders need to reach the app is another (`active`), or of no use any more;
    /// - `reload`: the configuration was read again.
    package var event: String
    /// The app; nil where the event is the daemon's own.
    package var app: String?
    /// The call.
    package var call: String?
    /// Of `call`: which of all calls it is, over restarts too; a later call has a higher number.
    package var number: Int64?
    /// The call's state after the event.
    package var state: String?
    /// Of `call` and `missed`, why the call ended. Of `connection`, why it is not `online`. Of `push`, `waiting` or
    /// the same as `outcome`. Of `strike`, `HandlerFailure` as text. Of `restricted`, `Restriction.Kind` as text. Of
    /// `audio`, `AudioRouteChangeReason` as text.
    package var reason: String?
    /// More of the reason, for a person.
    package var detail: String?
    /// What became of a push that changed nothing: `duplicate`, `tooLate`, `restricted` or `withheld`.
    package var outcome: String?
    /// What waits to be fetched: `call` (one to report), `update` (more about one that the handler has) or `claim`
    /// (one that lost its handler).
    package var kind: String?
    /// The push's `apns-id`.
    package var apnsId: String?
    /// What the handler is to do: `CallAction` as text.
    package var action: String?
    /// Of the action `dtmf`: what to play.
    package var digits: String?
    /// Milliseconds until the state's or the action's deadline.
    package var deadlineMs: Int64?
    /// Milliseconds until the call ends because it lost its handler and none has claimed it.
    package var claimMs: Int64?
    /// Of `call`, whether its handler has turned the microphone off; nil where it has not.
    package var muted: Bool?
    /// Who calls; set once it is known.
    package var caller: String?
    /// Who an identification list says that the caller is: a guess.
    package var identifiedAs: String?
    /// Microseconds since the push arrived.
    package var atUs: Int64?
    /// `online`, `limited` or `offline`.
    package var connection: String?
    /// What the network offers now.
    package var path: PathMessage?
    /// Of `struckOut` and `cellular`: whether it is so now. Of `credentials`: whether there are any.
    package var active: Bool?
    /// Of `audio`: `activated` (the handler opens its streams now), `deactivated` (it has closed them), `failed` (the
    /// call goes on without; `code` and `detail` say why) or `routeChanged` (for a `reason`).
    package var audio: String?
    /// Of `audio`: a number that rises with each activation of the call, over restarts of the daemon too: what was active
    /// under a lower number is not any more.
    package var activation: Int?
    /// Of `audio`: where the call's sound goes and comes from now; and before, where that changed.
    package var route: AudioRouteMessage?
    package var previous: AudioRouteMessage?
    /// Of `audio` that `failed`: the name of the code, and Apple's number of it.
    package var code: String?
    package var codeNumber: Int32?
    /// Of `handler`: what its requests carry as `Authorization: Bearer SECRET`.
    package var secret: String?
    /// Of `handler`: the path of the control socket.
    package var socket: String?

    package init(
        event: String, app: String? = nil, call: String? = nil, number: Int64? = nil, state: String? = nil,
        reason: String? = nil, detail: String? = nil, outcome: String? = nil, kind: String? = nil,
        apnsId: String? = nil,
        action: String? = nil, digits: String? = nil, deadlineMs: Int64? = nil, claimMs: Int64? = nil,
        muted: Bool? = nil, caller: String? = nil, identifiedAs: String? = nil, atUs: Int64? = nil,
        connection: String? = nil, path: PathMessage? = nil, active: Bool? = nil, audio: String? = nil,
        activation: Int? = nil, route: AudioRouteMessage? = nil, previous: AudioRouteMessage? = nil,
        code: String? = nil, codeNumber: Int32? = nil, secret: String? = nil, socket: String? = nil
    ) {
        self.event = event
        self.app = app
        self.call = call
        self.number = number
        self.state = state
        self.reason = reason
        self.detail = detail
        self.outcome = outcome
        self.kind = kind
        self.apnsId = apnsId
        self.action = action
        self.digits = digits
        self.deadlineMs = deadlineMs
        self.claimMs = claimMs
        self.muted = muted
        self.caller = caller
        self.identifiedAs = identifiedAs
        self.atUs = atUs
        self.connection = connection
        self.path = path
        self.active = active
        self.audio = audio
        self.activation = activation
        self.route = route
        self.previous = previous
        self.code = code
        self.codeNumber = codeNumber
        self.secret = secret
        self.socket = socket
    }
}
