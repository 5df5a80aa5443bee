public import RingwakeCore

/// What the user wants of a call, to be done and then fulfilled, or failed; CallKit's `CXCallAction`.
///
/// It has a deadline: an action that is neither fulfilled nor failed by then counts against the handler. An answer that
/// fails ends the call; what else fails leaves it as it was, but of an end, after which the call is over all the same.
public struct CallAction: Sendable {
    /// What is to be done.
    public enum Kind: Hashable, Sendable, CustomStringConvertible {
        /// Take the call.
        case answer
        /// Finish it: the user hung up or declined, or it was refused because another goes on.
        case end
        /// Stop sending and playing media, and tell the peer.
        case hold
        /// Go on with a call that is held.
        case unhold
        /// Send silence.
        case mute
        /// Send the microphone again.
        case unmute
        /// Play digits to the peer (RFC 4733): `0` to `9`, `*`, `#`, `A` to `D`, and `,` for a pause.
        case dtmf(String)

        /// The name in the control API.
        package var name: String {
            switch self {
            case .answer: "answer"
            case .end: "end"
            case .hold: "hold"
            case .unhold: "unhold"
            case .mute: "mute"
            case .unmute: "unmute"
            case .dtmf: "dtmf"
            }
        }

        public var description: String {
            if case .dtmf(let digits) = self { "dtmf \(digits)" } else { name }
        }
    }

    /// The call's id.
    public let call: String
    public let kind: Kind
    /// By when it is to be fulfilled or failed.
    public let deadline: ContinuousClock.Instant
    /// Which of the actions that the client has told it is.
    let number: UInt64
    let port: ClientPort

    /// It is done. Returns when the daemon has it. Several of one kind are fulfilled in the order of their coming.
    ///
    /// - Throws: `wrongState`: it was answered before, or its deadline is over; `alreadyEnded`, `noAnswer`.
    public func fulfill() async throws(CallError) {
        try await port.answer(self, isDone: true)
    }

    /// It is done, and this is what the call's audio is to be from now on: with an answer, or with going on.
    ///
    /// - Throws: As ``fulfill()``; `refused`: another action.
    public func fulfill(audio: AudioSessionConfiguration) async throws(CallError) {
        try await port.answer(self, isDone: true, audio: audio)
    }

    /// It cannot be done. Returns when the daemon has it.
    ///
    /// - Throws: As ``fulfill()``.
    public func fail() async throws(CallError) {
        try await port.answer(self, isDone: false)
    }
}
