/// What a session knows about one call.
struct SessionCall: Sendable {
    /// An action that was delivered and not answered.
    struct PendingAction: Sendable, Equatable {
        let number: UInt64
        let kind: CallAction.Kind
        let digits: String
        /// Its answer is in progress.
        var isBeingAnswered = false
    }

    var call: Call
    /// Which of all calls it is; nil until the daemon has reported it.
    var number: Int64?
    /// Whether the daemon has reported it on a stream.
    var isReported = false
    /// It lost its handler, and is being claimed.
    var isBeingClaimed = false
    /// The app got the push to claim it.
    var isClaimDelivered = false
    /// The highest attempt with a delivered push.
    var attempt = 0
    /// Payloads that were fetched before the call was reported: they come again with each fetch until then.
    var fetched: Set<[UInt8]> = []
    var pending: [PendingAction] = []
    /// Fulfilled actions that cannot be undone. If requested again, they are fulfilled without asking the app.
    var fulfilled: Set<CallAction.Kind> = []
    /// How many of the pending digits the daemon has requested again.
    private var repeatedDigits = 0

    init(_ call: Call) {
        self.call = call
    }

    /// A new stream will repeat what is pending, and whether the call has to be claimed.
    mutating func beginStream() {
        repeatedDigits = 0
        isBeingClaimed = false
    }

    /// What the daemon requests again.
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
