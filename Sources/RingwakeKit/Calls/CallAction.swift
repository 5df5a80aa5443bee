public import RingwakeCore

/// A request of the user about a call: do it, then fulfil or fail the action; CallKit's `CXCallAction`.
///
/// If you neither fulfil nor fail an action by its deadline, the handler gets a strike. A failed answer, start or end ends
/// the call. Any other failed action leaves the call unchanged.
public struct CallAction: Identifiable, Sendable {
    /// What to do.
    public struct Kind: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Answer the call.
        public static let answer = Kind(rawValue: "answer")
        /// Call the other side: the user began an outgoing call. ``CallProvider/calls`` has whom to call. Fulfil it when you
        /// have begun to, and report then how far the call is; CallKit's `CXStartCallAction`.
        public static let start = Kind(rawValue: "start")
        /// End the call: the user hung up or declined, or the daemon rejects it because another one is in progress.
        public static let end = Kind(rawValue: "end")
        /// Stop sending and playing media, and inform the peer.
        public static let hold = Kind(rawValue: "hold")
        /// Resume a held call.
        public static let unhold = Kind(rawValue: "unhold")
        /// Send silence.
        public static let mute = Kind(rawValue: "mute")
        /// Send the microphone again.
        public static let unmute = Kind(rawValue: "unmute")
        /// Play ``CallAction/digits`` to the peer (RFC 4733).
        public static let dtmf = Kind(rawValue: "dtmf")
        /// Mix the call with ``CallAction/otherCall``, so that all hear each other, and resume the one that is held;
        /// CallKit's `CXSetGroupCallAction`. If that one is in a conference already, the call joins it.
        public static let merge = Kind(rawValue: "merge")
    }

    /// Distinguishes the actions of a client.
    public struct ID: Hashable, Sendable {
        let number: UInt64
    }

    public let id: ID
    /// The call that the action is for.
    public let call: Call.ID
    public let kind: Kind
    /// The digits to play: `0` to `9`, `*`, `#`, `A` to `D`, and `,` for a pause. Empty except with the kind `dtmf`.
    public let digits: String
    /// With the kind `merge`: the call to mix this one with; CallKit's `callUUIDToGroupWith`.
    public let otherCall: Call.ID?
    /// The time by which you have to fulfil or fail it.
    public let deadline: ContinuousClock.Instant
    let requests: CallRequests

    /// Reports that the action succeeded. Returns when the daemon has received the report. Fulfil several actions of
    /// one kind in the order of their arrival.
    ///
    /// - Throws: `wrongState`: it is already fulfilled or failed, or its deadline has passed; `alreadyEnded`,
    ///   `noAnswer`.
    public func fulfill() async throws(CallError) {
        try await requests.answer(self, isDone: true)
    }

    /// Reports that the action succeeded, and configures the call's audio; for `answer`, `start` and `unhold`.
    ///
    /// - Throws: As ``fulfill()``; `refused` for another action.
    public func fulfill(audio: AudioSessionConfiguration) async throws(CallError) {
        try await requests.answer(self, isDone: true, audio: audio)
    }

    /// Reports that the action failed. Returns when the daemon has received the report.
    ///
    /// - Throws: As ``fulfill()``.
    public func fail() async throws(CallError) {
        try await requests.answer(self, isDone: false)
    }
}

extension CallAction: QueuedEvent {
    /// The daemon requests an action again only after the earlier one's deadline. Each group of digits has a key of
    /// its own.
    var key: EventKey { kind == .dtmf ? EventKey("dtmf \(id.number)", call) : EventKey(kind.rawValue, call) }
}
