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

    /// Appends what ``encoded()`` says.
    package func write(to bytes: inout [UInt8]) {
        switch self {
        case .connect(let packet): packet.writePacket(to: &bytes, PacketType.connect.firstByte)
        case .connack(let packet): packet.writePacket(to: &bytes, PacketType.connack.firstByte)
        case .publish(let packet): packet.writePacket(to: &bytes, PacketType.publish.firstByte | packet.flags)
        case .puback(let packet): packet.writePacket(to: &bytes, PacketType.puback.firstByte)
        case .subscribe(let packet): packet.writePacket(to: &bytes, PacketType.subscribe.firstByte)
        case .suback(let packet): packet.writePacket(to: &bytes, PacketType.suback.firstByte)
        case .unsubscribe(let packet): packet.writePacket(to: &bytes, PacketType.unsubscribe.firstByte)
        case .unsuback(let packet): packet.writePacket(to: &bytes, PacketType.unsuback.firstByte)
        case .pingreq: bytes += [PacketType.pingreq.firstByte, 0]
        case .pingresp: bytes += [PacketType.pingresp.firstByte, 0]
        case .disconnect(let packet): packet.writePacket(to: &bytes, PacketType.disconnect.firstByte)
        case .unsupported: break
        }
    }
}

/// A packet with properties.
private protocol PacketContent {
    /// Writes all that follows the fixed header.
    func writeBody(to bytes: inout [UInt8])
    /// Writes the properties without their length.
    func writeProperties(to bytes: inout [UInt8])
}

extension PacketContent {
    fileprivate func writePacket(to bytes: inout [UInt8], _ firstByte: UInt8) {
        bytes.write(firstByte)
        bytes.writeAfterLength(writeBody)
    }

    fileprivate func writePropertyList(to bytes: inout [UInt8]) { bytes.writeAfterLength(writeProperties) }
}

extension MQTTConnect: PacketContent {
    fileprivate func writeBody(to bytes: inout [UInt8]) {
        bytes.write(MQTTConnect.protocolName)
        bytes.write(MQTTConnect.protocolVersion)
        var flags: UInt8 = 0
        if cleanStart { flags |= Flags.cleanStart }
        if hasWill { flags |= Flags.will }
        if password != nil { flags |= Flags.password }
        if userName != nil { flags |= Flags.userName }
        bytes.write(flags)
        bytes.write(keepAlive)
        writePropertyList(to: &bytes)
        bytes.write(clientID)
        if hasWill {
            // No properties, the shortest topic, and no payload.
            bytes.write(0 as UInt8)
            bytes.write("/")
            bytes.write(binary: [])
        }
        if let userName { bytes.write(userName) }
        if let password { bytes.write(binary: password) }
    }

    fileprivate func writeProperties(to bytes: inout [UInt8]) {
        bytes.write(.sessionExpiryInterval, sessionExpiryInterval)
        bytes.write(.receiveMaximum, receiveMaximum)
        bytes.write(.maximumPacketSize, maximumPacketSize)
        bytes.write(.topicAliasMaximum, topicAliasMaximum)
        if requestsResponseInformation { bytes.write(.requestResponseInformation, true) }
        if !requestsProblemInformation { bytes.write(.requestProblemInformation, false) }
        bytes.write(.authenticationMethod, authenticationMethod)
        bytes.write(.authenticationData, authenticationData)
        bytes.write(userProperties)
    }
}

extension MQTTConnack: PacketContent {
    fileprivate func writeBody(to bytes: inout [UInt8]) {
        bytes.write(sessionPresent ? 1 : 0 as UInt8)
        bytes.write(reason.rawValue)
        writePropertyList(to: &bytes)
    }

    fileprivate func writeProperties(to bytes: inout [UInt8]) {
        bytes.write(.sessionExpiryInterval, sessionExpiryInterval)
        bytes.write(.receiveMaximum, receiveMaximum)
        bytes.write(.maximumQoS, maximumQoS)
        bytes.write(.retainAvailable, retainAvailable)
        bytes.write(.maximumPacketSize, maximumPacketSize)
        bytes.write(.assignedClientID, assignedClientID)
        bytes.write(.topicAliasMaximum, topicAliasMaximum)
        bytes.write(.reasonString, reasonString)
        bytes.write(.wildcardSubscriptionAvailable, wildcardSubscriptionAvailable)
        bytes.write(.subscriptionIdentifiersAvailable, subscriptionIdentifiersAvailable)
        bytes.write(.sharedSubscriptionAvailable, sharedSubscriptionAvailable)
        bytes.write(.serverKeepAlive, serverKeepAlive)
        bytes.write(.responseInformation, responseInformation)
        bytes.write(.serverReference, serverReference)
        bytes.write(.authenticationMethod, authenticationMethod)
        bytes.write(.authenticationData, authenticationData)
        bytes.write(userProperties)
    }
}

extension MQTTPublish: PacketContent {
    fileprivate var flags: UInt8 {
        (isDuplicate ? 0b1000 : 0) | (qos & 0b11) << 1 | (isRetained ? 1 : 0)
    }

    fileprivate func writeBody(to bytes: inout [UInt8]) {
        // Our bug, and no peer can reach it: a packet that was decoded keeps to it.
        precondition((packetID != nil) == (qos > 0), "PUBLISH has a packet identifier exactly if its QoS isn't 0")
        bytes.write(topic)
        if let packetID { bytes.write(packetID) }
        writePropertyList(to: &bytes)
        bytes += payload
    }

    fileprivate func writeProperties(to bytes: inout [UInt8]) {
        bytes.write(.payloadFormatIndicator, isUTF8)
        bytes.write(.messageExpiryInterval, messageExpiryInterval)
        bytes.write(.topicAlias, topicAlias)
        bytes.write(.responseTopic, responseTopic)
        bytes.write(.correlationData, correlationData)
        for identifier in subscriptionIdentifiers { bytes.write(subscriptionIdentifier: identifier) }
        bytes.write(.contentType, contentType)
        bytes.write(userProperties)
    }
}

extension MQTTPuback: PacketContent {
    fileprivate func writeBody(to bytes: inout [UInt8]) {
        bytes.write(packetID)
        let hasProperties = reasonString != nil || !userProperties.isEmpty
        if hasProperties || reason != .success { bytes.write(reason.rawValue) }
        if hasProperties { writePropertyList(to: &bytes) }
    }

    fileprivate func writeProperties(to bytes: inout [UInt8]) {
        bytes.write(.reasonString, reasonString)
        bytes.write(userProperties)
    }
}

extension MQTTSubscribe: PacketContent {
    fileprivate func writeBody(to bytes: inout [UInt8]) {
        bytes.write(packetID)
        writePropertyList(to: &bytes)
        for filter in filters {
            bytes.write(filter.filter)
            bytes.write(filter.options)
        }
    }

    fileprivate func writeProperties(to bytes: inout [UInt8]) {
        bytes.write(subscriptionIdentifier: subscriptionIdentifier)
        bytes.write(userProperties)
    }
}

extension MQTTSubscribe.Filter {
    fileprivate var options: UInt8 {
        (retainHandling & 0b11) << 4 | (retainAsPublished ? 0b1000 : 0) | (noLocal ? 0b100 : 0) | maximumQoS & 0b11
    }
}

extension MQTTSuback: PacketContent {
    fileprivate func writeBody(to bytes: inout [UInt8]) {
        bytes.write(packetID)
        writePropertyList(to: &bytes)
        for reason in reasons { bytes.write(reason.rawValue) }
    }

    fileprivate func writeProperties(to bytes: inout [UInt8]) {
        bytes.write(.reasonString, reasonString)
        bytes.write(userProperties)
    }
}

extension MQTTUnsubscribe: PacketContent {
    fileprivate func writeBody(to bytes: inout [UInt8]) {
        bytes.write(packetID)
        writePropertyList(to: &bytes)
        for filter in filters { bytes.write(filter) }
    }

    fileprivate func writeProperties(to bytes: inout [UInt8]) {
        bytes.write(userProperties)
    }
}

extension MQTTUnsuback: PacketContent {
    fileprivate func writeBody(to bytes: inout [UInt8]) {
        bytes.write(packetID)
        writePropertyList(to: &bytes)
        for reason in reasons { bytes.write(reason.rawValue) }
    }

    fileprivate func writeProperties(to bytes: inout [UInt8]) {
        bytes.write(.reasonString, reasonString)
        bytes.write(userProperties)
    }
}

extension MQTTDisconnect: PacketContent {
    fileprivate func writeBody(to bytes: inout [UInt8]) {
        let hasProperties =
            sessionExpiryInterval != nil || reasonString != nil || serverReference != nil
            || !userProperties.isEmpty
        if hasProperties || reason != .success { bytes.write(reason.rawValue) }
        if hasProperties { writePropertyList(to: &bytes) }
    }

    fileprivate func writeProperties(to bytes: inout [UInt8]) {
        bytes.write(.sessionExpiryInterval, sessionExpiryInterval)
        bytes.write(.reasonString, reasonString)
        bytes.write(.serverReference, serverReference)
        bytes.write(userProperties)
    }
}
