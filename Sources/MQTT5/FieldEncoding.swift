// How fields are written (section 1.5).
extension [UInt8] {
    mutating func write(_ byte: UInt8) { append(byte) }

    /// Writes something after its length, which is known only then: each byte of the length after the first moves it.
    mutating func writeAfterLength(_ content: (inout [UInt8]) -> Void) {
        var index = count
        append(0)
        content(&self)
        var rest = count - index - 1
        // No peer can reach this: packets are made by this program, whose callers send at most what a limit of a
        // decoder allows.
        precondition(rest <= VariableByteInteger.maximum, "a packet of MQTT has more than 268,435,455 bytes")
        self[index] = UInt8(rest & 0x7F)
        while rest >= 0x80 {
            rest >>= 7
            self[index] |= 0x80
            index += 1
            insert(UInt8(rest & 0x7F), at: index)
        }
    }

    mutating func write(_ value: UInt16) {
        write(UInt8(value >> 8))
        write(UInt8(truncatingIfNeeded: value))
    }

    mutating func write(_ value: UInt32) {
        write(UInt16(value >> 16))
        write(UInt16(truncatingIfNeeded: value))
    }

    private mutating func write(variableByteInteger value: Int) {
        // No peer can reach this: our callers chose the identifier, or a decoder read it.
        precondition(value <= VariableByteInteger.maximum, "an identifier of MQTT is above 268,435,455")
        var rest = value
        while rest >= 0x80 {
            write(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        write(UInt8(rest))
    }

    mutating func write(_ string: String) {
        writeLength(string.utf8.count)
        append(contentsOf: string.utf8)
    }

    mutating func write(binary: [UInt8]) {
        writeLength(binary.count)
        append(contentsOf: binary)
    }

    private mutating func writeLength(_ count: Int) {
        // No peer can reach this: what a decoder read has a length of two bytes, and everything else that is sent was
        // made by this program, whose topics, identifiers and reason strings are short.
        precondition(count <= MQTTPacket.maximumFieldBytes, "a string of MQTT has more than 65,535 bytes")
        write(UInt16(count))
    }

    // MARK: - Properties

    mutating func write(_ property: Property, _ value: UInt8?) {
        guard let value else { return }
        write(property.rawValue)
        write(value)
    }

    mutating func write(_ property: Property, _ value: Bool?) {
        write(property, value.map { $0 ? 1 : 0 as UInt8 })
    }

    mutating func write(_ property: Property, _ value: UInt16?) {
        guard let value else { return }
        write(property.rawValue)
        write(value)
    }

    mutating func write(_ property: Property, _ value: UInt32?) {
        guard let value else { return }
        write(property.rawValue)
        write(value)
    }

    mutating func write(_ property: Property, _ value: String?) {
        guard let value else { return }
        write(property.rawValue)
        write(value)
    }

    mutating func write(_ property: Property, _ value: [UInt8]?) {
        guard let value else { return }
        write(property.rawValue)
        write(binary: value)
    }

    mutating func write(subscriptionIdentifier value: UInt32?) {
        guard let value else { return }
        write(Property.subscriptionIdentifier.rawValue)
        write(variableByteInteger: Int(value))
    }

    mutating func write(_ properties: [MQTTUserProperty]) {
        for property in properties {
            write(Property.userProperty.rawValue)
            write(property.name)
            write(property.value)
        }
    }
}
