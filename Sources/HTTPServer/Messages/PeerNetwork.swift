import CRingwakeLinux
import Glibc

/// The network of a peer, which stands for one stranger: an IPv4 address, or the first 56 bits of an IPv6 address.
///
/// Everybody with IPv6 has 2^64 addresses or more, and home connections get a prefix of 56 bits (RFC 6177 section 2).
package nonisolated struct PeerNetwork: Hashable, Sendable, CustomStringConvertible {
    private let isIPv6: Bool
    private let bits: UInt64

    /// A Unix socket.
    package static let local = PeerNetwork(isIPv6: false, bits: 0)

    private init(isIPv6: Bool, bits: UInt64) {
        self.isIPv6 = isIPv6
        self.bits = bits
    }

    /// Its bits in hex, for tables of strangers.
    package var description: String { (isIPv6 ? "6:" : "4:") + String(bits, radix: 16) }

    private static let ipv6Bits: UInt64 = 56
    /// An IPv4 address in an IPv6 socket: `::ffff:192.0.2.1` (RFC 4291 section 2.5.5.2).
    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// The network of an address as the kernel reports it.
    init(_ storage: sockaddr_storage) {
        self = withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET:
                PeerNetwork(isIPv6: false, bits: Self.number(bytes[Self.ipv4Offset..<(Self.ipv4Offset + 4)]))
            case AF_INET6:
                Self.ipv6(bytes[Self.ipv6Offset..<(Self.ipv6Offset + 16)])
            default:
                .local
            }
        }
    }

    /// The network of `127.0.0.1:4711` or `[::1]:4711`; ``local`` if it is neither.
    package init(of address: String) {
        self = (try? SocketAddress(parsing: address)).map { PeerNetwork($0.kernelAddress.storage) } ?? .local
    }

    private static let ipv4Offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4
    private static let ipv6Offset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8

    private static func ipv6(_ address: Slice<UnsafeRawBufferPointer>) -> PeerNetwork {
        guard address.starts(with: mappedPrefix) else {
            return PeerNetwork(isIPv6: true, bits: number(address.prefix(8)) >> (64 - ipv6Bits))
        }
        return PeerNetwork(isIPv6: false, bits: number(address.suffix(4)))
    }

    private static func number(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
