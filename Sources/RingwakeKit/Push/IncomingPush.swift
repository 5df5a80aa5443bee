internal import ControlProtocol
internal import FoundationEssentials

/// A push that this process was given: PushKit's `PKPushPayload`, and how long there is to report its call.
public struct IncomingPush: Sendable {
    /// What is to be done about it.
    public enum Kind: String, Hashable, Sendable {
        /// There is a call to report, within ``IncomingPush/reportWithin``.
        case call
        /// A further push for a call that this process has.
        case update
        /// A call has lost the process that had it: ``CallProvider/claim(_:)`` takes it over. The payload is that of its
        /// push, or `{}` when that is not known any more.
        case claim
    }

    /// The call's id within the app.
    public let call: String
    public let kind: Kind
    /// The topic that it was sent to.
    public let topic: String
    /// 1 for the first time that a handler is given this call. A higher one: a handler or the daemon was started again
    /// before the call rang.
    public let attempt: Int
    /// How old it was when it came here, since it arrived at the daemon.
    public let age: Duration
    /// How much time was left, when it came here, to report or claim the call.
    public let reportWithin: Duration
    /// What the sender sent, byte for byte: one JSON object. It comes from outside; check it.
    public let payload: [UInt8]

    package init(
        call: String, kind: Kind, topic: String, attempt: Int, age: Duration, reportWithin: Duration, payload: [UInt8]
    ) {
        self.call = call
        self.kind = kind
        self.topic = topic
        self.attempt = attempt
        self.age = age
        self.reportWithin = reportWithin
        self.payload = payload
    }

    /// The payload as a type of the app's.
    ///
    /// - Throws: `invalidRequest`: the payload is not what that type is made from.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws(RingwakeKitError) -> T {
        do {
            return try JSONDecoder().decode(type, from: Data(payload))
        } catch {
            throw RingwakeKitError(.invalidRequest, "the payload of call '\(call)' is no \(type): \(error)")
        }
    }
}
