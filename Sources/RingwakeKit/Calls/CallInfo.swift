/// A call as it stood when it was told of last; CallKit's `CXCall`.
public struct CallInfo: Hashable, Sendable {
    /// The call's id within its app.
    public let call: String
    /// The app's bundle id.
    public let app: String
    public internal(set) var state: CallState
    /// Why it ended, or is ending.
    public internal(set) var endReason: CallEndReason?
    /// Who calls, once it is known. Untrusted text.
    public internal(set) var caller: String?
    /// Who a list says that the caller is: a guess, to be shown as one. Untrusted text.
    public internal(set) var identifiedAs: String?
    /// Whether its handler has turned the microphone off.
    public internal(set) var isMuted: Bool
    /// Whether this process has it: it was given its push, has reported it or claimed it. Nobody else acts on it.
    public internal(set) var isOwn: Bool

    package init(
        call: String, app: String, state: CallState, endReason: CallEndReason? = nil, caller: String? = nil,
        identifiedAs: String? = nil, isMuted: Bool = false, isOwn: Bool = false
    ) {
        self.call = call
        self.app = app
        self.state = state
        self.endReason = endReason
        self.caller = caller
        self.identifiedAs = identifiedAs
        self.isMuted = isMuted
        self.isOwn = isOwn
    }
}
