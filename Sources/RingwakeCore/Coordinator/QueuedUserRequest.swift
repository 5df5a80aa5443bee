/// A call that the user answered, resumes or begins, queued until other calls are held or ended.
struct QueuedUserRequest: Hashable, Sendable {
    let call: CallKey
    /// `answer`, `unhold` or `start`.
    let action: CallAction
    /// Of `start`: the handler that began the call, and gets it if it is connected.
    let handler: WakeID?
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
        let state: CallStateMachine.State.Name =
            switch action {
            case .answer: .ringing
            case .start: .queued
            default: .held
            }
        guard calls[call]?.machine.state.name == state else { return .obsolete }
        let others = others.compactMap { calls[$0]?.machine }
        if others.contains(where: { $0.isOnTheLine && !$0.isAsked(.hold) }) { return .blocked }
        return others.allSatisfy { !$0.isOnTheLine && $0.state.name != .ending } ? .ready : .waiting
    }
}
