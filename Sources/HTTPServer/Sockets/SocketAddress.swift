package import CRingwakeLinux
package import RingwakeCore

/// A numeric IP address and a port: `127.0.0.1:8443`, `[::1]:8443`. With port 0 the kernel chooses one.
package nonisolated struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// Whether it is an address of IPv6.
    package let isIPv6: Bool
    /// The address without brackets.
    package let host: String
    /// The TCP port.
    package let port: UInt16

    /// Any IPv4 address, any port.
    package static let any = SocketAddress()

    private init() {
        isIPv6 = false
        host = "0.0.0.0"
        port = 0
    }

    /// Parses `address:port`, with an IPv6 address in brackets.
    ///
    /// - Throws: `badConfiguration` if it is neither. Names are not resolved.
    package init(parsing text: String) throws(RingwakeError) {
        guard let colon = text.lastIndex(of: ":"), let port = SocketAddress.port(text[text.index(after: colon)...])
        else {
            throw SocketAddress.malformed(text)
        }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed {
            host = host.dropFirst().dropLast()
        }
        guard host.contains(":") == isBracketed else { throw SocketAddress.malformed(text) }
        var storage = sockaddr_storage()
        guard ringwake_ip_address(String(host), port, &storage) > 0 else { throw SocketAddress.malformed(text) }
        self.isIPv6 = isBracketed
        self.host = String(host)
        self.port = port
    }

    /// The address of a socket as the kernel reports it; nil if it isn't an IP address.
    init?(_ storage: sockaddr_storage) {
        guard let text = SocketAddress.describe(storage), let address = try? SocketAddress(parsing: text) else {
            return nil
        }
        self = address
    }

    package var description: String {
        isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The address in the kernel's form, with its length.
    package var kernelAddress: (storage: sockaddr_storage, length: socklen_t) {
        var storage = sockaddr_storage()
        let length = ringwake_ip_address(host, port, &storage)
        return (storage, length)
    }

    /// `127.0.0.1:4711`; nil if it isn't an IP address.
    static func describe(_ storage: sockaddr_storage) -> String? {
        var storage = storage
        // "[", 45 for the longest address, "]:65535", NUL.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            guard let base = text.baseAddress,
                ringwake_describe_ip_address(&storage, base, text.count) == 0
            else { return nil }
            return String(cString: base)
        }
    }

    private static func port(_ text: Substring) -> UInt16? {
        guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else { return nil }
        return UInt16(text)
    }

    private static func malformed(_ text: String) -> RingwakeError {
        RingwakeError(
            .badConfiguration,
            "'\(text)' is not an address to listen on; write a numeric address and a port, as 127.0.0.1:8443, "
                + "[::1]:8443 or 0.0.0.0:443")
    }
}
