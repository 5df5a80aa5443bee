/// A value of a D-Bus type (D-Bus Specification, "Type System").
///
/// Strings must not contain NUL: a message with one is refused before it is sent. An array and a dictionary have the
/// signatures of their elements, because they may be empty.
package enum DBusValue: Hashable {
    case byte(UInt8)
    case bool(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(String)
    case signature(String)
    /// `h`. See ``DBusFileDescriptor`` for who closes it.
    case unixFD(DBusFileDescriptor)
    /// `a` and the signature of an element.
    case array(String, [DBusValue])
    case structure([DBusValue])
    /// `a{` and the signatures of key and value. The order is kept, and a key that comes twice is kept twice.
    case dictionary(String, String, [DBusEntry])
    indirect case variant(DBusValue)

    /// `as`.
    package static func strings(_ texts: [String]) -> DBusValue { .array("s", texts.map { .string($0) }) }

    /// `a{sv}`, with the order kept. Values are wrapped in variants here.
    package static func properties(_ entries: KeyValuePairs<String, DBusValue>) -> DBusValue {
        .dictionary("s", "v", entries.map { DBusEntry(key: .string($0.key), value: .variant($0.value)) })
    }

    /// The signature of this value: `a{sv}`.
    package var signature: String {
        switch self {
        case .byte: "y"
        case .bool: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .unixFD: "h"
        case .array(let element, _): "a" + element
        case .structure(let fields): "(" + fields.map(\.signature).joined() + ")"
        case .dictionary(let key, let value, _): "a{" + key + value + "}"
        case .variant: "v"
        }
    }
}

/// One entry of a dictionary.
package struct DBusEntry: Hashable {
    package var key: DBusValue
    package var value: DBusValue

    package init(key: DBusValue, value: DBusValue) {
        self.key = key
        self.value = value
    }
}
