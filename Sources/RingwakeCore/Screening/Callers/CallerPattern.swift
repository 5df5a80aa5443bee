/// The callers that an entry of a list matches.
///
/// Its text form is stable: it is stored and sent. `+4989123456` or `alice@example.org` is one caller, `+49900*` all
/// numbers with this prefix, `*@spam.example` all callers of a host, `anonymous` all that withhold their identity.
package struct CallerPattern: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// One caller, by its ``CallerHandle/text``.
        case exact(CallerHandle)
        /// Numbers with this prefix: a plus and digits, or digits.
        case numberPrefix(String)
        /// All callers of this host.
        case domain(String)
        /// Callers that withhold their identity.
        case anonymous
    }

    package let kind: Kind

    /// The maximum number of digits in an E.164 number, and so in a prefix.
    package static let maximumDigits = 15

    /// Parses a pattern from a person, a list or the store. A caller in it may have any form that ``CallerHandle`` can
    /// parse.
    /// - Parameter rules: convert national numbers to E.164, as for callers.
    /// - Throws: `invalidRequest` with the error and the correct forms.
    package init(_ text: String, rules: DiallingRules = .none) throws(RingwakeError) {
        guard text.utf8.count <= CallerHandle.maximumBytes else {
            throw CallerPattern.problem(text, "is longer than \(CallerHandle.maximumBytes) bytes")
        }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw CallerPattern.problem(text, "holds a control character")
        }
        let trimmed = text.trimmingBlanks()
        guard !trimmed.isEmpty else { throw CallerPattern.problem(text, "is blank") }
        guard trimmed.utf8.contains(UInt8(ascii: "*")) else {
            kind = try CallerPattern.exact(CallerHandle(String(trimmed), rules: rules), in: text)
            return
        }
        if trimmed.hasPrefix("*@") {
            kind = .domain(try CallerPattern.host(trimmed.dropFirst(2), in: text))
        } else if trimmed.last == "*" {
            kind = .numberPrefix(try CallerPattern.prefix(trimmed.dropLast(), in: text, rules: rules))
        } else {
            throw CallerPattern.problem(text, "has a * in a place where it means nothing")
        }
    }

    private init(_ kind: Kind) { self.kind = kind }

    /// The same pattern with national numbers converted to E.164.
    package func applying(_ rules: DiallingRules) -> CallerPattern {
        switch kind {
        case .exact(let handle) where handle.kind == .number && handle.text.utf8.first?.isDigit == true:
            let text = rules.canonical(handle.text[...].utf8, isInternational: false)
            return CallerPattern(.exact(CallerHandle(.number, text, domain: handle.domain)))
        case .numberPrefix(let prefix) where prefix.utf8.first?.isDigit == true:
            let text = rules.canonical(prefix[...].utf8, isInternational: false, isPrefix: true)
            return CallerPattern(.numberPrefix(text.prefix(bytes: CallerPattern.maximumDigits + 1)))
        default:
            return self
        }
    }

    /// Whether the pattern matches this caller.
    package func matches(_ caller: CallerHandle) -> Bool {
        switch kind {
        case .exact(let handle): handle == caller
        case .numberPrefix(let prefix): caller.kind == .number && caller.text.utf8.starts(with: prefix.utf8)
        case .domain(let domain): caller.domain == domain
        case .anonymous: caller.kind == .anonymous
        }
    }

    package var description: String {
        switch kind {
        case .exact(let handle): handle.text
        case .numberPrefix(let prefix): "\(prefix)*"
        case .domain(let domain): "*@\(domain)"
        case .anonymous: CallerHandle.anonymous.text
        }
    }
}

extension CallerPattern: Codable {
    package init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension CallerPattern {
    private static func exact(_ handle: CallerHandle, in text: String) throws(RingwakeError) -> Kind {
        switch handle.kind {
        case .anonymous: return .anonymous
        case .number: return .exact(handle)
        case .address:
            // Decoded escapes (%40, %2A, %0A) could not be parsed again with the same meaning.
            let isStable = !handle.text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0 == "*" }
            guard isStable, CallerHandle(handle.text) == handle else {
                throw problem(text, "holds escaped characters that no caller's address has")
            }
            // Reject text that is not a list, such as the web page of a captive portal.
            guard !handle.text.contains(where: { $0.isWhitespace || "<>\",;/\\{}".contains($0) }) else {
                throw problem(text, "is neither a number nor an address")
            }
            return .exact(handle)
        }
    }

    private static func host(_ written: Substring, in text: String) throws(RingwakeError) -> String {
        // Parse it as a caller, so that a port or a final dot is removed in the same way.
        let handle = CallerHandle("sip:a@\(written)")
        guard let domain = handle.domain, !domain.isEmpty, !domain.utf8.contains(UInt8(ascii: "*")),
            // Such as "a.": its text would be another host when it is read again.
            CallerHandle("sip:a@\(domain)").domain == domain
        else {
            throw problem(text, "names no host after *@")
        }
        return domain
    }

    private static func prefix(
        _ written: Substring, in text: String, rules: DiallingRules
    ) throws(RingwakeError) -> String {
        var bytes = Array(written.utf8)[...]
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
            guard bytes[..<colon].elementsEqual("tel".utf8) else {
                throw problem(text, "has no number before the *")
            }
            bytes = bytes[(colon + 1)...]
        }
        guard !bytes.isEmpty else {
            throw problem(text, "is every caller: for that, use do not disturb with an allow list")
        }
        guard let number = WrittenNumber(bytes) else { throw problem(text, "has no number before the *") }
        let prefix = rules.canonical(
            number.digits[...].utf8, isInternational: number.isInternational, isPrefix: true)
        guard prefix.utf8.count <= maximumDigits + 1, number.digits.utf8.count <= maximumDigits else {
            throw problem(text, "has more than \(maximumDigits) digits before the *")
        }
        return prefix
    }

    private static func problem(_ text: String, _ what: String) -> RingwakeError {
        let shown = text.unicodeScalars.prefix(64).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : String($0) }
        return RingwakeError(
            .invalidRequest,
            "'\(shown.joined())' \(what); write a number, +49900* for numbers that begin so, alice@example.org, "
                + "*@example.org, or anonymous")
    }
}

extension String {
    /// The text without white space at its ends.
    func trimmingBlanks() -> Substring {
        var rest = self[...].drop(while: \.isWhitespace)
        while let last = rest.last, last.isWhitespace { rest = rest.dropLast() }
        return rest
    }
}
