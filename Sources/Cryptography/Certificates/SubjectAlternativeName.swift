import Glibc
import RingwakeCore

/// A host name or an address that a server certificate is for.
package enum SubjectAlternativeName: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name, such as `localhost`.
    case dns(String)
    /// An address in network order: 4 bytes (IPv4) or 16 (IPv6).
    case ip([UInt8])

    static let extensionIdentifier = "2.5.29.17"
    /// The lengths that an address has, in bytes.
    private static let ipv4Bytes = 4
    private static let ipv6Bytes = 16

    /// An address of 4 or 16 bytes.
    init?(address: [UInt8]) {
        guard address.count == Self.ipv4Bytes || address.count == Self.ipv6Bytes else { return nil }
        self = .ip(address)
    }

    /// Reads a user's input: an IPv4 or IPv6 address, else a DNS name.
    package init(_ text: String) {
        var ipv4 = in_addr()
        var ipv6 = in6_addr()
        if inet_pton(AF_INET, text, &ipv4) == 1 {
            self = .ip(withUnsafeBytes(of: &ipv4) { Array($0) })
        } else if inet_pton(AF_INET6, text, &ipv6) == 1 {
            self = .ip(withUnsafeBytes(of: &ipv6) { Array($0) })
        } else {
            self = .dns(text)
        }
    }

    /// The name, or the address in its usual notation.
    package var description: String {
        switch self {
        case .dns(let name):
            return name
        case .ip(let address):
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            let family = address.count == Self.ipv4Bytes ? AF_INET : AF_INET6
            guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return encodeHex(address) }
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
