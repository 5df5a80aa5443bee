internal import CRingwakeNetlink
internal import Glibc

/// Attributes by type, parsed by libnl. The last one of a type counts.
struct NetlinkAttributes {
    private let table: UnsafeMutableBufferPointer<UnsafeMutablePointer<nlattr>?>

    /// Parses the attributes in these bytes, and calls `read` with them.
    /// - Returns: The result of `read`; also nil if the bytes are unreadable.
    static func parse<Result>(
        _ bytes: UnsafeRawBufferPointer, maximum: Int, _ read: (NetlinkAttributes) -> Result?
    ) -> Result? {
        guard let length = Int32(exactly: bytes.count) else { return nil }
        return withUnsafeTemporaryAllocation(of: UnsafeMutablePointer<nlattr>?.self, capacity: maximum + 1) { table in
            table.initialize(repeating: nil)
            if length > 0, let start = bytes.baseAddress {
                let first = UnsafeMutableRawPointer(mutating: start).assumingMemoryBound(to: nlattr.self)
                guard nla_parse(table.baseAddress, Int32(maximum), first, length, nil) == 0 else { return nil }
            }
            return read(NetlinkAttributes(table: table))
        }
    }

    /// The bytes of an attribute; nil when there is none.
    func bytes(_ type: Int) -> UnsafeRawBufferPointer? {
        guard table.indices.contains(type), let attribute = table[type] else { return nil }
        let length = Int(nla_len(attribute))
        return length >= 0 ? UnsafeRawBufferPointer(start: nla_data(attribute), count: length) : nil
    }

    /// A number in host order; nil when there is none, or it is shorter.
    func number<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Int, as number: Number.Type) -> Number? {
        guard let bytes = bytes(type), bytes.count >= MemoryLayout<Number>.size else { return nil }
        return bytes.loadUnaligned(as: number)
    }

    /// Text up to a NUL, or to the end of the attribute.
    func text(_ type: Int, maximumLength: Int) -> String? {
        guard let bytes = bytes(type) else { return nil }
        return String(decoding: bytes.prefix(maximumLength).prefix { $0 != 0 }, as: UTF8.self)
    }

    /// An address of either family, by its length.
    func address(_ type: Int) -> IPAddress? {
        bytes(type).flatMap { IPAddress(bytes: $0) }
    }

    /// The attributes within an attribute.
    func nested<Result>(_ type: Int, maximum: Int, _ read: (NetlinkAttributes) -> Result?) -> Result? {
        bytes(type).flatMap { Self.parse($0, maximum: maximum, read) }
    }
}
