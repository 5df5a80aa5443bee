internal import ControlProtocol
internal import RingwakeCore
public import RingwakeKit

/// A user's request about a call.
public enum UserRequest: Hashable, Sendable {
    /// Take the ringing call. Other calls are held or ended as the settings say.
    case answer
    /// Take the ringing call, after the others are held or ended.
    case answerInstead(RingwakeKit.OtherCalls)
    /// Refuse the ringing call.
    case decline
    /// Hang up, in any state.
    case end
    case hold
    /// Resume the held call.
    case unhold
    case mute
    case unmute
    /// Play 1 to 32 digits.
    case dtmf(String)
    /// Merge it with this other call of the app.
    case merge(with: RingwakeKit.Call.ID)

    var verb: CallVerb {
        switch self {
        case .answer, .answerInstead: .answer
        case .decline: .decline
        case .end: .end
        case .hold: .hold
        case .unhold: .unhold
        case .mute: .mute
        case .unmute: .unmute
        case .dtmf: .dtmf
        case .merge: .merge
        }
    }

    var body: [UInt8] {
        switch self {
        case .answerInstead(let others): controlJSON(CallAnswer(others: others.rawValue))
        case .dtmf(let digits): controlJSON(CallDigits(digits: digits))
        case .merge(let other): controlJSON(CallMerge(with: other.rawValue))
        default: []
        }
    }
}

/// The daemon refuses a user's request.
public struct SimulatedRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the failure in the control API: `conflict`, `not-found`.
    public let code: String
    /// Why, as the daemon says it.
    public let message: String

    public var description: String { "\(code): \(message)" }
}

/// A call of a simulated daemon, as it is now.
public struct SimulatedCall: Identifiable, Hashable, Sendable {
    public let id: RingwakeKit.Call.ID
    public let state: CallState
    /// Why it ended, or is ending.
    public let endReason: RingwakeKit.CallEndReason?
    /// Details of its end, for a person.
    public let endDetail: String?
    /// Who calls, according to the push or the app.
    public let caller: String?
    public let callerName: String?
    /// The caller according to an identification list.
    public let identifiedAs: String?
    /// Whether it has video; nil while that is not known.
    public let hasVideo: Bool?
    public let isMuted: Bool
    /// The number of the conference that it is in; nil: none.
    public let conference: Int64?
    /// The actions that the app has neither fulfilled nor failed, the oldest first.
    public let pendingActions: [RingwakeKit.CallAction.Kind]
    /// Whether the app's process lost it. It ends if no process claims it.
    public let isLost: Bool
    /// How often it began to ring: never more than once.
    public let rings: Int
    /// How many handlers got it.
    public let attempt: Int
    /// What blocked it.
    public let filter: CallFilter?
}

/// The start of a handler that a real daemon would have made: no handler was connected when a call came.
///
///     let start = try await daemon.nextStart()
///     let client = try RingwakeClient(daemon, started: start)
public struct SimulatedStart: Sendable {
    let wake: WakeID
    /// The call that it is started for, in `RINGWAKE_CALL`.
    public let call: RingwakeKit.Call.ID
    /// The secret in `RINGWAKE_WAKE_SECRET`.
    public let secret: String
    /// The push on standard input.
    public let input: [UInt8]
}

/// A push as a test writes it.
struct SimulatedPush: Sendable {
    var call: String?
    var caller: String?
    var callerName: String?
    var hasVideo: Bool?
    var payload = "{}"
    var expiresAfter: Duration?
    var ringTime: Duration?
    var cancel: RingwakeCore.CallEndReason?
}

extension SimulatedCall {
    init(of call: RingwakeCore.Call, rings: Int) {
        let machine = call.machine
        self.init(
            id: .init(rawValue: call.key.id.rawValue), state: CallState(rawValue: machine.state.name.rawValue),
            endReason: machine.state.endReason.map { RingwakeKit.CallEndReason(rawValue: $0.rawValue) },
            endDetail: machine.state.endDetail, caller: call.update.caller, callerName: call.update.callerName,
            identifiedAs: call.update.identifiedAs, hasVideo: call.update.hasVideo, isMuted: machine.isMuted,
            conference: call.conference,
            pendingActions: machine.owed.map { RingwakeKit.CallAction.Kind(rawValue: $0.action.rawValue) },
            isLost: machine.claimBy != nil, rings: rings,
            attempt: call.attempt, filter: call.restriction.map { CallFilter(rawValue: $0.kind.rawValue) })
    }
}
