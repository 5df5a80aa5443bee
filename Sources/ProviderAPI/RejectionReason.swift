/// Why a push was refused, as APNs names it. Clients look these strings up, so there are none of our own.
///
/// See "Handling notification responses from APNs", table 1 and 2.
package enum RejectionReason: String, Sendable, Codable, CaseIterable, Error {
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"

    /// The HTTP status of the reason.
    package var status: Int {
        switch self {
        case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
            .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
            .missingTopic, .payloadEmpty, .topicDisallowed:
            400
        case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden, .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyIDInToken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        }
    }

    /// What the sender can do, as one line for people.
    package var hint: String {
        switch self {
        case .badCollapseID: "apns-collapse-id may have at most 64 bytes"
        case .badDeviceToken:
            "the token is not one of this device's for this environment; ask 'ringwake app show' for the right one"
        case .badExpirationDate: "apns-expiration is a whole number of seconds since 1970, or 0"
        case .badMessageID: "apns-id is a UUID of the form 8-4-4-4-12"
        case .badPriority: "apns-priority is 10, 5 or 1"
        case .badTopic: "the topic is not well formed; for VoIP it is the bundle id and '.voip'"
        case .deviceTokenNotForTopic: "the token belongs to another app; send its own topic, or that app's token"
        case .duplicateHeaders: "an apns- header is there more than once"
        case .idleTimeout: "the request stopped half-way; send it again"
        case .invalidPushType: "apns-push-type has to be 'voip' for a topic that ends in '.voip'"
        case .missingDeviceToken: "the path is /3/device/TOKEN; the token is missing"
        case .missingTopic: "send apns-topic (a certificate for one topic alone may leave it out)"
        case .payloadEmpty: "the body has to be a JSON object; this one is empty or something else"
        case .topicDisallowed: "the certificate does not cover this topic; 'ringwake certs show' lists what it covers"
        case .badCertificate:
            "the certificate has expired, no configured provider CA issued it, or its team is not configured; see "
                + "'ringwake certs show'"
        case .badCertificateEnvironment: "the certificate is for the other environment; use the other listener"
        case .expiredProviderToken:
            "the provider token is older than an hour; sign a new one (and check this machine's clock)"
        case .forbidden: "the receiver's configuration does not let this team send to this topic"
        case .invalidProviderToken: "the receiver knows no such key of this team, or the signature is wrong"
        case .missingProviderToken: "send a provider token ('authorization: bearer ...') or use a provider certificate"
        case .unrelatedKeyIDInToken: "a connection keeps to the keys of one team; open another for this key"
        case .badPath: "the path is /3/device/TOKEN"
        case .methodNotAllowed: "the method is POST"
        case .expiredToken: "the app has a new device token in place of this one; ask the device for it"
        case .unregistered: "the app was removed from the device; stop sending to this token"
        case .payloadTooLarge: "a VoIP payload has at most 5120 bytes, any other 4096"
        case .tooManyProviderTokenUpdates:
            "the connection brought too many new provider tokens; make one every 20 to 60 minutes, for all pushes"
        case .tooManyRequests: "too many calls of this app are active, or its token starts them too fast; send later"
        case .internalServerError: "the receiver failed; its log says why under this apns-id"
        case .serviceUnavailable: "the receiver cannot take pushes now; its log says why; send again later"
        case .shutdown: "the receiver is stopping; connect again"
        }
    }
}
