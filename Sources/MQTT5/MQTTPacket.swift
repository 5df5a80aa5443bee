/// A control packet of MQTT 5.0, as far as a strict peer needs it (OASIS MQTT 5.0, section 3).
///
/// ``MQTTDecoder`` makes them from bytes, ``MQTTPacket/encoded()`` makes bytes. Both ends use the same types. What a
/// server doesn't want (QoS 2, retained messages, wildcards) decodes like everything else: the server decides and answers
/// with the right reason code.
package enum MQTTPacket: Hashable, Sendable {
    case connect(MQTTConnect)
    case connack(MQTTConnack)
    case publish(MQTTPublish)
    case puback(MQTTPuback)
    case subscribe(MQTTSubscribe)
    case suback(MQTTSuback)
    case unsubscribe(MQTTUnsubscribe)
    case unsuback(MQTTUnsuback)
    case pingreq
    case pingresp
    case disconnect(MQTTDisconnect)
    /// PUBREC, PUBREL, PUBCOMP or AUTH, of which nothing more is read.
    case unsupported(type: UInt8)
}

/// A user property: a name and a value (section 1.5.7). The same name may occur several times.
package struct MQTTUserProperty: Hashable, Sendable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// CONNECT (section 3.1).
package struct MQTTConnect: Hashable, Sendable {
    package var clientID: String
    package var cleanStart: Bool = true
    /// Seconds; 0 turns it off.
    package var keepAlive: UInt16 = 0
    /// Whether there is a will. Its contents are read over.
    package var hasWill: Bool = false
    package var userName: String?
    package var password: [UInt8]?
    /// Seconds; nil if the property is absent (0).
    package var sessionExpiryInterval: UInt32?
    /// Nil if absent (65,535); never 0.
    package var receiveMaximum: UInt16?
    /// Bytes; nil if absent (no limit); never 0.
    package var maximumPacketSize: UInt32?
    package var topicAliasMaximum: UInt16?
    package var requestsResponseInformation: Bool = false
    /// Request Problem Information; false: no reason strings outside CONNACK, PUBLISH and DISCONNECT.
    package var requestsProblemInformation: Bool = true
    package var authenticationMethod: String?
    package var authenticationData: [UInt8]?
    package var userProperties: [MQTTUserProperty] = []

    package init(clientID: String) {
        self.clientID = clientID
    }
}

/// CONNACK (section 3.2).
package struct MQTTConnack: Hashable, Sendable {
    package var sessionPresent: Bool = false
    package var reason: MQTTReason
    package var sessionExpiryInterval: UInt32?
    package var receiveMaximum: UInt16?
    /// 0 or 1; nil if absent (2).
    package var maximumQoS: UInt8?
    package var retainAvailable: Bool?
    package var maximumPacketSize: UInt32?
    package var assignedClientID: String?
    package var topicAliasMaximum: UInt16?
    package var reasonString: String?
    package var wildcardSubscriptionAvailable: Bool?
    package var subscriptionIdentifiersAvailable: Bool?
    package var sharedSubscriptionAvailable: Bool?
    /// Seconds.
    package var serverKeepAlive: UInt16?
    package var responseInformation: String?
    package var serverReference: String?
    package var authenticationMethod: String?
    package var authenticationData: [UInt8]?
    package var userProperties: [MQTTUserProperty] = []

    package init(_ reason: MQTTReason) {
        self.reason = reason
    }
}

/// PUBLISH (section 3.3).
package struct MQTTPublish: Hashable, Sendable {
    package var topic: String
    /// 0, 1 or 2.
    package var qos: UInt8 = 1
    package var isDuplicate: Bool = false
    package var isRetained: Bool = false
    /// Nil at QoS 0; never 0.
    package var packetID: UInt16?
    package var payload: [UInt8]
    /// Payload Format Indicator 1: the payload is UTF-8. Nil if the property is absent.
    package var isUTF8: Bool?
    /// Seconds.
    package var messageExpiryInterval: UInt32?
    package var topicAlias: UInt16?
    package var responseTopic: String?
    package var correlationData: [UInt8]?
    package var subscriptionIdentifiers: [UInt32] = []
    package var contentType: String?
    package var userProperties: [MQTTUserProperty] = []

    package init(topic: String, packetID: UInt16?, payload: [UInt8]) {
        self.topic = topic
        self.packetID = packetID
        self.payload = payload
    }
}

/// PUBACK (section 3.4).
package struct MQTTPuback: Hashable, Sendable {
    package var packetID: UInt16
    package var reason: MQTTReason = .success
    package var reasonString: String?
    package var userProperties: [MQTTUserProperty] = []

    package init(packetID: UInt16, reason: MQTTReason = .success, reasonString: String? = nil) {
        self.packetID = packetID
        self.reason = reason
        self.reasonString = reasonString
    }
}

/// SUBSCRIBE (section 3.8).
package struct MQTTSubscribe: Hashable, Sendable {
    package struct Filter: Hashable, Sendable {
        package var filter: String
        package var maximumQoS: UInt8 = 1
        package var noLocal: Bool = false
        package var retainAsPublished: Bool = false
        /// 0, 1 or 2.
        package var retainHandling: UInt8 = 0

        package init(_ filter: String, maximumQoS: UInt8 = 1) {
            self.filter = filter
            self.maximumQoS = maximumQoS
        }
    }

    package var packetID: UInt16
    /// Never 0.
    package var subscriptionIdentifier: UInt32?
    package var userProperties: [MQTTUserProperty] = []
    /// At least one.
    package var filters: [Filter]

    package init(packetID: UInt16, filters: [Filter]) {
        self.packetID = packetID
        self.filters = filters
    }
}

/// SUBACK (section 3.9): a reason for each filter.
package struct MQTTSuback: Hashable, Sendable {
    package var packetID: UInt16
    package var reasons: [MQTTReason]
    package var reasonString: String?
    package var userProperties: [MQTTUserProperty] = []

    package init(packetID: UInt16, reasons: [MQTTReason], reasonString: String? = nil) {
        self.packetID = packetID
        self.reasons = reasons
        self.reasonString = reasonString
    }
}

/// UNSUBSCRIBE (section 3.10).
package struct MQTTUnsubscribe: Hashable, Sendable {
    package var packetID: UInt16
    /// At least one.
    package var filters: [String]
    package var userProperties: [MQTTUserProperty] = []

    package init(packetID: UInt16, filters: [String]) {
        self.packetID = packetID
        self.filters = filters
    }
}

/// UNSUBACK (section 3.11): a reason for each filter.
package struct MQTTUnsuback: Hashable, Sendable {
    package var packetID: UInt16
    package var reasons: [MQTTReason]
    package var reasonString: String?
    package var userProperties: [MQTTUserProperty] = []

    package init(packetID: UInt16, reasons: [MQTTReason]) {
        self.packetID = packetID
        self.reasons = reasons
    }
}

/// DISCONNECT (section 3.14).
package struct MQTTDisconnect: Hashable, Sendable {
    package var reason: MQTTReason = .success
    /// Seconds.
    package var sessionExpiryInterval: UInt32?
    package var reasonString: String?
    package var serverReference: String?
    package var userProperties: [MQTTUserProperty] = []

    package init(_ reason: MQTTReason = .success, reasonString: String? = nil) {
        self.reason = reason
        self.reasonString = reasonString
    }
}
