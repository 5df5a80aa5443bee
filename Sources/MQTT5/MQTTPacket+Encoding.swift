extension MQTTPacket {
    /// Maximum bytes of a string, a user name, a password and of other fields with a length of their own. PUBLISH's
    /// payload has none.
    package static let maximumFieldBytes = 65_535

    /// The packet's bytes; none for ``unsupported(type:)``.
    ///
    /// Fields must have the values that their comments allow; then a decoder reads an equal packet. A will's contents
    /// aren't known, so a CONNECT that has one is written with a placeholder.
    ///
    /// - Precondition: no string has more than ``maximumFieldBytes``, the packet no more than 268,435,455 bytes, and
    ///   PUBLISH has a packet identifier exactly if its QoS isn't 0.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    /// Number of bytes of ``encoded()``, found without writing them. A packet that is longer than the peer's Maximum
    /// Packet Size must not be sent.
    package var encodedByteCount: Int {
        var counter = ByteCounter()
        write(to: &counter)
        return counter.count
    }

    private func write(to sink: inout some ByteSink) {
        switch self {
        case .connect(let packet): packet.writePacket(to: &sink, PacketType.connect.firstByte)
        case .connack(let packet): packet.writePacket(to: &sink, PacketType.connack.firstByte)
        case .publish(let packet): packet.writePacket(to: &sink, PacketType.publish.firstByte | packet.flags)
        case .puback(let packet): packet.writePacket(to: &sink, PacketType.puback.firstByte)
        case .subscribe(let packet): packet.writePacket(to: &sink, PacketType.subscribe.firstByte)
        case .suback(let packet): packet.writePacket(to: &sink, PacketType.suback.firstByte)
        case .unsubscribe(let packet): packet.writePacket(to: &sink, PacketType.unsubscribe.firstByte)
        case .unsuback(let packet): packet.writePacket(to: &sink, PacketType.unsuback.firstByte)
        case .pingreq: sink.write(contentsOf: [PacketType.pingreq.firstByte, 0])
        case .pingresp: sink.write(contentsOf: [PacketType.pingresp.firstByte, 0])
        case .disconnect(let packet): packet.writePacket(to: &sink, PacketType.disconnect.firstByte)
        case .unsupported: break
        }
    }
}

/// A packet with properties.
private protocol PacketContent {
    /// Writes all that follows the fixed header.
    func writeBody(to sink: inout some ByteSink)
    /// Writes the properties without their length.
    func writeProperties(to sink: inout some ByteSink)
}

extension PacketContent {
    fileprivate func writePacket(to sink: inout some ByteSink, _ firstByte: UInt8) {
        var counter = ByteCounter()
        writeBody(to: &counter)
        sink.reserve(1 + VariableByteInteger.byteCount(counter.count) + counter.count)
        sink.write(firstByte)
        sink.write(variableByteInteger: counter.count)
        writeBody(to: &sink)
    }

    fileprivate var propertyByteCount: Int {
        var counter = ByteCounter()
        writeProperties(to: &counter)
        return counter.count
    }

    fileprivate func writePropertyList(to sink: inout some ByteSink) {
        sink.write(variableByteInteger: propertyByteCount)
        writeProperties(to: &sink)
    }
}

extension MQTTConnect: PacketContent {
    fileprivate func writeBody(to sink: inout some ByteSink) {
        sink.write(MQTTConnect.protocolName)
        sink.write(MQTTConnect.protocolVersion)
        var flags: UInt8 = 0
        if cleanStart { flags |= Flags.cleanStart }
        if hasWill { flags |= Flags.will }
        if password != nil { flags |= Flags.password }
        if userName != nil { flags |= Flags.userName }
        sink.write(flags)
        sink.write(keepAlive)
        writePropertyList(to: &sink)
        sink.write(clientID)
        if hasWill {
            // No properties, the shortest topic, and no payload.
            sink.write(0 as UInt8)
            sink.write("/")
            sink.write(binary: [])
        }
        if let userName { sink.write(userName) }
        if let password { sink.write(binary: password) }
    }

    fileprivate func writeProperties(to sink: inout some ByteSink) {
        sink.write(.sessionExpiryInterval, sessionExpiryInterval)
        sink.write(.receiveMaximum, receiveMaximum)
        sink.write(.maximumPacketSize, maximumPacketSize)
        sink.write(.topicAliasMaximum, topicAliasMaximum)
        if requestsResponseInformation { sink.write(.requestResponseInformation, true) }
        if !requestsProblemInformation { sink.write(.requestProblemInformation, false) }
        sink.write(.authenticationMethod, authenticationMethod)
        sink.write(.authenticationData, authenticationData)
        sink.write(userProperties)
    }
}

extension MQTTConnack: PacketContent {
    fileprivate func writeBody(to sink: inout some ByteSink) {
        sink.write(sessionPresent ? 1 : 0 as UInt8)
        sink.write(reason.rawValue)
        writePropertyList(to: &sink)
    }

    fileprivate func writeProperties(to sink: inout some ByteSink) {
        sink.write(.sessionExpiryInterval, sessionExpiryInterval)
        sink.write(.receiveMaximum, receiveMaximum)
        sink.write(.maximumQoS, maximumQoS)
        sink.write(.retainAvailable, retainAvailable)
        sink.write(.maximumPacketSize, maximumPacketSize)
        sink.write(.assignedClientID, assignedClientID)
        sink.write(.topicAliasMaximum, topicAliasMaximum)
        sink.write(.reasonString, reasonString)
        sink.write(.wildcardSubscriptionAvailable, wildcardSubscriptionAvailable)
        sink.write(.subscriptionIdentifiersAvailable, subscriptionIdentifiersAvailable)
        sink.write(.sharedSubscriptionAvailable, sharedSubscriptionAvailable)
        sink.write(.serverKeepAlive, serverKeepAlive)
        sink.write(.responseInformation, responseInformation)
        sink.write(.serverReference, serverReference)
        sink.write(.authenticationMethod, authenticationMethod)
        sink.write(.authenticationData, authenticationData)
        sink.write(userProperties)
    }
}

extension MQTTPublish: PacketContent {
    fileprivate var flags: UInt8 {
        (isDuplicate ? 0b1000 : 0) | (qos & 0b11) << 1 | (isRetained ? 1 : 0)
    }

    fileprivate func writeBody(to sink: inout some ByteSink) {
        // Our bug, and no peer can reach it: a packet that was decoded keeps to it.
        precondition((packetID != nil) == (qos > 0), "PUBLISH has a packet identifier exactly if its QoS isn't 0")
        sink.write(topic)
        if let packetID { sink.write(packetID) }
        writePropertyList(to: &sink)
        sink.write(contentsOf: payload)
    }

    fileprivate func writeProperties(to sink: inout some ByteSink) {
        sink.write(.payloadFormatIndicator, isUTF8)
        sink.write(.messageExpiryInterval, messageExpiryInterval)
        sink.write(.topicAlias, topicAlias)
        sink.write(.responseTopic, responseTopic)
        sink.write(.correlationData, correlationData)
        for identifier in subscriptionIdentifiers { sink.write(subscriptionIdentifier: identifier) }
        sink.write(.contentType, contentType)
        sink.write(userProperties)
    }
}

extension MQTTPuback: PacketContent {
    fileprivate func writeBody(to sink: inout some ByteSink) {
        sink.write(packetID)
        let hasProperties = propertyByteCount > 0
        if hasProperties || reason != .success { sink.write(reason.rawValue) }
        if hasProperties { writePropertyList(to: &sink) }
    }

    fileprivate func writeProperties(to sink: inout some ByteSink) {
        sink.write(.reasonString, reasonString)
        sink.write(userProperties)
    }
}

extension MQTTSubscribe: PacketContent {
    fileprivate func writeBody(to sink: inout some ByteSink) {
        sink.write(packetID)
        writePropertyList(to: &sink)
        for filter in filters {
            sink.write(filter.filter)
            sink.write(filter.options)
        }
    }

    fileprivate func writeProperties(to sink: inout some ByteSink) {
        sink.write(subscriptionIdentifier: subscriptionIdentifier)
        sink.write(userProperties)
    }
}

extension MQTTSubscribe.Filter {
    fileprivate var options: UInt8 {
        (retainHandling & 0b11) << 4 | (retainAsPublished ? 0b1000 : 0) | (noLocal ? 0b100 : 0) | maximumQoS & 0b11
    }
}

extension MQTTSuback: PacketContent {
    fileprivate func writeBody(to sink: inout some ByteSink) {
        sink.write(packetID)
        writePropertyList(to: &sink)
        for reason in reasons { sink.write(reason.rawValue) }
    }

    fileprivate func writeProperties(to sink: inout some ByteSink) {
        sink.write(.reasonString, reasonString)
        sink.write(userProperties)
    }
}

extension MQTTUnsubscribe: PacketContent {
    fileprivate func writeBody(to sink: inout some ByteSink) {
        sink.write(packetID)
        writePropertyList(to: &sink)
        for filter in filters { sink.write(filter) }
    }

    fileprivate func writeProperties(to sink: inout some ByteSink) {
        sink.write(userProperties)
    }
}

extension MQTTUnsuback: PacketContent {
    fileprivate func writeBody(to sink: inout some ByteSink) {
        sink.write(packetID)
        writePropertyList(to: &sink)
        for reason in reasons { sink.write(reason.rawValue) }
    }

    fileprivate func writeProperties(to sink: inout some ByteSink) {
        sink.write(.reasonString, reasonString)
        sink.write(userProperties)
    }
}

extension MQTTDisconnect: PacketContent {
    fileprivate func writeBody(to sink: inout some ByteSink) {
        let hasProperties = propertyByteCount > 0
        if hasProperties || reason != .success { sink.write(reason.rawValue) }
        if hasProperties { writePropertyList(to: &sink) }
    }

    fileprivate func writeProperties(to sink: inout some ByteSink) {
        sink.write(.sessionExpiryInterval, sessionExpiryInterval)
        sink.write(.reasonString, reasonString)
        sink.write(.serverReference, serverReference)
        sink.write(userProperties)
    }
}
