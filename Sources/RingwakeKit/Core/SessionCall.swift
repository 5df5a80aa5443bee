/// What a session knows of one call.
struct SessionCall: Sendable {
    /// Something that the user wants, which was told and not answered.
    struct Owed: Sendable, Equatable {
        let number: UInt64
        let kind: CallAction.Kind
        /// Its answer is under way.
        var isBeingAnswered = false
    }

    var info: CallInfo
    /// Which of all calls it is; nil until the daemon has said.
    var number: Int64?
    /// Whether the daemon has told of it on a stream.
    var isTold = false
    /// It lost its handler, and is being claimed.
    var isBeingClaimed = false
    /// The app was told that it is to claim it.
    var isClaimTold = false
    /// The highest attempt of which its push was told.
    var attempt = 0
    /// Payloads that were fetched before it was reported: they come again with each fetch until then.
    var fetched: Set<[UInt8]> = []
    var owed: [Owed] = []
    /// What was fulfilled and cannot be undone: asked for again, it is fulfilled without asking the app.
    var fulfilled: Set<CallAction.Kind> = []
    /// How many of the digits that are owed the daemon has told again.
    private var replayedDigits = 0

    init(_ info: CallInfo) {
        self.info = info
    }

    /// A new stream will tell what is owed again, and whether it is to be claimed.
    mutating func beginStream() {
        replayedDigits = 0
        isBeingClaimed = false
    }

    /// What the daemon tells again of what it had told before.
    enum Repeat: Equatable {
        /// The app has it, or is answering it.
        case known
        /// The app has answered it for good.
        case fulfilled
        /// It is new.
        case none
    }

    mutating func repeated(_ kind: CallAction.Kind) -> Repeat {
        if case .dtmf = kind {
            let digits = owed.filter { if case .dtmf = $0.kind { true } else { false } }
            guard replayedDigits < digits.count, digits[replayedDigits].kind == kind else { return .none }
            replayedDigits += 1
            return .known
        }
        if owed.contains(where: { $0.kind == kind }) { return .known }
        return fulfilled.contains(kind) ? .fulfilled : .none
    }
}
