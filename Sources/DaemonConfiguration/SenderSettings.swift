internal import Reachability
package import RingwakeCore

/// The `[senders]` table: how senders reach the apps of this device. Apps tell it to their servers.
package struct SenderSettings: Sendable, Equatable {
    /// Where senders of the development environment connect; nil: where the daemon listens.
    package var development: SenderAddress?
    /// Where senders of the production environment connect; nil: where the daemon listens.
    package var production: SenderAddress?
    /// PEM file with the CAs that senders have to trust; nil: the CA that issued the server certificate.
    package var authoritiesFile: String?

    package init() {}

    /// Where senders of an environment connect; nil if it isn't configured.
    package func address(in environment: PushEnvironment) -> SenderAddress? {
        switch environment {
        case .development: development
        case .production: production
        }
    }
}

/// Where a sender connects: `phone.example.org`, `phone.example.org:2197`, `192.0.2.1:2197`, `[2001:db8::1]:2197`.
package struct SenderAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name in lower case, or a numeric address without brackets.
    package let host: String
    /// The TCP port, not 0; nil: that of the listener.
    package let port: UInt16?

    /// What ``init(_:)`` reads, as part of a message.
    static let form =
        "a host name or an address, and a port if it is another than the listener's, such as "
        + "\"phone.example.org:2197\" or \"[2001:db8::1]:2197\""

    /// Reads a host name or an address, and perhaps a port. An IPv6 address needs brackets. An unspecified address, an
    /// address with a zone and a name that ends with a dot lead no sender here.
    ///
    /// - Returns: nil for anything else.
    package init?(_ text: String) {
        let isBracketed = text.hasPrefix("[")
        let delimiter = text.firstIndex(of: isBracketed ? "]" : ":")
        guard let end = delimiter ?? (isBracketed ? nil : text.endIndex) else { return nil }
        let name = text[..<end].dropFirst(isBracketed ? 1 : 0)
        let rest = text[end...].dropFirst(isBracketed ? 1 : 0)
        if rest.isEmpty {
            port = nil
        } else {
            guard rest.first == ":", let number = SenderAddress.port(rest.dropFirst()) else { return nil }
            port = number
        }
        switch ReachabilityTarget(String(name)) {
        case .address(let address)? where address.zone.isEmpty && isBracketed == name.contains(":"):
            host = address.description
        case .host(let known)? where !isBracketed && !known.hasSuffix("."):
            host = known
        default: return nil
        }
    }

    /// The text from which ``init(_:)`` makes the same address.
    package var description: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    private static func port(_ text: Substring) -> UInt16? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return UInt16(text).flatMap { $0 == 0 ? nil : $0 }
    }
}
