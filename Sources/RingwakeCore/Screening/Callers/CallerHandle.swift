/// Who calls, in a form in which two spellings of one caller are equal.
///
/// A number is E.164 with a plus (`+4989123456`) or, where that cannot be told, its digits; anything else is an address
/// (`alice@example.org`) or a handle of the app's own, in lower case.
package struct CallerHandle: Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// A telephone number.
        case number
        /// An address, or any handle.
        case address
        /// The caller does not say who it is.
        case anonymous
    }

    package let kind: Kind
    /// The form that is compared: at most ``maximumBytes``, `anonymous` for an anonymous one.
    package let text: String
    /// The host that the caller calls from, also of a number (`sip:+4989123456@example.org`); no part of who it is.
    package let domain: String?

    /// The most bytes of ``text``.
    package static let maximumBytes = 256
    /// A caller that does not say who it is.
    package static let anonymous = CallerHandle(.anonymous, "anonymous", domain: nil)

    init(_ kind: Kind, _ text: String, domain: String?) {
        self.kind = kind
        self.text = text.prefix(bytes: CallerHandle.maximumBytes)
        self.domain = domain?.prefix(bytes: CallerHandle.maximumBytes)
    }

    /// Reads a caller as a payload, a handler, a list or a person writes it: a `sip:`, `sips:` or `tel:` URI
    /// (RFC 3261 section 19.1, RFC 3966), with a display name or parameters around it, a number, or any handle.
    ///
    /// Of a text over 4 KiB the rest is not looked at.
    /// - Parameter written: nil when nothing is said, and then the caller is anonymous.
    package init(_ written: String?, rules: DiallingRules = .none) {
        var reader = CallerReader(rules: rules)
        self = reader.read(Array((written ?? "").utf8.prefix(CallerReader.maximumBytes))[...])
    }

    package var description: String { text }
}

extension CallerHandle: Hashable {
    // The host is where a number comes in, which may change from call to call; an address holds it in its text.
    package static func == (left: CallerHandle, right: CallerHandle) -> Bool {
        left.kind == right.kind && left.text == right.text
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(text)
    }
}
