/// What packets are written to: an array, or a counter that only learns how long they are.
protocol ByteSink {
    /// Reserves room for `count` more bytes.
    mutating func reserve(_ count: Int)
    mutating func write(_ byte: UInt8)
    mutating func write(contentsOf bytes: some Collection<UInt8>)
}

/// Counts bytes without keeping them.
struct ByteCounter: ByteSink {
    private(set) var count = 0

    mutating func reserve(_ count: Int) {}

    mutating func write(_ byte: UInt8) { count += 1 }

    mutating func write(contentsOf bytes: some Collection<UInt8>) { count += bytes.count }
}

extension [UInt8]: ByteSink {
    mutating func reserve(_ count: Int) { reserveCapacity(self.count + count) }

    mutating func write(_ byte: UInt8) { append(byte) }

    mutating func write(contentsOf bytes: some Collection<UInt8>) { append(contentsOf: bytes) }
}

extension ByteSink {
    mutating func write(_ value: UInt16) {
        write(UInt8(value >> 8))
        write(UInt8(truncatingIfNeeded: value))
    }

    mutating func write(_ value: UInt32) {
        write(UInt16(value >> 16))
        write(UInt16(truncatingIfNeeded: value))
    }

    mutating func write(variableByteInteger value: Int) {
        // No peer can reach this: packets are made by this program, whose callers send at most what a limit of a
        // decoder allows, and identifiers that they chose or that a decoder read.
        precondition(value <= VariableByteInteger.maximum, "a packet of MQTT has more than 268,435,455 bytes")
        var rest = value
        while rest >= 0x80 {
            write(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        write(UInt8(rest))
    }

    mutating func write(_ string: String) {
        writeLength(string.utf8.count)
        write(contentsOf: string.utf8)
    }

    mutating func write(binary: [UInt8]) {
        writeLength(binary.count)
        write(contentsOf: binary)
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
