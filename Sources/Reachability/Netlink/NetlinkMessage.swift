internal import CRingwakeNetlink

/// One message of a netlink datagram. Its bytes are valid as long as those of the datagram.
struct NetlinkMessage {
    /// `RTM_*` or `NLMSG_*`.
    let type: Int
    /// `NLM_F_*`.
    let flags: Int32
    let sequence: UInt32
    /// What follows `nlmsghdr`.
    let body: UnsafeRawBufferPointer
}

/// The messages of a datagram. Ends at the first that doesn't fit into the remaining bytes.
struct NetlinkMessages: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    init(_ datagram: UnsafeRawBufferPointer) {
        rest = datagram
    }

    mutating func next() -> NetlinkMessage? {
        let headerLength = MemoryLayout<nlmsghdr>.size
        guard rest.count >= headerLength else { return nil }
        let header = rest.loadUnaligned(as: nlmsghdr.self)
        guard let length = Int(exactly: header.nlmsg_len), length >= headerLength, length <= rest.count else {
            rest = UnsafeRawBufferPointer(rebasing: rest.suffix(0))
            return nil
        }
        let body = UnsafeRawBufferPointer(rebasing: rest[headerLength..<length])
        // Messages begin at multiples of 4 bytes (NLMSG_ALIGNTO); no overflow, a length fits 32 bits.
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst((length + 3) & ~3))
        return NetlinkMessage(
            type: Int(header.nlmsg_type), flags: Int32(header.nlmsg_flags), sequence: header.nlmsg_seq, body: body)
    }
}

extension NetlinkMessage {
    /// The fixed part at the beginning of the body; nil if the body is shorter.
    func header<Header: BitwiseCopyable>(as type: Header.Type) -> Header? {
        body.count >= MemoryLayout<Header>.size ? body.loadUnaligned(as: type) : nil
    }

    /// The `errno` in an NLMSG_ERROR or an NLMSG_DONE; 0 for success, nil if there is none.
    var errorNumber: Int32? {
        guard let code = header(as: Int32.self) else { return nil }
        // The kernel sends it negated.
        return code == .min ? nil : -code
    }

    /// Calls `read` with the attributes that follow a fixed part.
    /// - Parameter maximum: the highest wanted type; attributes of higher types are skipped.
    func withAttributes<Header, Result>(
        after type: Header.Type, maximum: Int, _ read: (NetlinkAttributes) -> Result?
    ) -> Result? {
        let start = (MemoryLayout<Header>.size + 3) & ~3
        guard body.count >= start else { return nil }
        return NetlinkAttributes.parse(
            UnsafeRawBufferPointer(rebasing: body[start...]), maximum: maximum, read)
    }
}
