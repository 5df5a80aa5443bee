/// Parses a caller. The text is untrusted; every text results in a handle.
struct CallerReader {
    let rules: DiallingRules

    static let maximumBytes = 4_096
    // A SIP user of digits alone is a telephone number from this many digits on, with a leading zero or without.
    // Shorter ones are extensions and account numbers, which are valid only at their host.
    private static let fewestDigitsAfterZero = 7
    private static let fewestDigits = 10
    private static let anonymousWords: Set<String> = [
        "", "anonymous", "unknown", "unavailable", "private", "restricted", "withheld",
    ]

    mutating func read(_ written: ArraySlice<UInt8>) -> CallerHandle {
        let bytes = trimmed(addressPart(trimmed(written)))
        if let rest = after("tel:", bytes) { return telephone(rest) }
        if let rest = after("sips:", bytes) ?? after("sip:", bytes) { return sip(trimmed(rest)) }
        // A handle that begins with @, as in Matrix, is not a SIP address: it has no user before the @.
        if let at = bytes.firstIndex(of: UInt8(ascii: "@")), at > bytes.startIndex { return sip(bytes) }
        if let number = WrittenNumber(bytes) { return handle(of: number, domain: nil) }
        let text = lowercased(bytes)
        return CallerReader.anonymousWords.contains(text) ? .anonymous : CallerHandle(.address, text, domain: nil)
    }

    /// The text in angle brackets, which may follow a display name in quotes (RFC 3261 section 25.1, "name-addr").
    private func addressPart(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes
        if rest.first == UInt8(ascii: "\"") {
            rest = rest.dropFirst()
            while let byte = rest.first, byte != UInt8(ascii: "\"") {
                rest = rest.dropFirst(byte == UInt8(ascii: "\\") ? 2 : 1)
            }
        }
        guard let open = rest.firstIndex(of: UInt8(ascii: "<")) else { return bytes }
        rest = rest[(open + 1)...]
        return rest.prefix { $0 != UInt8(ascii: ">") }
    }

    /// `tel:+49-89-123;ext=5`, or `tel:7042;phone-context=example.org`, which means the user 7042 at that host. A
    /// context of digits is not a prefix of the number (RFC 3966 section 5.1.5).
    private func telephone(_ bytes: ArraySlice<UInt8>) -> CallerHandle {
        let subscriber = bytes.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "?") }
        let decoded = percentDecoded(subscriber)
        let context = parameter("phone-context", of: bytes[subscriber.endIndex...]).map(host)
        let domain = context.flatMap { $0.utf8.first == UInt8(ascii: "+") || $0.isEmpty ? nil : $0 }
        guard let number = WrittenNumber(decoded[...]) else {
            let text = lowercased(decoded[...])
            return CallerReader.anonymousWords.contains(text) ? .anonymous : CallerHandle(.address, text, domain: nil)
        }
        if let domain, !isTelephone(number) {
            return CallerHandle(.address, "\(number.digits)@\(domain)", domain: domain)
        }
        return handle(of: number, domain: domain)
    }

    /// `user:password@host:port;parameters?headers`. The user may also contain `;` and `?`.
    private func sip(_ bytes: ArraySlice<UInt8>) -> CallerHandle {
        guard let at = bytes.firstIndex(of: UInt8(ascii: "@")) else {
            let name = bytes.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "?") }
            if let number = WrittenNumber(percentDecoded(name)[...]) { return handle(of: number, domain: nil) }
            let host = host(bytes)
            return host.isEmpty ? .anonymous : CallerHandle(.address, host, domain: host)
        }
        let (rest, domain) = (bytes[(at + 1)...], host(bytes[(at + 1)...]))
        let user = percentDecoded(bytes[..<at].prefix { $0 != UInt8(ascii: ":") })
        let name = lowercased(user[...])
        // RFC 3323 section 4.1.1.3. Many senders use their own host after the user.
        if name == "anonymous" || domain == "anonymous.invalid" || domain.hasSuffix(".anonymous.invalid") {
            return .anonymous
        }
        if let number = WrittenNumber(user.prefix { $0 != UInt8(ascii: ";") }) {
            let parameters = rest.drop { $0 != UInt8(ascii: ";") }
            if isTelephone(number) || parameter("user", of: parameters).map(lowercased) == "phone" {
                return handle(of: number, domain: domain)
            }
        }
        if name.isEmpty { return domain.isEmpty ? .anonymous : CallerHandle(.address, domain, domain: domain) }
        return CallerHandle(.address, "\(name)@\(domain)", domain: domain)
    }

    private func isTelephone(_ number: WrittenNumber) -> Bool {
        let digits = number.digits.utf8
        let fewest = digits.first == UInt8(ascii: "0") ? CallerReader.fewestDigitsAfterZero : CallerReader.fewestDigits
        return number.isInternational || digits.count >= fewest
    }

    private func handle(of number: WrittenNumber, domain: String?) -> CallerHandle {
        let text = rules.canonical(number.digits[...].utf8, isInternational: number.isInternational)
        return CallerHandle(.number, text, domain: domain)
    }

    /// The host at the start of `bytes`, in lower case, without the port and a final dot.
    private func host(_ bytes: ArraySlice<UInt8>) -> String {
        let ends = Array(" \t,;?/>@".utf8)
        let isLiteral = bytes.first == UInt8(ascii: "[")
        var host = bytes.prefix { byte in
            isLiteral ? byte != UInt8(ascii: "]") : byte != UInt8(ascii: ":") && !ends.contains(byte)
        }
        if isLiteral { host = bytes[bytes.startIndex..<min(host.endIndex + 1, bytes.endIndex)] }
        if host.last == UInt8(ascii: ".") { host = host.dropLast() }
        return lowercased(host)
    }

    /// The value of a parameter among `;name=value;name`, up to the headers.
    private func parameter(_ name: String, of bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        for part in bytes.prefix(while: { $0 != UInt8(ascii: "?") }).split(separator: UInt8(ascii: ";")) {
            if let value = after("\(name)=", part) { return value }
        }
        return nil
    }

    /// The rest after `prefix`, which is in lower case and matches either case; nil if it doesn't match.
    private func after(_ prefix: String, _ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.count >= prefix.utf8.count else { return nil }
        let isThere = zip(bytes, prefix.utf8).allSatisfy { byte, wanted in
            byte == wanted || (byte | 0x20 == wanted && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(wanted))
        }
        return isThere ? bytes.dropFirst(prefix.utf8.count) : nil
    }

    /// `%2B` is `+` (RFC 3261 section 19.1.4).
    private func percentDecoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        HexEscapes.decoded(bytes, mark: UInt8(ascii: "%"))
    }

    private func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes.drop { $0 <= 0x20 }
        while let last = rest.last, last <= 0x20 { rest = rest.dropLast() }
        return rest
    }

    private func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }
}
