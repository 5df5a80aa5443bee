/// One value of a checked payload, by where it stands.
struct PayloadValue {
    private enum Kind {
        case string, number, yes, no, container
    }

    private let kind: Kind
    private let bytes: [UInt8]
    private let range: Range<Int>

    /// The value at `range`; nil when there is none, or a null: that is as good as none.
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

    /// A string's text, or a number as it is written.
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

    /// What a scalar says, as text: also `true` and `false`.
    func word() throws(PayloadProblem.Reason) -> String {
        switch kind {
        case .yes: "true"
        case .no: "false"
        case .string, .number, .container: try text()
        }
    }

    /// Whether the value says yes or no: `true` and `false`, a number that is 1 or 0, however it is written, or one of
    /// these texts in any case of letters. A blank text says no. Nil when it says neither.
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

    /// A number of seconds, also as text.
    func seconds() throws(PayloadProblem.Reason) -> Double {
        guard let seconds = PayloadTime.number(try text()), seconds >= 0 else { throw .notADuration }
        return seconds
    }

    private var string: String {
        // Between the quotes; of bytes that were never checked the closing one may be missing.
        let end = max(range.lowerBound + 1, range.upperBound - 1)
        return PayloadText.string(bytes, (range.lowerBound + 1)..<min(end, bytes.count))
    }
}
