import Cryptography
import DeviceLink
import HTTPServer
import ProviderAPI
import RingwakeCore
import RunLoop

/// What the head of a push says, verified.
struct VerifiedHead {
    fileprivate let tokenText: String
    fileprivate let team: String
    fileprivate let topic: Topic
    fileprivate let type: PushType
    fileprivate let priority: PushPriority
    fileprivate let expiration: VerifiedPush.Expiration?
    fileprivate let collapseID: String?
    /// Milliseconds since 1970.
    fileprivate let receivedWallClock: Int64
}

/// Verifies the requests of one sender's connection.
struct RequestVerification {
    /// Maximum bytes of a VoIP push's payload.
    private static let maximumVoIPPayloadBytes = PushGateway.maximumPayloadBytes
    /// Maximum bytes of any other push's payload.
    private static let maximumPayloadBytes = 4096

    private let gateway: PushGateway
    private let environment: PushEnvironment
    private var senders: SenderVerification

    init(gateway: PushGateway, certificate: PeerCertificate?, environment: PushEnvironment) {
        self.gateway = gateway
        self.environment = environment
        senders = SenderVerification(certificate: certificate, environment: environment)
    }

    /// The sender's team, as far as it is known or claimed, for the log.
    var team: String? { senders.team }

    /// The team that the sender has proven to belong to; nil if it has proven nothing yet.
    var account: String? { senders.account }

    /// Judges the certificate before the first request.
    mutating func proveByCertificate() {
        senders.proveByCertificate(gateway: gateway, now: gateway.wallClock() / 1000)
    }

    /// Why the sender may send no longer, after a change of the configuration; nil if it may, or if it has not proven
    /// itself.
    var revocation: Refusal? { senders.revocation(by: gateway.configuration) }

    /// Checks the head of a request, before its body is kept: the first seven of these checks. ``verify(_:head:pushID:)``
    /// does the others. The first failed check determines the answer:
    ///
    /// 1. method and path: MethodNotAllowed, BadPath, MissingDeviceToken
    /// 2. no `authorization` or `apns-` field occurs twice: DuplicateHeaders
    /// 3. the clock shows a plausible time: ServiceUnavailable
    /// 4. the sender's certificate or token: BadCertificate, BadCertificateEnvironment, MissingProviderToken,
    ///    InvalidProviderToken, ExpiredProviderToken, UnrelatedKeyIdInToken, TooManyProviderTokenUpdates
    /// 5. the header fields: BadMessageId, BadExpirationDate, BadPriority, BadCollapseId, BadTopic
    /// 6. the topic against the sender's rights: MissingTopic, TopicDisallowed, Forbidden
    /// 7. the push type against the topic: InvalidPushType
    /// 8. the payload: PayloadTooLarge, PayloadEmpty
    /// 9. the device token: BadDeviceToken, Unregistered, ExpiredToken, DeviceTokenNotForTopic
    /// 10. the app is configured: ServiceUnavailable
    ///
    /// The sender is checked before anything that a stranger could learn from, above all the device token. Some reasons
    /// make senders forget a token (400 and 410 of step 9, 400 of step 6). They depend only on what the sender sent
    /// and on the token's record, never on gaps in our configuration.
    mutating func judge(_ head: HTTPRequest, headers: ProviderHeaders) throws(Refusal) -> VerifiedHead {
        let tokenText = try deviceTokenText(of: head)
        try headers.requireNoDuplicates()
        let wallClock = gateway.wallClock()
        let bootClock = gateway.bootClock()
        let earliest = gateway.earliestTime()
        guard wallClock >= earliest else {
            throw Refusal(
                .serviceUnavailable,
                "the machine's clock shows \(GregorianDate.utcText(milliseconds: wallClock)), but it is at least "
                    + "\(GregorianDate.utcText(milliseconds: earliest)); set it")
        }
        let sender = try senders.sender(
            authorization: headers.authorization, gateway: gateway, now: wallClock / 1000)

        try headers.requireMessageIDIsWellFormed()
        let expiration = try headers.expiration(wallClock: wallClock, bootClock: bootClock)
        let priority = try headers.priority()
        let collapseID = try headers.collapseID()
        let topic = try sender.topic(sent: headers.topic(), team: gateway.configuration.teams[sender.team])
        let type = try headers.pushType(for: topic)
        let since = head.receivedAt.duration(to: bootClock).milliseconds
        return VerifiedHead(
            tokenText: tokenText, team: sender.team, topic: topic, type: type, priority: priority,
            expiration: expiration, collapseID: collapseID, receivedWallClock: wallClock - max(0, since))
    }

    /// Checks a sender's question what became of its push: the sender, its right to the topic, and the token.
    mutating func verify(
        _ path: ReceiptPath, _ head: HTTPRequest, headers: ProviderHeaders
    ) throws(Refusal) -> ReceiptRequest {
        try headers.requireNoDuplicates()
        let sender = try senders.sender(
            authorization: headers.authorization, gateway: gateway, now: gateway.wallClock() / 1000)
        let topic = try sender.topic(sent: headers.topic(), team: gateway.configuration.teams[sender.team])
        let (app, destination) = try recipient(tokenText: path.tokenText, topic: topic)
        return ReceiptRequest(app: app, destination: destination, sender: sender.team, pushID: path.pushID)
    }

    /// Checks the rest of a request.
    ///
    /// - Parameter pushID: ID of the push in the answer, the log and the coordinator.
    func verify(_ request: HTTPRequest, head: VerifiedHead, pushID: String) throws(Refusal) -> VerifiedPush {
        try requirePayload(of: request, isAcceptableFor: head.type)
        let (app, destination) = try recipient(tokenText: head.tokenText, topic: head.topic)
        var push = VerifiedPush(
            pushID: pushID, app: app,
            provenance: Provenance(sender: head.team, door: .apns(environment, head.topic)),
            priority: head.priority, expiration: head.expiration, collapseID: head.collapseID, payload: request.body,
            receivedAt: BootInstant(nanoseconds: request.receivedAt.nanoseconds),
            verifiedAt: BootInstant(nanoseconds: gateway.bootClock().nanoseconds))
        push.receivedWallClock = head.receivedWallClock
        push.destination = destination
        push.type = head.type.rawValue
        return push
    }

    /// The token's text in `/3/device/TOKEN`.
    private func deviceTokenText(of request: HTTPRequest) throws(Refusal) -> String {
        guard request.method == "POST" else {
            throw Refusal(.methodNotAllowed, "the method is \(quoted(request.method))")
        }
        let collection = "/3/device"
        guard request.path != collection, request.path != collection + "/" else {
            throw Refusal(.missingDeviceToken, "the path ends before the token")
        }
        // Compare bytes, not characters: this runs for every push.
        let bytes = request.path.utf8
        guard request.path.hasPrefix("/3/device/") else {
            throw Refusal(.badPath, "the path is not \(collection)/TOKEN")
        }
        let text = bytes.dropFirst(collection.utf8.count + 1)
        // `contains(_:)` with an element, not a closure: a closure would check its actor for every byte.
        guard !text.contains(UInt8(ascii: "/")), !text.contains(UInt8(ascii: "?")) else {
            throw Refusal(.badPath, "the path goes on after the token")
        }
        return String(Substring(text))
    }

    private func requirePayload(of request: HTTPRequest, isAcceptableFor type: PushType) throws(Refusal) {
        let limit = type == .voip ? Self.maximumVoIPPayloadBytes : Self.maximumPayloadBytes
        guard !request.isBodyTruncated, request.body.count <= limit else {
            let size = request.isBodyTruncated ? "more than the server reads" : "\(request.body.count) bytes"
            throw Refusal(.payloadTooLarge, "the payload is \(size); \(limit) bytes are allowed")
        }
        do {
            try JSONSyntax.requireObject(request.body)
        } catch {
            // Apple has no reason for malformed JSON; senders know this one.
            throw Refusal(.payloadEmpty, "the payload is not a JSON object: \(error)")
        }
    }

    /// The app to which the device token belongs, and where it is.
    private func recipient(tokenText: String, topic: Topic) throws(Refusal) -> (AppID, PushDestination) {
        guard let token = DeviceToken(hex: tokenText) else {
            throw Refusal(.badDeviceToken, "the token is not \(DeviceToken.byteCount * 2) hex digits")
        }
        guard let record = gateway.tokens.record(for: token) else {
            if let owner = gateway.linked(TokenHash(token).hex) { return try linked(owner, token, topic) }
            throw Refusal(.badDeviceToken, "the token \(token) was never one of this device's")
        }
        guard record.environment == environment else {
            throw Refusal(
                .badDeviceToken, "the token \(token) of \(record.app) is for \(record.environment.rawValue)")
        }
        if let time = record.endedAt {
            let date = GregorianDate.utcText(milliseconds: time)
            if case .expired = record.state {
                throw Refusal(
                    .expiredToken, "the token \(token) of \(record.app) was replaced by a new one at \(date)",
                    timestamp: time)
            }
            throw Refusal(.unregistered, "the token \(token) of \(record.app) was removed at \(date)", timestamp: time)
        }
        guard record.topic == topic else {
            throw Refusal(
                .deviceTokenNotForTopic,
                "the token \(token) is for the topic \(record.topic), not \(quoted(topic.rawValue))")
        }
        guard gateway.isConfigured(record.app) else {
            throw Refusal(.serviceUnavailable, "\(record.app) has a token but no configuration now")
        }
        return (record.app, .local)
    }

    /// The app on a linked device.
    private func linked(
        _ owner: DeviceDirectory.Owner, _ token: DeviceToken, _ topic: Topic
    ) throws(Refusal) -> (AppID, PushDestination) {
        switch owner {
        case .ended(let device, let time):
            throw Refusal(
                .unregistered,
                "the token \(token) of device \(device.short) ended at \(GregorianDate.utcText(milliseconds: time))",
                timestamp: time)
        case .registered(let device, let registration):
            guard registration.environment == environment else {
                throw Refusal(
                    .badDeviceToken,
                    "the token \(token) of device \(device.short) is for \(registration.environment.rawValue)")
            }
            guard
                LinkedToken.isBound(
                    token, to: device, environment: environment, sha256: { SHA256.digest($0) })
            else {
                throw Refusal(
                    .badDeviceToken, "device \(device.short) has registered a token that wasn't made for it")
            }
            guard registration.topics.contains(topic) else {
                throw Refusal(
                    .deviceTokenNotForTopic,
                    "the token \(token) of device \(device.short) is not for the topic \(quoted(topic.rawValue))")
            }
            return (registration.app, .device(device, registration.slot))
        }
    }
}
