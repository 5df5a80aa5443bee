/// Which calls keep the machine awake.
package struct AwakeRule: Hashable, Sendable {
    /// Until when a call keeps the machine awake.
    package enum Span: String, Hashable, Sendable, CaseIterable {
        /// Until the user answers or declines, or a deadline passes; for an outgoing call, until the other side answers.
        case ringing
        /// Until the call ends.
        case call
    }

    package var during = Span.call
    /// Whether a call on hold does: its app may have to answer the network now and then.
    package var held = true

    package init() {}

    func covers(_ state: CallStateMachine.State) -> Bool {
        switch state {
        case .queued, .woken, .reported, .confirmed, .ringing, .answering, .dialling, .connecting: true
        case .connected, .ending: during == .call
        case .held: during == .call && held
        case .ended: false
        }
    }
}
