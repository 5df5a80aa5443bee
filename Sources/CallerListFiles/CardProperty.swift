internal import RingwakeCore

/// One property of a vCard: `item1.TEL;TYPE=cell;VALUE=uri:tel:+49-89-123`.
struct CardProperty {
    /// In capitals, without the group.
    let name: String
    private let value: ArraySlice<UInt8>
    private let isQuotedPrintable: Bool

    /// The properties that are used.
    static let kept: Set<String> = ["BEGIN", "END", "FN", "N", "ORG", "NICKNAME", "TEL", "IMPP", "X-SIP"]

    /// Nil for a line that is not a property.
    init?(_ text: Text) {
        let bytes = text.bytes
        // The quotes of a parameter may contain a colon.
        var isQuoted = false
        let colon = bytes.firstIndex { byte in
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            return byte == UInt8(ascii: ":") && !isQuoted
        }
        guard let colon else { return nil }
        let head = String(decoding: bytes[..<colon], as: UTF8.self).uppercased()
        let parts = head.split(separator: ";", omittingEmptySubsequences: false)
        let full = parts.first ?? ""
        name = String(full.split(separator: ".").last ?? "")
        isQuotedPrintable = parts.dropFirst().contains { $0.hasSuffix("QUOTED-PRINTABLE") }
        value = bytes[(colon + 1)...]
    }

    /// The value without its escapes (RFC 6350 section 3.4).
    var text: String { String(decoding: unescaped(decoded), as: UTF8.self) }

    /// The value of a property with several parts, such as `Doe;John;;;`, as one text.
    var joinedText: String {
        let parts = decoded.split(separator: UInt8(ascii: ";"))
        return parts.map { String(decoding: unescaped(Array($0)), as: UTF8.self) }.joined(separator: " ")
    }

    private var decoded: [UInt8] {
        isQuotedPrintable ? HexEscapes.decoded(value[...], mark: UInt8(ascii: "=")) : Array(value)
    }

    private func unescaped(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var isEscaped = false
        for byte in bytes {
            if !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
                continue
            }
            let isLineEnd = isEscaped && (byte == UInt8(ascii: "n") || byte == UInt8(ascii: "N"))
            result.append(isLineEnd ? UInt8(ascii: " ") : byte)
            isEscaped = false
        }
        return result
    }
}

extension CardProperty {
    /// The joined lines of a property. A line that begins with a blank continues the one before (RFC 6350 section 3.2).
    /// In vCard 2.1, so does a line after a final `=`.
    struct Text {
        private(set) var bytes: [UInt8]
        private(set) var isCut: Bool
        let line: Int
        private let isQuotedPrintable: Bool

        init(_ line: LineCutter.Line) {
            bytes = line.bytes
            isCut = line.isCut
            self.line = line.number
            let head = String(decoding: bytes.prefix { $0 != UInt8(ascii: ":") }.prefix(256), as: UTF8.self)
            isQuotedPrintable = head.uppercased().contains("QUOTED-PRINTABLE")
        }

        /// Adds the line if it continues this property. Returns false if it begins another.
        mutating func takes(_ next: LineCutter.Line) -> Bool {
            let first = next.bytes.first
            if isQuotedPrintable, bytes.last == UInt8(ascii: "=") {
                bytes.removeLast()
                add(next.bytes[...], next)
                return true
            }
            guard first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") else { return false }
            add(next.bytes.dropFirst(), next)
            return true
        }

        private mutating func add(_ more: ArraySlice<UInt8>, _ line: LineCutter.Line) {
            let room = max(0, LineCutter.maximumBytes - bytes.count)
            bytes += more.prefix(room)
            if more.count > room || line.isCut { isCut = true }
        }
    }
}
