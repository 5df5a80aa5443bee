/// Finds the byte ranges of values in JSON text without decoding them, so that a payload is passed on byte for byte.
///
/// It only skips over strings and brackets. On invalid JSON it returns some range or nil, but it ends and doesn't
/// trap. The caller validates what it finds.
struct JSONSlice {
    private let bytes: [UInt8]
    private var offset: Int

    /// The range of the value of the object's member `name`, the last one if there are several. Nil if there is none.
    static func member(_ name: String, of bytes: [UInt8]) -> Range<Int>? {
        var slice = JSONSlice(bytes)
        var found: Range<Int>?
        guard slice.take(UInt8(ascii: "{")) else { return nil }
        while let key = slice.string() {
            guard slice.take(UInt8(ascii: ":")), let value = slice.value() else { return nil }
            if bytes[key].dropFirst().dropLast().elementsEqual(name.utf8) { found = value }
            guard slice.take(UInt8(ascii: ",")) else { break }
        }
        return slice.take(UInt8(ascii: "}")) ? found : nil
    }

    /// The ranges of an array's elements; nil if the text isn't an array.
    static func elements(of bytes: [UInt8]) -> [Range<Int>]? {
        var slice = JSONSlice(bytes)
        var found: [Range<Int>] = []
        guard slice.take(UInt8(ascii: "[")) else { return nil }
        if slice.take(UInt8(ascii: "]")) { return found }
        repeat {
            guard let element = slice.value() else { return nil }
            found.append(element)
        } while slice.take(UInt8(ascii: ","))
        return slice.take(UInt8(ascii: "]")) ? found : nil
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        offset = 0
    }

    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipWhiteSpace() {
        while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { offset += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipWhiteSpace()
        guard current == byte else { return false }
        offset += 1
        return true
    }

    /// A string with its quotes.
    private mutating func string() -> Range<Int>? {
        skipWhiteSpace()
        let start = offset
        guard take(UInt8(ascii: "\"")) else { return nil }
        while let byte = current {
            offset += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return start..<offset }
        }
        return nil
    }

    private mutating func value() -> Range<Int>? {
        skipWhiteSpace()
        let start = offset
        var depth = 0
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                guard string() != nil else { return nil }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                offset += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The end of the enclosing object or array, or of a nested one.
                guard depth > 0 else { return end(from: start) }
                depth -= 1
                offset += 1
            case UInt8(ascii: ",") where depth == 0: return end(from: start)
            default: offset += 1
            }
            if depth == 0, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                return start..<offset
            }
        }
        return end(from: start)
    }

    private func end(from start: Int) -> Range<Int>? {
        var end = min(offset, bytes.count)
        while end > start, bytes[end - 1] <= 0x20 { end -= 1 }
        return end > start ? start..<end : nil
    }
}
