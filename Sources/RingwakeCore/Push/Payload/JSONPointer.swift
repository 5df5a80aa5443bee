/// The position of a value in a JSON document: RFC 6901, `/aps/call-id`.
///
/// In an array a token is an index: `0`, or digits without a leading zero. `-`, the position after the last element,
/// never has a value. If an object has a member twice, the last one counts.
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// The pointer as it was written.
    package let description: String
    /// The names of the members that lead to the value, in UTF-8 without escapes.
    let tokens: [[UInt8]]

    /// The maximum size of a pointer in bytes.
    package static let maximumBytes = 512
    /// The maximum number of steps: no payload has deeper values (``JSONSyntax/maximumDepth``).
    package static let maximumTokens = JSONSyntax.maximumDepth

    /// Why a text is not a pointer.
    package enum Defect: Error, Equatable, Sendable, CustomStringConvertible {
        /// It does not begin with `/`.
        case notRooted
        /// A `~` that is neither `~0` (for `~`) nor `~1` (for `/`).
        case badEscape
        /// More than ``JSONPointer/maximumBytes`` bytes or ``JSONPointer/maximumTokens`` steps.
        case tooLong

        package var description: String {
            switch self {
            case .notRooted: "does not begin with '/'"
            case .badEscape: "has a '~' that is neither '~0' (for '~') nor '~1' (for '/')"
            case .tooLong:
                "has more than \(JSONPointer.maximumBytes) bytes or \(JSONPointer.maximumTokens) steps"
            }
        }
    }

    /// Parses a pointer in RFC 6901's string form (§ 3). The empty text is the whole document.
    package init(_ text: String) throws(Defect) {
        description = text
        guard text.utf8.count <= JSONPointer.maximumBytes else { throw .tooLong }
        guard let first = text.utf8.first else {
            tokens = []
            return
        }
        guard first == UInt8(ascii: "/") else { throw .notRooted }
        var tokens: [[UInt8]] = []
        var token: [UInt8] = []
        var isEscape = false
        for byte in text.utf8.dropFirst() {
            switch (isEscape, byte) {
            case (true, UInt8(ascii: "0")): token.append(UInt8(ascii: "~"))
            case (true, UInt8(ascii: "1")): token.append(UInt8(ascii: "/"))
            case (true, _): throw .badEscape
            case (false, UInt8(ascii: "~")): break
            case (false, UInt8(ascii: "/")):
                tokens.append(token)
                token = []
            case (false, _): token.append(byte)
            }
            isEscape = byte == UInt8(ascii: "~")
        }
        guard !isEscape else { throw .badEscape }
        tokens.append(token)
        guard tokens.count <= JSONPointer.maximumTokens else { throw .tooLong }
        self.tokens = tokens
    }

    /// A pointer through `names`, for pointers in the program itself.
    init(through names: String...) {
        tokens = names.map { Array($0.utf8) }
        description = names.map { "/" + JSONPointer.escape($0) }.joined()
    }

    /// RFC 6901 § 3: `~` as `~0`, `/` as `~1`.
    private static func escape(_ name: String) -> String {
        var escaped = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "~": escaped += "~0"
            case "/": escaped += "~1"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// The array index in `token` (RFC 6901 § 4); nil if there is none, or if it is larger than any payload's.
    static func index(_ token: [UInt8]) -> Int? {
        guard token.count <= 9, let first = token.first, first != UInt8(ascii: "0") || token.count == 1 else {
            return nil
        }
        var index = 0
        for byte in token {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            index = index * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return index
    }
}
