/// A strict check of RFC 8259's grammar, without building values.
///
/// A payload is spliced byte for byte into the handler's input, so it must be exactly one JSON object. Foundation's
/// JSON decoder accepts a trailing comma and a byte order mark and refuses `1e999`; a handler in another language does
/// the opposite (`Documentation/decisions/0002-own-json-check.md`).
package struct JSONSyntax {
    /// The maximum depth of nested objects and arrays. Handlers may recurse over the payload with a small stack.
    package static let maximumDepth = 64

    /// The defect of a text.
    package enum Defect: Error, Equatable, Sendable {
        /// There is nothing, or only white space.
        case empty
        /// The text is one value, but not an object.
        case notAnObject
        /// The byte at `offset` is not allowed there, or the text ends there.
        case unexpected(offset: Int)
        /// Nested deeper than ``maximumDepth``.
        case tooDeep(offset: Int)
        /// The bytes from `offset` are not UTF-8.
        case notUTF8(offset: Int)
        /// The escape at `offset` is one half of a surrogate pair, without the other.
        case loneSurrogate(offset: Int)
    }

    private let bytes: [UInt8]
    private var offset = 0

    /// Throws unless `bytes` are one JSON object in UTF-8, surrounded by white space at most.
    package static func requireObject(_ bytes: [UInt8]) throws(Defect) {
        var check = JSONSyntax(bytes)
        check.skipWhiteSpace()
        guard let first = check.current else { throw .empty }
        try check.value()
        check.skipWhiteSpace()
        guard check.current == nil else { throw .unexpected(offset: check.offset) }
        guard first == UInt8(ascii: "{") else { throw .notAnObject }
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipWhiteSpace() {
        while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            offset += 1
        }
    }

    private mutating func expect(_ byte: UInt8) throws(Defect) {
        guard current == byte else { throw .unexpected(offset: offset) }
        offset += 1
    }

    /// RFC 8259 § 3. It uses a stack of closing brackets instead of recursion, so that depth needs no machine stack.
    private mutating func value() throws(Defect) {
        var open: [UInt8] = []
        while true {
            if let closing = try startOfValue(depth: open.count) {
                open.append(closing)
                continue
            }
            guard try closeFinished(&open) else { return }
        }
    }

    /// Reads a whole scalar or empty container and returns nil. Or reads the start of a container up to its first
    /// value, and returns the bracket that closes it.
    private mutating func startOfValue(depth: Int) throws(Defect) -> UInt8? {
        skipWhiteSpace()
        switch current {
        case UInt8(ascii: "{"):
            guard depth < JSONSyntax.maximumDepth else { throw .tooDeep(offset: offset) }
            offset += 1
            skipWhiteSpace()
            if current == UInt8(ascii: "}") {
                offset += 1
                return nil
            }
            try memberName()
            return UInt8(ascii: "}")
        case UInt8(ascii: "["):
            guard depth < JSONSyntax.maximumDepth else { throw .tooDeep(offset: offset) }
            offset += 1
            skipWhiteSpace()
            if current == UInt8(ascii: "]") {
                offset += 1
                return nil
            }
            return UInt8(ascii: "]")
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        default: try number()
        }
        return nil
    }

    /// After a value: closes the containers that end here. Returns true if another value follows.
    private mutating func closeFinished(_ open: inout [UInt8]) throws(Defect) -> Bool {
        while let closing = open.last {
            skipWhiteSpace()
            if current == UInt8(ascii: ",") {
                offset += 1
                if closing == UInt8(ascii: "}") {
                    skipWhiteSpace()
                    try memberName()
                }
                return true
            }
            try expect(closing)
            open.removeLast()
        }
        return false
    }

    private mutating func memberName() throws(Defect) {
        guard current == UInt8(ascii: "\"") else { throw .unexpected(offset: offset) }
        try string()
        skipWhiteSpace()
        try expect(UInt8(ascii: ":"))
    }

    private mutating func literal(_ text: StaticString) throws(Defect) {
        for index in 0..<text.utf8CodeUnitCount {
            try expect(unsafe text.utf8Start[index])
        }
    }

    /// RFC 8259 § 6.
    private mutating func number() throws(Defect) {
        if current == UInt8(ascii: "-") {
            offset += 1
        }
        if current == UInt8(ascii: "0") {
            offset += 1
        } else {
            try digits()
        }
        if current == UInt8(ascii: ".") {
            offset += 1
            try digits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            offset += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") {
                offset += 1
            }
            try digits()
        }
    }

    private mutating func digits() throws(Defect) {
        guard let first = current, first.isDigit else { throw .unexpected(offset: offset) }
        while let byte = current, byte.isDigit {
            offset += 1
        }
    }
}

extension JSONSyntax {
    /// RFC 8259 § 7. Escapes of lone surrogates are rejected: no handler can decode them to text.
    private mutating func string() throws(Defect) {
        try expect(UInt8(ascii: "\""))
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                return
            case UInt8(ascii: "\\"):
                offset += 1
                try escape()
            case 0x00..<0x20:
                throw .unexpected(offset: offset)
            case 0x20..<0x80:
                offset += 1
            default:
                try multiByteCharacter(lead: byte)
            }
        }
        throw .unexpected(offset: offset)
    }

    private mutating func escape() throws(Defect) {
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            offset += 1
        case UInt8(ascii: "u"):
            let start = offset
            offset += 1
            let unit = try fourHexDigits()
            switch unit {
            case 0xD800..<0xDC00:
                guard bytes[offset...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else {
                    throw .loneSurrogate(offset: start - 1)
                }
                offset += 2
                guard (0xDC00..<0xE000).contains(try fourHexDigits()) else {
                    throw .loneSurrogate(offset: start - 1)
                }
            case 0xDC00..<0xE000:
                throw .loneSurrogate(offset: start - 1)
            default:
                break
            }
        default:
            throw .unexpected(offset: offset)
        }
    }

    private mutating func fourHexDigits() throws(Defect) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = hexValue(byte) else {
                throw .unexpected(offset: offset)
            }
            unit = unit << 4 | UInt16(digit)
            offset += 1
        }
        return unit
    }

    /// RFC 3629 § 4: no overlong forms, no surrogates, nothing above U+10FFFF.
    private mutating func multiByteCharacter(lead: UInt8) throws(Defect) {
        let second: ClosedRange<UInt8>
        let length: Int
        switch lead {
        case 0xC2...0xDF: (second, length) = (0x80...0xBF, 2)
        case 0xE0: (second, length) = (0xA0...0xBF, 3)
        case 0xE1...0xEC, 0xEE...0xEF: (second, length) = (0x80...0xBF, 3)
        case 0xED: (second, length) = (0x80...0x9F, 3)
        case 0xF0: (second, length) = (0x90...0xBF, 4)
        case 0xF1...0xF3: (second, length) = (0x80...0xBF, 4)
        case 0xF4: (second, length) = (0x80...0x8F, 4)
        default: throw .notUTF8(offset: offset)
        }
        guard offset + length <= bytes.count, second.contains(bytes[offset + 1]) else {
            throw .notUTF8(offset: offset)
        }
        for index in (offset + 2)..<(offset + length) where bytes[index] & 0xC0 != 0x80 {
            throw .notUTF8(offset: offset)
        }
        offset += length
    }
}

extension JSONSyntax.Defect: CustomStringConvertible {
    /// What is wrong with the text, and the rule, for people.
    package var description: String {
        switch self {
        case .empty: "it is empty"
        case .notAnObject: "it is a value of another kind"
        case .unexpected(let offset): "what stands at byte \(offset) cannot stand there, or it ends there too early"
        case .tooDeep(let offset):
            "it is nested deeper than \(JSONSyntax.maximumDepth) objects and arrays at byte \(offset)"
        case .notUTF8(let offset): "byte \(offset) is not UTF-8"
        case .loneSurrogate(let offset):
            "the escape at byte \(offset) is half a surrogate pair, which is no character (RFC 8259 section 8.2)"
        }
    }
}
