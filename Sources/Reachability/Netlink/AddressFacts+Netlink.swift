internal import CRingwakeNetlink
internal import Glibc

extension AddressFacts {
    /// Reads an RTM_NEWADDR or an RTM_DELADDR; nil for one of another family than IPv4 and IPv6.
    init?(_ message: NetlinkMessage) {
        guard let header = message.header(as: ifaddrmsg.self),
            Int32(header.ifa_family) == AF_INET || Int32(header.ifa_family) == AF_INET6, header.ifa_index > 0
        else { return nil }
        let facts = message.withAttributes(after: ifaddrmsg.self, maximum: IFA_FLAGS) { attributes -> AddressFacts? in
            // On a point-to-point link IFA_ADDRESS is the address of the other end.
            guard let address = attributes.address(IFA_LOCAL) ?? attributes.address(IFA_ADDRESS) else { return nil }
            return AddressFacts(
                interface: header.ifa_index, address: address, prefixLength: header.ifa_prefixlen,
                scope: header.ifa_scope,
                flags: attributes.number(IFA_FLAGS, as: UInt32.self) ?? UInt32(header.ifa_flags))
        }
        guard let facts else { return nil }
        self = facts
    }
}
