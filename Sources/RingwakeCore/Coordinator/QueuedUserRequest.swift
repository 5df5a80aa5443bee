/// A call that the user answered or resumes, queued until other calls are held or ended.
struct QueuedUserRequest: Hashable, Sendable {
    let call: CallKey
    /// `answer` or `unhold`.
    let action: CallAction
    /// The calls that are being held or ended.
    let others: [CallKey]

    enum Progress {
        case waiting
        /// The others are held or have ended.
        case ready
        /// One of the others could not be held or ended.
        case blocked
        /// The call has changed or ended meanwhile.
        case obsolete
    }

    func progress(_ calls: [CallKey: Call]) -> Progress {
        guard calls[call]?.machine.state.name == (action == .answer ? .ringing : .held) else { return .obsolete }
        let others = others.compactMap { calls[$0]?.machine }
        if others.contains(where: { $0.isOnTheLine && !$0.isAsked(.hold) }) { return .blocked }
        return others.allSatisfy { !$0.isOnTheLine && $0.state.name != .ending } ? .ready : .waiting
    }
}
