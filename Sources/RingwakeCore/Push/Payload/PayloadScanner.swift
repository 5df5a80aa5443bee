/// Finds the values of several pointers in one pass over the bytes of a checked payload.
///
/// It builds no values of what it skips. It descends only along the pointers, so its recursion is at most as deep as
/// the longest pointer (``JSONPointer/maximumTokens``). The bytes have passed ``JSONSyntax``. In unchecked bytes the
/// result is undefined, but the scan ends and does not trap.
struct PayloadScanner {
    /// The maximum number of pointers per scan: a set of them has 16 bits.
    static let maximumPointers = 16

    /// A set of pointers, by their indices.
    private typealias Members = UInt16

    private let bytes: [UInt8]
    /// The tokens of each pointer; empty for a nil pointer.
    private let paths: [[[UInt8]]]
    private var offset = 0
    private var found: [Range<Int>?]

    /// The position of the value of each of `pointers` in `bytes`; a string includes its quotes. Nil if there is no
    /// such value.
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

    /// Skips the value at `offset`, after the first `depth` steps of each pointer in `wanted`.
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

    /// Skips the value of a member or an element that the pointers in `matching` lead to or through.
    private mutating func member(_ matching: Members, depth: Int) {
        guard matching != 0 else {
            skipValue()
            return
        }
        // The last member of a name counts, so forget the values of earlier ones.
        for index in paths.indices where contains(matching, index) {
            found[index] = nil
        }
        value(matching, depth: depth + 1)
    }

    /// The pointers in `wanted` that end after `depth` steps.
    private func ending(_ wanted: Members, at depth: Int) -> Members {
        var ending: Members = 0
        for index in paths.indices where contains(wanted, index) && paths[index].count == depth {
            ending |= 1 << Members(index)
        }
        return ending
    }

    /// The pointers in `wanted` whose step at `depth` satisfies `leads`.
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

    /// Skips the string at `offset`. Returns its range without the quotes.
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

    /// Skips the value at `offset`, whatever its kind.
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
                // The value is no container, and its enclosing container ends here.
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

    /// Skips a number or a literal.
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
