/// A caller in a canonical form, so that two spellings of one caller are equal.
///
/// A number is E.164 with a plus (`+4989123456`), or only its digits if the E.164 form is unknown. Anything else is an
/// address (`alice@example.org`) or a handle of the app, in lower case.
package struct CallerHandle: Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// A telephone number.
        case number
        /// An address, or any handle.
        case address
        /// The caller withholds its identity.
        case anonymous
    }

    package let kind: Kind
    /// The canonical form: at most ``maximumBytes``, `anonymous` for an anonymous caller.
    package let text: String
    /// The host of the caller, also for a number (`sip:+4989123456@example.org`). It is not part of the identity.
    package let domain: String?

    /// The maximum size of ``text`` in bytes.
    package static let maximumBytes = 256
    /// A caller that withholds its identity.
    package static let anonymous = CallerHandle(.anonymous, "anonymous", domain: nil)

    init(_ kind: Kind, _ text: String, domain: String?) {
        self.kind = kind
        self.text = text.prefix(bytes: CallerHandle.maximumBytes)
        self.domain = domain?.prefix(bytes: CallerHandle.maximumBytes)
    }

    /// Parses a caller from a payload, a handler, a list or a person: a `sip:`, `sips:` or `tel:` URI (RFC 3261 section
    /// 19.1, RFC 3966), with or without display name and parameters, a number, or any handle.
    ///
    /// White space around it is dropped, as ``CallerPattern`` does. Only the first 4 KiB after it are read.
    /// - Parameter written: nil means an anonymous caller.
    package init(_ written: String?, rules: DiallingRules = .none) {
        var reader = CallerReader(rules: rules)
        self = reader.read(Array((written ?? "").trimmingBlanks().utf8.prefix(CallerReader.maximumBytes))[...])
    }

    package var description: String { text }
}

extension CallerHandle: Hashable {
    // The host is ignored: for a number it is the gateway, which may change from call to call; an address contains its
    // host.
    package static func == (left: CallerHandle, right: CallerHandle) -> Bool {
        left.kind == right.kind && left.text == right.text
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(text)
    }
}
