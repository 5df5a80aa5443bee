extension MQTTConnect {
    /// Connect Flags (section 3.1.2.3).
    enum Flags {
        static let reserved: UInt8 = 0b0000_0001
        static let cleanStart: UInt8 = 0b0000_0010
        static let will: UInt8 = 0b0000_0100
        static let willQoS: UInt8 = 0b0001_1000
        static let willRetain: UInt8 = 0b0010_0000
        static let password: UInt8 = 0b0100_0000
        static let userName: UInt8 = 0b1000_0000
    }

    static let protocolName = "MQTT"
    static let protocolVersion: UInt8 = 5
    /// The protocol name of MQTT 3.1.
    private static let oldProtocolName = "MQIsdp"

    init(_ reader: inout PacketReader) throws(MQTTError) {
        try MQTTConnect.readProtocol(&reader)
        let flags = try MQTTConnect.readFlags(&reader)
        self.init(clientID: "")
        cleanStart = flags & Flags.cleanStart != 0
        hasWill = flags & Flags.will != 0
        keepAlive = try reader.uint16()
        try readProperties(try reader.properties())
        clientID = try reader.string()
        if hasWill { try MQTTConnect.readOverWill(&reader) }
        if flags & Flags.userName != 0 { userName = try reader.string() }
        if flags & Flags.password != 0 { password = try reader.binary() }
    }

    private static func readProtocol(_ reader: inout PacketReader) throws(MQTTError) {
        let name = try reader.string()
        guard name == protocolName || name == oldProtocolName else {
            throw .malformed("CONNECT has a protocol name that isn't \(protocolName)")
        }
        let version = try reader.byte()
        guard name == protocolName, version == protocolVersion else {
            throw MQTTError(
                reason: .unsupportedProtocolVersion,
                text: "CONNECT has protocol version \(version); only MQTT 5.0 is supported")
        }
    }

    private static func readFlags(_ reader: inout PacketReader) throws(MQTTError) -> UInt8 {
        let flags = try reader.byte()
        guard flags & Flags.reserved == 0 else { throw .malformed("CONNECT has the reserved connect flag") }
        guard flags & Flags.willQoS != Flags.willQoS else { throw .malformed("CONNECT has a will of QoS 3") }
        guard flags & Flags.will != 0 || flags & (Flags.willQoS | Flags.willRetain) == 0 else {
            throw .malformed("CONNECT has flags of a will, but no will")
        }
        return flags
    }

    private mutating func readProperties(_ list: consuming PropertyReader) throws(MQTTError) {
        while let property = try list.next() {
            switch property {
            case .sessionExpiryInterval: sessionExpiryInterval = try list.uint32()
            case .receiveMaximum: receiveMaximum = try list.positiveUInt16(property)
            case .maximumPacketSize: maximumPacketSize = try list.positiveUInt32(property)
            case .topicAliasMaximum: topicAliasMaximum = try list.uint16()
            case .requestResponseInformation: requestsResponseInformation = try list.boolean(property)
            case .requestProblemInformation: requestsProblemInformation = try list.boolean(property)
            case .authenticationMethod: authenticationMethod = try list.string()
            case .authenticationData: authenticationData = try list.binary()
            case .userProperty: userProperties.append(try list.userProperty())
            default: throw list.isMisplaced(property)
            }
        }
        try checkAuthentication(authenticationMethod, authenticationData, in: .connect)
    }

    /// Reads the will's properties, topic and payload (sections 3.1.3.2 to 3.1.3.4), and checks them.
    private static func readOverWill(_ reader: inout PacketReader) throws(MQTTError) {
        var list = try reader.properties()
        while let property = try list.next() {
            switch property {
            case .willDelayInterval, .messageExpiryInterval: _ = try list.uint32()
            case .payloadFormatIndicator: _ = try list.boolean(property)
            case .contentType: _ = try list.string()
            case .responseTopic: _ = try list.topicName()
            case .correlationData: _ = try list.binary()
            case .userProperty: _ = try list.userProperty()
            default: throw list.isMisplaced(property, in: "a will")
            }
        }
        _ = try reader.topicName()
        _ = try reader.binary()
    }
}

extension MQTTConnack {
    init(_ reader: inout PacketReader) throws(MQTTError) {
        let flags = try reader.byte()
        guard flags <= 1 else { throw .malformed("CONNACK has reserved acknowledge flags") }
        self.init(try reader.reason())
        sessionPresent = flags == 1
        guard !sessionPresent || !reason.isError else {
            throw .protocolError("CONNACK refuses the connection, and says that there is a session")
        }
        try readProperties(try reader.properties())
    }

    private mutating func readProperties(_ list: consuming PropertyReader) throws(MQTTError) {
        while let property = try list.next() {
            switch property {
            case .sessionExpiryInterval: sessionExpiryInterval = try list.uint32()
            case .receiveMaximum: receiveMaximum = try list.positiveUInt16(property)
            case .maximumQoS: maximumQoS = try list.bit(property)
            case .retainAvailable: retainAvailable = try list.boolean(property)
            case .maximumPacketSize: maximumPacketSize = try list.positiveUInt32(property)
            case .assignedClientID: assignedClientID = try list.string()
            case .topicAliasMaximum: topicAliasMaximum = try list.uint16()
            case .reasonString: reasonString = try list.string()
            case .wildcardSubscriptionAvailable: wildcardSubscriptionAvailable = try list.boolean(property)
            case .subscriptionIdentifiersAvailable: subscriptionIdentifiersAvailable = try list.boolean(property)
            case .sharedSubscriptionAvailable: sharedSubscriptionAvailable = try list.boolean(property)
            case .serverKeepAlive: serverKeepAlive = try list.uint16()
            case .responseInformation: responseInformation = try list.string()
            case .serverReference: serverReference = try list.string()
            case .authenticationMethod: authenticationMethod = try list.string()
            case .authenticationData: authenticationData = try list.binary()
            case .userProperty: userProperties.append(try list.userProperty())
            default: throw list.isMisplaced(property)
            }
        }
        try checkAuthentication(authenticationMethod, authenticationData, in: .connack)
    }
}

/// Checks that there is no Authentication Data without a method (section 3.1.2.11.10).
private func checkAuthentication(_ method: String?, _ data: [UInt8]?, in type: PacketType) throws(MQTTError) {
    guard data == nil || method != nil else {
        throw .protocolError("\(type.name) has Authentication Data without an Authentication Method")
    }
}
