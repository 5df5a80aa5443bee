import CRingwakeSystemd

/// Writes values into a message that is being built.
struct MessageWriter {
    let message: OpaquePointer

    /// - Throws: `invalidArguments` for an invalid value: a NUL in a string, an element that doesn't match the
    ///   signature, a descriptor that isn't open.
    func append(_ value: DBusValue, depth: Int = 0) throws(DBusError) {
        guard depth < DBusLimits.maximumDepth else { throw Self.refusal("nested too deep", value) }
        guard Self.hasValidSignature(value) else { throw Self.refusal("not a valid signature", value) }
        switch value {
        case .byte(let number): try appendBasic(number, value)
        case .bool(let flag): try appendBasic(Int32(flag ? 1 : 0), value)
        case .int16(let number): try appendBasic(number, value)
        case .uint16(let number): try appendBasic(number, value)
        case .int32(let number): try appendBasic(number, value)
        case .uint32(let number): try appendBasic(number, value)
        case .int64(let number): try appendBasic(number, value)
        case .uint64(let number): try appendBasic(number, value)
        case .double(let number): try appendBasic(number, value)
        case .string(let text), .objectPath(let text), .signature(let text): try appendText(text, value)
        case .unixFD(let descriptor): try appendBasic(descriptor.number, value)
        case .array(let element, let values):
            try container("a", element, value) { () throws(DBusError) in
                for value in values { try append(value, depth: depth + 1) }
            }
        case .structure(let fields):
            try container("r", fields.map(\.signature).joined(), value) { () throws(DBusError) in
                for field in fields { try append(field, depth: depth + 1) }
            }
        case .dictionary(let keys, let values, let entries):
            try container("a", "{\(keys)\(values)}", value) { () throws(DBusError) in
                for entry in entries {
                    try container("e", keys + values, value) { () throws(DBusError) in
                        try append(entry.key, depth: depth + 1)
                        try append(entry.value, depth: depth + 1)
                    }
                }
            }
        case .variant(let inner):
            try container("v", inner.signature, value) { () throws(DBusError) in
                try append(inner, depth: depth + 1)
            }
        }
    }

    private func appendBasic<Number: BitwiseCopyable>(_ number: Number, _ value: DBusValue) throws(DBusError) {
        let result = withUnsafeBytes(of: number) { bytes in
            sd_bus_message_append_basic(message, Self.code(value.signature), bytes.baseAddress)
        }
        try Self.check(result, value)
    }

    private func appendText(_ text: String, _ value: DBusValue) throws(DBusError) {
        guard !text.utf8.contains(0) else { throw Self.refusal("a string with a NUL", value) }
        let result = text.withCString { sd_bus_message_append_basic(message, Self.code(value.signature), $0) }
        try Self.check(result, value)
    }

    private func container(
        _ type: String, _ contents: String, _ value: DBusValue, _ body: () throws(DBusError) -> Void
    ) throws(DBusError) {
        try Self.check(sd_bus_message_open_container(message, Self.code(type), contents), value)
        try body()
        try Self.check(sd_bus_message_close_container(message), value)
    }

    /// Checks the signatures that the caller wrote; those of inner values are checked with these values.
    private static func hasValidSignature(_ value: DBusValue) -> Bool {
        switch value {
        case .signature(let text): DBusSignature.isValid(text)
        case .array(let element, _): DBusSignature.isSingle(element)
        case .dictionary(let key, let value, _): DBusSignature.isBasic(key) && DBusSignature.isSingle(value)
        case .structure(let fields): !fields.isEmpty
        case .variant(let inner): DBusSignature.isSingle(inner.signature)
        default: true
        }
    }

    private static func code(_ signature: String) -> CChar { CChar(bitPattern: signature.utf8.first ?? 0) }

    private static func check(_ result: Int32, _ value: DBusValue) throws(DBusError) {
        if result < 0 { throw refusal(String(systemError: result), value) }
    }

    private static func refusal(_ why: String, _ value: DBusValue) -> DBusError {
        DBusError(
            name: DBusError.invalidArguments,
            message: "an argument of type \"\(value.signature)\" cannot be sent: \(why)")
    }
}
