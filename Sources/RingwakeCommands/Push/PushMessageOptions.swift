import ArgumentParser
import ProviderAPI
import PushClient
import RingwakeCore

/// The contents of a push. Only the form of the options is checked: the push service validates the rest, and may be
/// under test.
struct PushMessageOptions: ParsableArguments {
    @Option(help: .of("file", "A file with the payload, sent byte for byte; - is standard input."), completion: .file())
    var payload: String?

    @Option(help: .of("json", "The payload itself (default: {}, for alerts {\"aps\":{}})."))
    var data: String?

    @Option(help: .of("topic", "apns-topic (default with --app: its VoIP topic)."))
    var topic: String?

    @Option(help: .of("type", "apns-push-type (default: from the topic's suffix)."))
    var pushType: String?

    @Option(help: .of("number", "apns-priority: 10, 5 or 1."))
    var priority: String?

    @Option(
        help: .of("duration", "When the push expires; 0: one delivery attempt only."),
        transform: DurationArgument.init(parsing:))
    var expires: DurationArgument?

    @Option(help: .of("text", "apns-collapse-id."))
    var collapseID: String?

    @Option(help: .of("uuid", "apns-id (default: the push service makes one)."))
    var id: String?

    func validate() throws {
        try require(payload == nil || data == nil, "Give --payload or --data, not both.")
    }

    /// The push for `token`. Uses `known` as the topic if no option gives one.
    func request(token: String, topic known: String?, at now: Int64) throws(RingwakeError) -> PushRequest {
        let topic = self.topic ?? known
        let type = pushType ?? topic.map(PushMessageOptions.pushType)
        return PushRequest(
            token: token, topic: topic, pushType: type, priority: priority, expiration: expiration(at: now),
            collapseID: collapseID, id: id, payload: try payloadBytes(type: type))
    }

    private func payloadBytes(type: String?) throws(RingwakeError) -> [UInt8] {
        if let payload { return try InputFile.read(payload, allowsStandardInput: true) }
        let isVoIP = type == nil || type == PushType.voip.rawValue
        return Array((data ?? (isVoIP ? "{}" : #"{"aps":{}}"#)).utf8)
    }

    /// `apns-expiration` at `now`, in seconds since 1970.
    private func expiration(at now: Int64) -> Int64? {
        guard let seconds = expires?.duration.components.seconds else { return nil }
        return expires?.duration == .zero ? 0 : now.addingReportingOverflow(max(1, seconds)).partialValue
    }

    /// The push type by the topic's suffix; `alert` for a topic without suffix, which is the bundle id.
    static func pushType(of topic: String) -> String {
        let type = PushType.allCases.first { type in type.topicSuffix.map(topic.hasSuffix) ?? false }
        return (type ?? .alert).rawValue
    }
}
