/// Where a team's receipts are posted to: an `https` URL, or an `http` one of this machine itself.
///
/// The URL is the word of who may write the team's file: a name or an address inside the operator's network is as good as
/// one outside.
package struct WebhookURL: Hashable, Sendable {
    /// Bytes at most.
    private static let maximumBytes = 2048

    package let text: String
    /// The host as the URL has it, in lower case.
    package let host: String
    /// Whether the host is this machine: no proxy, and plain HTTP will do.
    package var isLocal: Bool { Self.isLoopback(host) }

    /// What a URL has to be, as part of a message.
    package static let form = "a URL like https://example.org/receipts; http only for 127.0.0.1, [::1] and localhost"

    /// Nil for anything else. A user and a password are refused: they would be shown with the URL.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].hasPrefix("//") else { return nil }
        let authority = parts[1].dropFirst(2).prefix { !"/?#\\".contains($0) }
        guard let host = Self.host(of: authority) else { return nil }
        switch parts[0].lowercased() {
        case "https": break
        case "http" where Self.isLoopback(host): break
        default: return nil
        }
        self.text = text
        self.host = host
    }

    /// The host of `host`, `host:port` or `[address]:port`.
    private static func host(of authority: Substring) -> String? {
        guard !authority.contains("@") else { return nil }
        let isBracketed = authority.hasPrefix("[")
        guard let end = isBracketed ? authority.firstIndex(of: "]").map(authority.index(after:)) : authority.endIndex
        else { return nil }
        let host = isBracketed ? authority[..<end] : authority.prefix { $0 != ":" }
        let port = authority[host.endIndex...]
        guard port.isEmpty || port.first == ":" && (UInt16(port.dropFirst()) ?? 0) > 0 else { return nil }
        return host.isEmpty ? nil : host.lowercased()
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
    }
}
