internal import RingwakeCore
public import RingwakeKit

/// What a user does to a call.
public enum UserRequest: Hashable, Sendable {
    /// Take the ringing call; the others as the settings say.
    case answer
    /// Take the ringing call, when the others are held or ended.
    case answerInstead(RingwakeKit.OtherCalls)
    /// Refuse the ringing call.
    case decline
    /// Hang up, in any state.
    case end
    case hold
    /// Go on with the held call.
    case unhold
    case mute
    case unmute
    /// Play 1 to 32 digits.
    case dtmf(String)

    func event(_ key: CallKey) -> Event {
        switch self {
        case .answer: .answerRequested(key)
        case .answerInstead(let others): .answerRequested(key, others: .init(rawValue: others.rawValue))
        case .decline: .declineRequested(key)
        case .end: .endRequested(key)
        case .hold: .holdRequested(key, true)
        case .unhold: .holdRequested(key, false)
        case .mute: .muteRequested(key, true)
        case .unmute: .muteRequested(key, false)
        case .dtmf(let digits): .digitsRequested(key, digits)
        }
    }
}

/// The daemon does not do what the user asks for.
public struct SimulatedRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the failure in the control API: `conflict`, `not-found`.
    public let code: String
    /// Why, in the daemon's words.
    public let message: String

    public var description: String { "\(code): \(message)" }
}

/// A call of a simulated daemon, as it stands.
public struct SimulatedCall: Identifiable, Hashable, Sendable {
    public let id: RingwakeKit.Call.ID
    public let state: CallState
    /// Why it ended, or is ending.
    public let endReason: RingwakeKit.CallEndReason?
    /// More on why it ended, for a person.
    public let endDetail: String?
    /// Who calls, as the push or the app said.
    public let caller: String?
    public let callerName: String?
    /// Who a list says that it is.
    public let identifiedAs: String?
    /// Whether it has video; nil while nobody has said.
    public let hasVideo: Bool?
    public let isMuted: Bool
    /// What the app was asked for and has neither fulfilled nor failed, the oldest first.
    public let owed: [RingwakeKit.CallAction.Kind]
    /// Whether it has lost the app's process, and ends if none claims it.
    public let isLost: Bool
    /// How often it began to ring: never more than once.
    public let rings: Int
    /// To how many handlers it was given.
    public let attempt: Int
    /// What keeps it out.
    public let filter: CallFilter?
}

/// A start of the app's handler, which the daemon would have made: no handler was connected when a call came.
///
///     let start = try await daemon.nextStart()
///     let client = try RingwakeClient(daemon, started: start)
public struct SimulatedStart: Sendable {
    let wake: WakeID
    /// The call that it is started for: `RINGWAKE_CALL`.
    public let call: RingwakeKit.Call.ID
    /// What is in `RINGWAKE_WAKE_SECRET`.
    public let secret: String
    /// What is on standard input.
    public let input: [UInt8]
}
