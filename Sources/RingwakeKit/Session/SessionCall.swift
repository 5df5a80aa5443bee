/// What a session knows about one call.
struct SessionCall: Sendable {
    /// An action that was delivered and not answered.
    struct PendingAction: Sendable, Equatable {
        let number: UInt64
        let kind: CallAction.Kind
        let digits: String
        /// Whether the app is fulfilling or failing it now.
        var isBeingAnswered = false
    }

    var call: Call
    /// The daemon's number for the call; nil until the daemon has reported it.
    var number: Int64?
    /// Whether the daemon has reported it on a stream.
    var isReported = false
    /// Whether a claim is in progress.
    var isBeingClaimed = false
    /// Whether it has lost its handler and waits for one that claims it.
    var isLost = false
    /// Whether the app got the push to claim it.
    var isClaimDelivered = false
    /// The highest attempt with a delivered push.
    var attempt = 0
    /// Payloads of updates that were fetched before the call is reported. Each fetch returns them again until then.
    var fetched: Set<[UInt8]> = []
    var pending: [PendingAction] = []
    /// Fulfilled actions that cannot be undone. If requested again, they are fulfilled without asking the app.
    var fulfilled: Set<CallAction.Kind> = []
    /// Number of pending groups of digits that the stream has repeated.
    private var repeatedDigits = 0

    init(_ call: Call) {
        self.call = call
    }

    /// A new stream repeats the pending actions, and says whether the call has to be claimed.
    mutating func beginStream() {
        repeatedDigits = 0
        isBeingClaimed = false
    }

    /// Whether a requested action is a repetition.
    enum Repeat: Equatable {
        /// The app has the action, or is answering it.
        case known
        /// The app has fulfilled it.
        case fulfilled
        /// It is a new action.
        case none
    }

    mutating func repeated(_ kind: CallAction.Kind, _ digits: String) -> Repeat {
        if kind == .dtmf {
            let waiting = pending.filter { $0.kind == .dtmf }
            guard repeatedDigits < waiting.count, waiting[repeatedDigits].digits == digits else { return .none }
            repeatedDigits += 1
            return .known
        }
        if pending.contains(where: { $0.kind == kind }) { return .known }
        return fulfilled.contains(kind) ? .fulfilled : .none
    }
}
