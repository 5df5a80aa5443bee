// What can be said of a state without its call.
extension CallStateMachine.State {
    /// A state without what belongs to it, as the control API and the journal name it.
    package enum Name: String, Sendable, Codable, CaseIterable {
        case queued, woken, reported, confirmed, ringing, answering, connected, held, ending, ended
    }

    /// The state's name.
    package var name: Name {
        switch self {
        case .queued: .queued
        case .woken: .woken
        case .reported: .reported
        case .confirmed: .confirmed
        case .ringing: .ringing
        case .answering: .answering
        case .connected: .connected
        case .held: .held
        case .ending: .ending
        case .ended: .ended
        }
    }

    /// Whether this is the final state.
    package var isEnded: Bool {
        if case .ended = self { true } else { false }
    }

    /// The reason of a call that has ended or is ending.
    package var endReason: CallEndReason? {
        switch self {
        case .ending(let reason, _), .ended(let reason, _): reason
        case .queued, .woken, .reported, .confirmed, .ringing, .answering, .connected, .held: nil
        }
    }

    /// The answer or the end that the handler owes in this state.
    package var pendingAction: PendingAction? {
        switch self {
        case .answering(let deadline): PendingAction(.answer, by: deadline)
        case .ending(_, let deadline): PendingAction(.end, by: deadline)
        case .queued, .woken, .reported, .confirmed, .ringing, .connected, .held, .ended: nil
        }
    }

    /// More on the end, for a person.
    package var endDetail: String? {
        if case .ended(_, let detail) = self { detail } else { nil }
    }
}
