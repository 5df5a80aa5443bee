internal import ControlProtocol
internal import FoundationEssentials

/// A push for this process: PushKit's `PKPushPayload`, and the time to report its call.
public struct IncomingPush: Sendable {
    /// What to do.
    public struct Kind: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Report the call, within ``IncomingPush/reportWithin``.
        public static let call = Kind(rawValue: "call")
        /// No push: an outgoing call for this process, which gets a ``CallAction/Kind/start`` for it. Only for handlers that
        /// read the object themselves (``IncomingPush/init(json:)``); ``PushRegistry`` does not deliver it.
        public static let start = Kind(rawValue: "start")
        /// Another push for a call that this process has.
        public static let update = Kind(rawValue: "update")
        /// The call has lost its process: take it over with ``CallProvider/claim(_:)``. The payload is that of the call's
        /// push, or `{}` if the daemon no longer has it.
        public static let claim = Kind(rawValue: "claim")
    }

    public let call: Call.ID
    public let kind: Kind
    /// The topic that the push was sent to.
    public let topic: String
    /// 1 for the first handler that gets this call. Higher if a handler or the daemon was started again before the call
    /// rang.
    public let attempt: Int
    /// Time from the push's arrival at the daemon to its arrival here.
    public let age: Duration
    /// Time to report or claim the call, from the push's arrival here.
    public let reportWithin: Duration
    /// The sender's payload, byte for byte: one JSON object. Untrusted: check it.
    public let payload: [UInt8]

    package init(
        call: Call.ID, kind: Kind, topic: String, attempt: Int, age: Duration, reportWithin: Duration, payload: [UInt8]
    ) {
        self.call = call
        self.kind = kind
        self.topic = topic
        self.attempt = attempt
        self.age = age
        self.reportWithin = reportWithin
        self.payload = payload
    }

    /// Decodes the payload as a type of the app.
    ///
    /// - Throws: `invalidRequest`: the payload does not fit that type.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws(RingwakeKitError) -> T {
        do {
            return try JSONDecoder().decode(type, from: Data(payload))
        } catch {
            throw RingwakeKitError(.invalidRequest, "the payload of call '\(call)' is no \(type): \(error)")
        }
    }
}
