/// One value of a checked payload, by its position.
struct PayloadValue {
    private enum Kind {
        case string, number, yes, no, container
    }

    private let kind: Kind
    private let bytes: [UInt8]
    private let range: Range<Int>

    /// The value at `range`; nil if there is none, or if it is null.
    init?(_ bytes: [UInt8], _ range: Range<Int>?) {
        guard let range, let first = bytes[range].first, first != UInt8(ascii: "n") else { return nil }
        switch first {
        case UInt8(ascii: "\""): kind = .string
        case UInt8(ascii: "{"), UInt8(ascii: "["): kind = .container
        case UInt8(ascii: "t"): kind = .yes
        case UInt8(ascii: "f"): kind = .no
        default: kind = .number
        }
        self.bytes = bytes
        self.range = range
    }

    /// A string's text, or the text of a number.
    func text() throws(PayloadProblem.Reason) -> String {
        let text: String
        switch kind {
        case .string: text = string
        case .number: text = String(decoding: bytes[range], as: UTF8.self)
        case .yes, .no, .container: throw .wrongKind
        }
        guard !text.utf8.contains(0) else { throw .zeroByte }
        return text
    }

    /// A scalar as text; `true` and `false` included.
    func word() throws(PayloadProblem.Reason) -> String {
        switch kind {
        case .yes: "true"
        case .no: "false"
        case .string, .number, .container: try text()
        }
    }

    /// Whether the value means yes or no. `true` and 1 mean yes; `false`, 0 and a blank text mean no; 1 and 0 may be
    /// written in any form. The given texts are compared ignoring case. Nil if the value means neither.
    func says(yes: [String], no: [String]) throws(PayloadProblem.Reason) -> Bool? {
        let word = try word().lowercased()
        switch PayloadTime.number(word) {
        case 1: return true
        case 0: return false
        default: break
        }
        if word.allSatisfy(\.isWhitespace) {
            return false
        }
        return yes.contains(word) ? true : no.contains(word) ? false : nil
    }

    /// Milliseconds since 1970.
    func time() throws(PayloadProblem.Reason) -> Int64 {
        guard let milliseconds = PayloadTime.milliseconds(try text()) else { throw .notATime }
        return milliseconds
    }

    /// A number of seconds; it may be text.
    func seconds() throws(PayloadProblem.Reason) -> Double {
        guard let seconds = PayloadTime.number(try text()), seconds >= 0 else { throw .notADuration }
        return seconds
    }

    private var string: String {
        // The range between the quotes. In unchecked bytes the closing one may be missing.
        let end = max(range.lowerBound + 1, range.upperBound - 1)
        return PayloadText.string(bytes, (range.lowerBound + 1)..<min(end, bytes.count))
    }
}
