import HTTPServer
import ProviderAPI
import RingwakeCore

/// Answers of the provider API.
///
/// Each has `apns-id`, and in the development environment also a new `apns-unique-id`. A success has no body. A refusal
/// has a JSON object with `reason` and, for 410, `timestamp` (an integer). Clients fail on other keys, on missing keys
/// and on unknown reasons. Only a sender that asked for it gets the outcome with a success.
///
/// See "Handling notification responses from APNs".
nonisolated struct ProviderAnswer {
    /// The push's ID as the sender wrote it; a new one if that can't be echoed.
    let apnsID: String
    private let environment: PushEnvironment

    /// - Parameter sentID: the request's `apns-id`.
    init(sentID: String?, environment: PushEnvironment) {
        if let sentID, MessageID.canBeEchoed(sentID) {
            apnsID = sentID
        } else {
            apnsID = MessageID.make()
        }
        self.environment = environment
    }

    /// The push was accepted.
    ///
    /// - Parameter outcome: a ``PushOutcome`` or a ``PushRelay``, for a sender that asked for it; nil for all others.
    func success(_ outcome: String?) -> HTTPResponse {
        guard let outcome else { return HTTPResponse(status: 200, fields: identifyingFields) }
        return HTTPResponse(
            status: 200, fields: identifyingFields + [ProviderAnswer.contentType],
            body: Array(#"{"outcome":"\#(outcome)"}"#.utf8))
    }

    /// The push was refused.
    ///
    /// - Parameter timestamp: when the token was unregistered or expired, in ms since 1970; only sent with 410.
    func refusal(_ reason: RejectionReason, timestamp: Int64) -> HTTPResponse {
        var body = #"{"reason":"\#(reason.rawValue)""#
        if reason.status == ProviderAnswer.goneStatus {
            body += #","timestamp":\#(timestamp)"#
        }
        body += "}"
        return HTTPResponse(
            status: reason.status, fields: identifyingFields + [ProviderAnswer.contentType], body: Array(body.utf8))
    }

    /// What became of a push.
    func receipt(_ json: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: 200, fields: identifyingFields + [ProviderAnswer.contentType], body: json)
    }

    /// Nobody knows the push, or it was another sender's.
    var unknownPush: HTTPResponse {
        HTTPResponse(
            status: 404, fields: identifyingFields + [ProviderAnswer.contentType],
            body: Array(#"{"reason":"UnknownPush"}"#.utf8))
    }

    /// The head was too large. APNs has no reason for it.
    var headTooLarge: HTTPResponse { HTTPResponse(status: 431, fields: identifyingFields) }

    private static let goneStatus = 410
    private static let contentType = HTTPField(name: "content-type", value: "application/json")

    private var identifyingFields: [HTTPField] {
        var fields = [HTTPField(name: ProviderField.id, value: apnsID)]
        if environment == .development {
            fields.append(HTTPField(name: ProviderField.uniqueID, value: MessageID.make()))
        }
        return fields
    }
}
