/// A reason code (section 2.4). Codes below 0x80 are successes. Codes that this version doesn't know are kept.
package struct MQTTReason: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// 0x00, also "Normal disconnection" and "Granted QoS 0".
    package static let success = MQTTReason(rawValue: 0x00)
    package static let grantedQoS1 = MQTTReason(rawValue: 0x01)
    /// Of UNSUBACK.
    package static let noSubscriptionExisted = MQTTReason(rawValue: 0x11)
    package static let unspecifiedError = MQTTReason(rawValue: 0x80)
    package static let malformedPacket = MQTTReason(rawValue: 0x81)
    package static let protocolError = MQTTReason(rawValue: 0x82)
    package static let implementationSpecificError = MQTTReason(rawValue: 0x83)
    package static let unsupportedProtocolVersion = MQTTReason(rawValue: 0x84)
    package static let clientIDNotValid = MQTTReason(rawValue: 0x85)
    package static let notAuthorized = MQTTReason(rawValue: 0x87)
    package static let serverUnavailable = MQTTReason(rawValue: 0x88)
    package static let serverBusy = MQTTReason(rawValue: 0x89)
    package static let serverShuttingDown = MQTTReason(rawValue: 0x8B)
    package static let badAuthenticationMethod = MQTTReason(rawValue: 0x8C)
    package static let keepAliveTimeout = MQTTReason(rawValue: 0x8D)
    package static let sessionTakenOver = MQTTReason(rawValue: 0x8E)
    package static let topicFilterInvalid = MQTTReason(rawValue: 0x8F)
    package static let topicNameInvalid = MQTTReason(rawValue: 0x90)
    package static let receiveMaximumExceeded = MQTTReason(rawValue: 0x93)
    package static let topicAliasInvalid = MQTTReason(rawValue: 0x94)
    package static let packetTooLarge = MQTTReason(rawValue: 0x95)
    package static let messageRateTooHigh = MQTTReason(rawValue: 0x96)
    package static let quotaExceeded = MQTTReason(rawValue: 0x97)
    package static let administrativeAction = MQTTReason(rawValue: 0x98)
    package static let payloadFormatInvalid = MQTTReason(rawValue: 0x99)
    package static let retainNotSupported = MQTTReason(rawValue: 0x9A)
    package static let qosNotSupported = MQTTReason(rawValue: 0x9B)
    package static let useAnotherServer = MQTTReason(rawValue: 0x9C)
    package static let serverMoved = MQTTReason(rawValue: 0x9D)
    package static let sharedSubscriptionsNotSupported = MQTTReason(rawValue: 0x9E)
    package static let connectionRateExceeded = MQTTReason(rawValue: 0x9F)
    package static let subscriptionIdentifiersNotSupported = MQTTReason(rawValue: 0xA1)
    package static let wildcardSubscriptionsNotSupported = MQTTReason(rawValue: 0xA2)

    package var isError: Bool { rawValue >= 0x80 }
}
