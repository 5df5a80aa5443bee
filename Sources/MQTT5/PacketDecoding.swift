extension MQTTPacket {
    /// Reads what follows the fixed header.
    init(_ type: PacketType, flags: UInt8, _ reader: inout PacketReader) throws(MQTTError) {
        switch type {
        case .connect: self = .connect(try MQTTConnect(&reader))
        case .connack: self = .connack(try MQTTConnack(&reader))
        case .publish: self = .publish(try MQTTPublish(&reader, flags: flags))
        case .puback: self = .puback(try MQTTPuback(&reader))
        case .subscribe: self = .subscribe(try MQTTSubscribe(&reader))
        case .suback: self = .suback(try MQTTSuback(&reader))
        case .unsubscribe: self = .unsubscribe(try MQTTUnsubscribe(&reader))
        case .unsuback: self = .unsuback(try MQTTUnsuback(&reader))
        case .pingreq: self = .pingreq
        case .pingresp: self = .pingresp
        case .disconnect: self = .disconnect(try MQTTDisconnect(&reader))
        case .pubrec, .pubrel, .pubcomp, .auth:
            self = .unsupported(type: type.rawValue)
            return
        }
        try reader.finish()
    }
}

extension MQTTPublish {
    init(_ reader: inout PacketReader, flags: UInt8) throws(MQTTError) {
        self.init(topic: "", packetID: nil, payload: [])
        qos = flags >> 1 & 0b11
        isDuplicate = flags & 0b1000 != 0
        isRetained = flags & 0b0001 != 0
        guard qos < 3 else { throw .malformed("PUBLISH has QoS 3") }
        guard qos > 0 || !isDuplicate else { throw .malformed("PUBLISH of QoS 0 is marked as a duplicate") }
        topic = try reader.string()
        try TopicRules.check(name: topic, in: .publish)
        if qos > 0 { packetID = try reader.packetID() }
        try readProperties(try reader.properties())
        guard !topic.isEmpty || topicAlias != nil else {
            throw .protocolError("PUBLISH has neither a topic name nor a topic alias")
        }
        payload = reader.rest()
    }

    private mutating func readProperties(_ list: consuming PropertyReader) throws(MQTTError) {
        while let property = try list.next(repeatable: .subscriptionIdentifier) {
            switch property {
            case .payloadFormatIndicator: isUTF8 = try list.boolean(property)
            case .messageExpiryInterval: messageExpiryInterval = try list.uint32()
            case .topicAlias:
                let alias = try list.uint16()
                guard alias > 0 else { throw MQTTError(reason: .topicAliasInvalid, text: "the topic alias is 0") }
                topicAlias = alias
            case .responseTopic: responseTopic = try list.topicName()
            case .correlationData: correlationData = try list.binary()
            case .userProperty: userProperties.append(try list.userProperty())
            case .subscriptionIdentifier: subscriptionIdentifiers.append(try list.subscriptionIdentifier())
            case .contentType: contentType = try list.string()
            default: throw list.isMisplaced(property)
            }
        }
    }
}

extension MQTTPuback {
    init(_ reader: inout PacketReader) throws(MQTTError) {
        self.init(packetID: try reader.packetID())
        // Both may be left out, the properties alone or with the reason (sections 3.4.2.1 and 3.4.2.2).
        if reader.count > 0 { reason = try reader.reason() }
        if reader.count > 0 { try readAcknowledgement(&reader, &reasonString, &userProperties) }
    }
}

extension MQTTSubscribe {
    init(_ reader: inout PacketReader) throws(MQTTError) {
        self.init(packetID: try reader.packetID(), filters: [])
        var list = try reader.properties()
        while let property = try list.next() {
            switch property {
            case .subscriptionIdentifier: subscriptionIdentifier = try list.subscriptionIdentifier()
            case .userProperty: userProperties.append(try list.userProperty())
            default: throw list.isMisplaced(property)
            }
        }
        while reader.count > 0 { filters.append(try Filter(&reader)) }
        guard !filters.isEmpty else { throw .protocolError("SUBSCRIBE has no topic filter") }
    }
}

extension MQTTSubscribe.Filter {
    /// A filter and its options (section 3.8.3.1).
    init(_ reader: inout PacketReader) throws(MQTTError) {
        self.init(try reader.topicFilter())
        let options = try reader.byte()
        guard options & 0b1100_0000 == 0 else { throw .malformed("SUBSCRIBE has reserved subscription options") }
        maximumQoS = options & 0b11
        noLocal = options & 0b100 != 0
        retainAsPublished = options & 0b1000 != 0
        retainHandling = options >> 4
        guard maximumQoS < 3 else { throw .protocolError("SUBSCRIBE has the maximum QoS 3") }
        guard retainHandling < 3 else { throw .protocolError("SUBSCRIBE has the retain handling 3") }
        guard !noLocal || !TopicRules.isShared(filter) else {
            throw .protocolError("SUBSCRIBE has No Local on a shared subscription")
        }
    }
}

extension MQTTSuback {
    init(_ reader: inout PacketReader) throws(MQTTError) {
        self.init(packetID: try reader.packetID(), reasons: [])
        try readAcknowledgement(&reader, &reasonString, &userProperties)
        reasons = try readReasons(&reader)
    }
}

extension MQTTUnsubscribe {
    init(_ reader: inout PacketReader) throws(MQTTError) {
        self.init(packetID: try reader.packetID(), filters: [])
        var list = try reader.properties()
        while let property = try list.next() {
            guard property == .userProperty else { throw list.isMisplaced(property) }
            userProperties.append(try list.userProperty())
        }
        while reader.count > 0 { filters.append(try reader.topicFilter()) }
        guard !filters.isEmpty else { throw .protocolError("UNSUBSCRIBE has no topic filter") }
    }
}

extension MQTTUnsuback {
    init(_ reader: inout PacketReader) throws(MQTTError) {
        self.init(packetID: try reader.packetID(), reasons: [])
        try readAcknowledgement(&reader, &reasonString, &userProperties)
        reasons = try readReasons(&reader)
    }
}

extension MQTTDisconnect {
    init(_ reader: inout PacketReader) throws(MQTTError) {
        self.init()
        // Both may be left out, the properties alone or with the reason (sections 3.14.2.1 and 3.14.2.2).
        if reader.count > 0 { reason = try reader.reason() }
        guard reader.count > 0 else { return }
        var list = try reader.properties()
        while let property = try list.next() {
            switch property {
            case .sessionExpiryInterval: sessionExpiryInterval = try list.uint32()
            case .reasonString: reasonString = try list.string()
            case .serverReference: serverReference = try list.string()
            case .userProperty: userProperties.append(try list.userProperty())
            default: throw list.isMisplaced(property)
            }
        }
    }
}

/// Reads the properties of PUBACK, SUBACK and UNSUBACK.
private func readAcknowledgement(
    _ reader: inout PacketReader, _ reasonString: inout String?, _ userProperties: inout [MQTTUserProperty]
) throws(MQTTError) {
    var list = try reader.properties()
    while let property = try list.next() {
        switch property {
        case .reasonString: reasonString = try list.string()
        case .userProperty: userProperties.append(try list.userProperty())
        default: throw list.isMisplaced(property)
        }
    }
}

/// Reads a reason for each filter. A request has at least one filter, so an answer has at least one reason.
private func readReasons(_ reader: inout PacketReader) throws(MQTTError) -> [MQTTReason] {
    guard reader.count > 0 else { throw .protocolError("\(reader.name) has no reason code") }
    return reader.rest().map(MQTTReason.init(rawValue:))
}
