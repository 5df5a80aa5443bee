internal import Glibc

/// An IPv4 or IPv6 address.
///
/// An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291 section 2.5.5.2) is the IPv4 address that it contains.
public struct IPAddress: Hashable, Sendable {
    /// The two families.
    public enum Family: Hashable, Sendable {
        case ipv4
        case ipv6
    }

    public let family: Family

    /// The interface that a link-local address belongs to, by name or by index (RFC 4007 section 11); empty for none.
    public let zone: String

    /// The first 64 bits of an IPv6 address; 0 for IPv4.
    let high: UInt64
    /// The last 64 bits of an IPv6 address, or the 32 bits of an IPv4 address.
    let low: UInt64

    init(ipv4 bits: UInt32) {
        family = .ipv4
        zone = ""
        high = 0
        low = UInt64(bits)
    }

    init(high: UInt64, low: UInt64, zone: String = "") {
        let isMapped = high == 0 && low >> 32 == 0xffff
        family = isMapped ? .ipv4 : .ipv6
        self.zone = isMapped ? "" : zone
        self.high = high
        self.low = isMapped ? low & 0xffff_ffff : low
    }

    /// Creates an address from bytes in network order.
    /// - Returns: Nil if there are neither 4 nor 16 bytes.
    public init?(bytes: some Collection<UInt8>) {
        func word(_ bytes: some Collection<UInt8>) -> UInt64 {
            bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }
        switch bytes.count {
        case 4: self.init(ipv4: UInt32(truncatingIfNeeded: word(bytes)))
        case 16: self.init(high: word(bytes.prefix(8)), low: word(bytes.dropFirst(8)))
        default: return nil
        }
    }

    /// The address in network order: 4 or 16 bytes.
    public var bytes: [UInt8] {
        func bytes(_ word: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * (count - 1 - $0))) }
        }
        return family == .ipv4 ? bytes(low, 4) : bytes(high, 8) + bytes(low, 8)
    }

    /// The same address in the zone of an interface.
    public func inZone(_ zone: String) -> IPAddress {
        family == .ipv4 ? self : IPAddress(high: high, low: low, zone: zone)
    }
}

extension IPAddress: CustomStringConvertible, LosslessStringConvertible {
    /// Maximum length of a zone: the kernel's limit for the name of an interface.
    private static let maximumZoneLength = 15

    /// Reads `192.0.2.1`, `2001:db8::1` or `fe80::1%eth0`; nothing else, no port, no brackets.
    public init?(_ text: String) {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let literal = parts.first, !text.utf8.contains(0) else { return nil }
        if parts.count == 2 {
            guard literal.contains(":"), !parts[1].isEmpty, parts[1].utf8.count <= Self.maximumZoneLength else {
                return nil
            }
        }
        // Bytes, not in_addr: the module that provides its members depends on the other imports.
        var bytes = [UInt8](repeating: 0, count: 16)
        let isIPv4 = parts.count == 1 && inet_pton(AF_INET, text, &bytes) == 1
        guard isIPv4 || inet_pton(AF_INET6, String(literal), &bytes) == 1 else { return nil }
        guard let address = IPAddress(bytes: bytes.prefix(isIPv4 ? 4 : 16)) else { return nil }
        self = parts.count == 2 ? address.inZone(String(parts[1])) : address
    }

    /// The form of RFC 5952, with the zone after a `%`.
    public var description: String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isWritten = bytes.withUnsafeBytes {
            inet_ntop(
                family == .ipv4 ? AF_INET : AF_INET6, $0.baseAddress, &buffer, socklen_t(INET6_ADDRSTRLEN)) != nil
        }
        // Fails only if the buffer is too small, and it fits the longest address.
        guard isWritten else { return "" }
        let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return zone.isEmpty ? text : "\(text)%\(zone)"
    }
}

extension IPAddress {
    /// All bits 0: `0.0.0.0` or `::`.
    public var isUnspecified: Bool { high == 0 && low == 0 }

    /// `127.0.0.0/8` or `::1`.
    public var isLoopback: Bool { family == .ipv4 ? low >> 24 == 127 : high == 0 && low == 1 }

    /// `169.254.0.0/16` (RFC 3927) or `fe80::/10` (RFC 4291 section 2.5.6).
    public var isLinkLocal: Bool { family == .ipv4 ? low >> 16 == 0xa9fe : high >> 54 == 0x3fa }

    /// `224.0.0.0/4` or `ff00::/8`.
    public var isMulticast: Bool { family == .ipv4 ? low >> 28 == 0xe : high >> 56 == 0xff }

    /// The address that packets to it reach: the kernel takes the unspecified address for this machine.
    var reached: IPAddress {
        guard isUnspecified else { return self }
        return family == .ipv4 ? IPAddress(ipv4: 0x7f00_0001) : IPAddress(high: 0, low: 1)
    }
}
