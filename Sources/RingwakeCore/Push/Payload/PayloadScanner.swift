/// Finds the values that some pointers lead to, in one pass over the bytes of a checked payload.
///
/// Nothing is built of what is passed over. It descends only where a pointer leads, so its recursion is as deep as
/// the longest pointer at most (``JSONPointer/maximumTokens``). The bytes have passed ``JSONSyntax``; in bytes that
/// have not, it finds something or nothing, ends, and does not trap.
struct PayloadScanner {
    /// The most pointers of one scan: they share a set of 16 bits.
    static let maximumPointers = 16

    /// Which pointers are meant, as a set of their indices.
    private typealias Members = UInt16

    private let bytes: [UInt8]
    /// The tokens of each pointer; none of those that are not wanted.
    private let paths: [[[UInt8]]]
    private var offset = 0
    private var found: [Range<Int>?]

    /// Where the value of each of `pointers` stands in `bytes`, a string with its quotes; nil for what is not there.
    static func find(_ pointers: [JSONPointer?], in bytes: [UInt8]) -> [Range<Int>?] {
        var scanner = PayloadScanner(bytes, pointers)
        var wanted: Members = 0
        for index in pointers.indices.prefix(maximumPointers) where pointers[index] != nil {
            wanted |= 1 << Members(index)
        }
        scanner.skipWhiteSpace()
        if wanted != 0 {
            scanner.value(wanted, depth: 0)
        }
        return scanner.found
    }

    private init(_ bytes: [UInt8], _ pointers: [JSONPointer?]) {
        self.bytes = bytes
        paths = pointers.map { $0?.tokens ?? [] }
        found = Array(repeating: nil, count: pointers.count)
    }

    /// Passes over the value at `offset`, to which the first `depth` steps of each of `wanted` have led.
    private mutating func value(_ wanted: Members, depth: Int) {
        let start = offset
        let further = wanted & ~ending(wanted, at: depth)
        switch current {
        case UInt8(ascii: "{") where further != 0: object(further, depth: depth)
        case UInt8(ascii: "[") where further != 0: array(further, depth: depth)
        default: skipValue()
        }
        for index in paths.indices where contains(wanted & ~further, index) {
            found[index] = start..<offset
        }
    }

    private mutating func object(_ wanted: Members, depth: Int) {
        offset += 1
        while true {
            skipWhiteSpace()
            if current == UInt8(ascii: ",") {
                offset += 1
                skipWhiteSpace()
            }
            guard current == UInt8(ascii: "\"") else { break }
            let name = skipString()
            let matching = self.matching(wanted, depth: depth) { bytes, token in
                PayloadText.isEqual(bytes, name, token)
            }
            skipWhiteSpace()
            guard current == UInt8(ascii: ":") else { return }
            offset += 1
            skipWhiteSpace()
            member(matching, depth: depth)
        }
        if current == UInt8(ascii: "}") {
            offset += 1
        }
    }

    private mutating func array(_ wanted: Members, depth: Int) {
        offset += 1
        var index = 0
        while true {
            skipWhiteSpace()
            if current == UInt8(ascii: ",") {
                offset += 1
                skipWhiteSpace()
            }
            guard let byte = current, byte != UInt8(ascii: "]") else { break }
            let start = offset
            member(matching(wanted, depth: depth) { JSONPointer.index($1) == index }, depth: depth)
            guard offset > start else { return }
            index += 1
        }
        if current == UInt8(ascii: "]") {
            offset += 1
        }
    }

    /// Passes over the value of a member or an element that `matching` lead to or through.
    private mutating func member(_ matching: Members, depth: Int) {
        guard matching != 0 else {
            skipValue()
            return
        }
        // What an earlier member of the same name held does not count any more.
        for index in paths.indices where contains(matching, index) {
            found[index] = nil
        }
        value(matching, depth: depth + 1)
    }

    /// Those of `wanted` that end after `depth` steps.
    private func ending(_ wanted: Members, at depth: Int) -> Members {
        var ending: Members = 0
        for index in paths.indices where contains(wanted, index) && paths[index].count == depth {
            ending |= 1 << Members(index)
        }
        return ending
    }

    /// Those of `wanted` whose next step, the one at `depth`, is as `leads` says.
    private func matching(_ wanted: Members, depth: Int, _ leads: ([UInt8], [UInt8]) -> Bool) -> Members {
        var matching: Members = 0
        for index in paths.indices where contains(wanted, index) {
            if depth < paths[index].count, leads(bytes, paths[index][depth]) {
                matching |= 1 << Members(index)
            }
        }
        return matching
    }

    private func contains(_ members: Members, _ index: Int) -> Bool {
        members >> Members(truncatingIfNeeded: index) & 1 == 1
    }
}

extension PayloadScanner {
    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipWhiteSpace() {
        while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            offset += 1
        }
    }

    /// Passes over the string that begins at `offset`; answers where it stands, without its quotes.
    private mutating func skipString() -> Range<Int> {
        offset += 1
        let start = offset
        while let byte = current, byte != UInt8(ascii: "\"") {
            offset += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        let end = min(offset, bytes.count)
        offset = min(end + 1, bytes.count)
        return start..<end
    }

    /// Passes over the value at `offset`, whatever is in it.
    private mutating func skipValue() {
        var depth = 0
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                _ = skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                offset += 1
                continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The end of what the value stands in, when it is no container itself.
                guard depth > 0 else { return }
                depth -= 1
                offset += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D:
                guard depth > 0 else { return }
                offset += 1
                continue
            default:
                skipWord()
            }
            if depth == 0 {
                return
            }
        }
    }

    /// Passes over a number or a literal.
    private mutating func skipWord() {
        while let byte = current {
            switch byte {
            case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "{"),
                UInt8(ascii: "["), UInt8(ascii: "\""), 0x20, 0x09, 0x0A, 0x0D:
                return
            default: offset += 1
            }
        }
    }
}
