/// The numbers of emergency services. Nothing that the user or the owner has set keeps a call to one of them from being
/// tried.
package struct EmergencyNumbers: Hashable, Sendable {
    /// The digits of each number.
    package let numbers: [String]

    /// 112 is the number of the European Union, and every GSM telephone knows it and 911 (3GPP TS 22.101 section 10.1).
    package static let standard = EmergencyNumbers(known: ["112", "911"])
    /// The beginning of every emergency service's name (RFC 5031 section 4.2).
    private static let serviceName = "urn:service:sos"
    private static let lengths = 2...15

    private init(known numbers: [String]) { self.numbers = numbers }

    /// - Returns: nil unless each number has 2 to 15 digits, and nothing else.
    package init?(_ numbers: [String]) {
        let areNumbers = numbers.allSatisfy { number in
            Self.lengths.contains(number.utf8.count)
                && number.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard areNumbers else { return nil }
        self.numbers = numbers
    }

    /// Whether this calls an emergency service: one of the numbers, alone, as a `tel:` URI or as the user of a SIP URI, or
    /// a service's name.
    package func contains(_ written: String) -> Bool {
        let handle = CallerHandle(written)
        switch handle.kind {
        case .anonymous: return false
        case .number: return numbers.contains(handle.text)
        case .address:
            if handle.text.hasPrefix(Self.serviceName) {
                let rest = handle.text.utf8.dropFirst(Self.serviceName.utf8.count)
                return rest.first == nil || rest.first == UInt8(ascii: ".")
            }
            // The user of a SIP URI may have parameters, and any other "@" in it belongs to the user.
            let user = handle.text.lastIndex(of: "@").map { handle.text[..<$0] } ?? handle.text[...]
            return numbers.contains(String(user.prefix { $0 != ";" }))
        }
    }
}
