/// Reads values that a peer sent: nil for another type. Variants are unwrapped.
extension DBusValue {
    /// The value inside, however many variants are around it.
    package var unwrapped: DBusValue {
        var value = self
        while case .variant(let inner) = value { value = inner }
        return value
    }

    /// A string, an object path or a signature.
    package var text: String? {
        switch unwrapped {
        case .string(let text), .objectPath(let text), .signature(let text): text
        default: nil
        }
    }

    package var flag: Bool? {
        if case .bool(let flag) = unwrapped { flag } else { nil }
    }

    /// Any integer type whose value fits.
    package func integer<Number: FixedWidthInteger>(as type: Number.Type = Number.self) -> Number? {
        switch unwrapped {
        case .byte(let number): Number(exactly: number)
        case .int16(let number): Number(exactly: number)
        case .uint16(let number): Number(exactly: number)
        case .int32(let number): Number(exactly: number)
        case .uint32(let number): Number(exactly: number)
        case .int64(let number): Number(exactly: number)
        case .uint64(let number): Number(exactly: number)
        default: nil
        }
    }

    /// The elements of an array, or the fields of a structure.
    package var elements: [DBusValue]? {
        switch unwrapped {
        case .array(_, let elements), .structure(let elements): elements
        default: nil
        }
    }

    package var entries: [DBusEntry]? {
        if case .dictionary(_, _, let entries) = unwrapped { entries } else { nil }
    }

    package var descriptor: DBusFileDescriptor? {
        if case .unixFD(let descriptor) = unwrapped { descriptor } else { nil }
    }

    /// The value of a dictionary's entry, without the variant around it; nil also when this is no dictionary.
    package subscript(key: String) -> DBusValue? {
        entries?.first { $0.key.text == key }?.value.unwrapped
    }
}
