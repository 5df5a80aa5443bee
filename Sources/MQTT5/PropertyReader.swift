/// Reads the properties of one packet, or of a will: ``next()`` gives the identifier, then the caller reads the value.
struct PropertyReader {
    private var fields: PacketReader
    /// A bit for each identifier that has occurred. The highest is 0x2A.
    private var seen: UInt64 = 0

    init(_ fields: PacketReader) {
        self.fields = fields
    }

    /// The next property, nil at the end. None but those in `repeatable` may occur twice.
    mutating func next(repeatable: Property = .userProperty) throws(MQTTError) -> Property? {
        guard fields.count > 0 else { return nil }
        let identifier = try fields.variableByteInteger()
        guard let property = UInt8(exactly: identifier).flatMap(Property.init(rawValue:)) else {
            throw .malformed("\(fields.name) has a property with the unknown identifier \(identifier)")
        }
        let bit: UInt64 = 1 << property.rawValue
        guard seen & bit == 0 || property == .userProperty || property == repeatable else {
            throw .protocolError("\(fields.name) has the property \(property.name) twice")
        }
        seen |= bit
        return property
    }

    /// The error for a property that the packet can't have (section 2.2.2.2).
    func isMisplaced(_ property: Property, in place: String? = nil) -> MQTTError {
        .malformed("\(place ?? fields.name) can't have the property \(property.name)")
    }

    mutating func uint16() throws(MQTTError) -> UInt16 { try fields.uint16() }

    mutating func uint32() throws(MQTTError) -> UInt32 { try fields.uint32() }

    mutating func string() throws(MQTTError) -> String { try fields.string() }

    mutating func binary() throws(MQTTError) -> [UInt8] { try fields.binary() }

    mutating func topicName() throws(MQTTError) -> String { try fields.topicName() }

    mutating func userProperty() throws(MQTTError) -> MQTTUserProperty {
        let name = try fields.string()
        return MQTTUserProperty(name, try fields.string())
    }

    /// A byte that is 0 or 1.
    mutating func bit(_ property: Property) throws(MQTTError) -> UInt8 {
        let value = try fields.byte()
        guard value <= 1 else {
            throw .protocolError("the property \(property.name) of \(fields.name) is \(value), not 0 or 1")
        }
        return value
    }

    /// A byte that is 0 or 1, as a truth value.
    mutating func boolean(_ property: Property) throws(MQTTError) -> Bool {
        try bit(property) == 1
    }

    mutating func positiveUInt16(_ property: Property) throws(MQTTError) -> UInt16 {
        let value = try fields.uint16()
        guard value > 0 else { throw isZero(property) }
        return value
    }

    mutating func positiveUInt32(_ property: Property) throws(MQTTError) -> UInt32 {
        let value = try fields.uint32()
        guard value > 0 else { throw isZero(property) }
        return value
    }

    mutating func subscriptionIdentifier() throws(MQTTError) -> UInt32 {
        let value = try fields.variableByteInteger()
        guard value > 0 else { throw isZero(.subscriptionIdentifier) }
        return UInt32(value)
    }

    private func isZero(_ property: Property) -> MQTTError {
        .protocolError("the property \(property.name) of \(fields.name) is 0")
    }
}
