import HTTPServer
import ProviderAPI
import RingwakeCore

/// The shape of the provider API's answers.
///
/// Each carries `apns-id`, and in the development environment a fresh `apns-unique-id`. A success has no body. A
/// refusal has one JSON object with `reason`, and on 410 `timestamp`, an integer; clients fail on any other key,
/// on a missing one and on unknown reasons.
///
/// See "Handling notification responses from APNs".
nonisolated struct ProviderAnswer {
    /// The sender's id of the push, as it wrote it; one made here when it wrote none that can be echoed.
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

    /// The push was taken.
    func success() -> HTTPResponse {
        HTTPResponse(status: 200, fields: identifyingFields)
    }

    /// The push was not taken.
    ///
    /// - Parameter timestamp: since when the token is unregistered, in ms since 1970; sent with 410 only.
    func refusal(_ reason: RejectionReason, timestamp: Int64) -> HTTPResponse {
        var fields = identifyingFields
        fields.append(HTTPField(name: "content-type", value: "application/json"))
        var body = #"{"reason":"\#(reason.rawValue)""#
        if reason.status == ProviderAnswer.goneStatus {
            body += #","timestamp":\#(timestamp)"#
        }
        body += "}"
        return HTTPResponse(status: reason.status, fields: fields, body: Array(body.utf8))
    }

    private static let goneStatus = 410

    private var identifyingFields: [HTTPField] {
        var fields = [HTTPField(name: ProviderField.id, value: apnsID)]
        if environment == .development {
            fields.append(HTTPField(name: ProviderField.uniqueID, value: MessageID.make()))
        }
        return fields
    }
}
