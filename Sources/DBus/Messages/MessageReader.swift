import CRingwakeSystemd
import Glibc

/// Reads the values of a received message, within ``DBusLimits``.
struct MessageReader {
    private let message: OpaquePointer
    private var valuesLeft = DBusLimits.maximumValues
    private var textBytesLeft = DBusLimits.maximumTextBytes

    init(_ message: OpaquePointer) {
        self.message = message
    }

    /// All arguments.
    ///
    /// - Throws: `limitsExceeded` if there are more or longer ones than ``DBusLimits`` allows; `invalidArguments` if
    ///   the bytes are not a message.
    mutating func arguments() throws(DBusError) -> [DBusValue] {
        try values(depth: 0)
    }

    private mutating func values(depth: Int) throws(DBusError) -> [DBusValue] {
        var values: [DBusValue] = []
        while let (type, contents) = try peek() {
            values.append(try value(of: type, contents: contents, depth: depth))
        }
        return values
    }

    /// The type of the next value, and what it contains; nil at the end of the container.
    private func peek() throws(DBusError) -> (type: CChar, contents: UnsafePointer<CChar>?)? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        return try Self.check(sd_bus_message_peek_type(message, &type, &contents)) > 0 ? (type, contents) : nil
    }

    private mutating func value(
        of type: CChar, contents: UnsafePointer<CChar>?, depth: Int
    ) throws(DBusError) -> DBusValue {
        try countValue(depth: depth)
        switch Unicode.Scalar(UInt8(bitPattern: type)) {
        case "y": return .byte(try basic(type, 0))
        case "b": return .bool(try basic(type, Int32(0)) != 0)
        case "n": return .int16(try basic(type, 0))
        case "q": return .uint16(try basic(type, 0))
        case "i": return .int32(try basic(type, 0))
        case "u": return .uint32(try basic(type, 0))
        case "x": return .int64(try basic(type, 0))
        case "t": return .uint64(try basic(type, 0))
        case "d": return .double(try basic(type, 0))
        case "s": return .string(try text(type))
        case "o": return .objectPath(try text(type))
        case "g": return .signature(try text(type))
        case "h": return .unixFD(try descriptor(type))
        case "a":
            // Copied before the container is entered: sd-bus keeps it only until the next call.
            let element = contents.map { String(cString: $0) } ?? ""
            guard element.hasPrefix("{") else {
                return .array(element, try container(type, element, depth: depth))
            }
            return try dictionary(element, depth: depth)
        case "r":
            return .structure(try container(type, contents.map { String(cString: $0) } ?? "", depth: depth))
        case "v":
            let inner = try container(type, contents.map { String(cString: $0) } ?? "", depth: depth)
            guard let value = inner.first, inner.count == 1 else { throw Self.malformed }
            return .variant(value)
        default: throw Self.malformed
        }
    }

    private mutating func container(
        _ type: CChar, _ contents: String, depth: Int
    ) throws(DBusError) -> [DBusValue] {
        try Self.check(sd_bus_message_enter_container(message, type, contents))
        let values = try values(depth: depth + 1)
        try Self.check(sd_bus_message_exit_container(message))
        return values
    }

    private mutating func dictionary(_ element: String, depth: Int) throws(DBusError) -> DBusValue {
        // A key is always of a basic type: one character (D-Bus Specification, "Dictionary Entry").
        let key = String(element.dropFirst().prefix(1))
        let value = String(element.dropFirst(2).dropLast())
        var entries: [DBusEntry] = []
        try Self.check(sd_bus_message_enter_container(message, CChar(bitPattern: UInt8(ascii: "a")), element))
        while let (type, _) = try peek() {
            try countValue(depth: depth + 1)
            let pair = try container(type, key + value, depth: depth + 1)
            guard pair.count == 2 else { throw Self.malformed }
            entries.append(DBusEntry(key: pair[0], value: pair[1]))
        }
        try Self.check(sd_bus_message_exit_container(message))
        return .dictionary(key, value, entries)
    }

    private func basic<Number: BitwiseCopyable>(_ type: CChar, _ zero: Number) throws(DBusError) -> Number {
        var number = zero
        try Self.check(sd_bus_message_read_basic(message, type, &number))
        return number
    }

    private mutating func text(_ type: CChar) throws(DBusError) -> String {
        var pointer: UnsafePointer<CChar>?
        try Self.check(sd_bus_message_read_basic(message, type, &pointer))
        guard let pointer else { throw Self.malformed }
        let length = strnlen(pointer, textBytesLeft + 1)
        guard length <= textBytesLeft else {
            throw Self.excess("has more than \(DBusLimits.maximumTextBytes) bytes of text")
        }
        textBytesLeft -= length
        return String(decoding: UnsafeRawBufferPointer(start: pointer, count: length), as: UTF8.self)
    }

    /// Copies the descriptor, because the message closes its own when it is freed.
    private func descriptor(_ type: CChar) throws(DBusError) -> DBusFileDescriptor {
        let borrowed = try basic(type, Int32(-1))
        let copy = ringwake_dbus_duplicate(borrowed)
        guard copy >= 0 else {
            throw DBusError(
                name: DBusError.limitsExceeded,
                message: "a received descriptor cannot be kept: \(String(systemError: -errno))")
        }
        return DBusFileDescriptor(owning: copy)
    }

    private mutating func countValue(depth: Int) throws(DBusError) {
        guard depth < DBusLimits.maximumDepth else {
            throw Self.excess("is nested deeper than \(DBusLimits.maximumDepth) containers")
        }
        guard valuesLeft > 0 else { throw Self.excess("has more than \(DBusLimits.maximumValues) values") }
        valuesLeft -= 1
    }

    @discardableResult
    private static func check(_ result: Int32) throws(DBusError) -> Int32 {
        guard result >= 0 else { throw malformed }
        return result
    }

    private static let malformed = DBusError(
        name: DBusError.invalidArguments, message: "the received message is malformed")

    private static func excess(_ what: String) -> DBusError {
        DBusError(name: DBusError.limitsExceeded, message: "the received message \(what)")
    }
}

extension String {
    /// The system's text for a negative errno, as sd-bus returns it.
    init(systemError result: Int32) {
        self.init(cString: strerror(result == .min ? EIO : abs(result)))
    }
}
