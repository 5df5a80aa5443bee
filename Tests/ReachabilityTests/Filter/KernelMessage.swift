import CRingwakeNetlink
import Glibc

@testable import Reachability

/// Messages as the kernel sends them, byte by byte.
enum KernelMessage {
    static func link(
        _ type: Int = RTM_NEWLINK, index: UInt32 = 7, flags: UInt32 = 0x1003, family: Int32 = AF_UNSPEC,
        with attributes: [UInt8]...
    ) -> [UInt8] {
        var payload = ifinfomsg()
        payload.ifi_family = UInt8(family)
        payload.ifi_index = Int32(bitPattern: index)
        payload.ifi_flags = flags
        return message(type, payload, [attribute(IFLA_IFNAME, string: "eth0")] + attributes)
    }

    static func address(
        _ type: Int = RTM_NEWADDR, index: UInt32 = 7, family: Int32 = AF_INET6, scope: rt_scope_t = RT_SCOPE_UNIVERSE,
        flags: Int32 = 0, created: UInt32? = 1_000, updated: UInt32 = 1_000
    ) -> [UInt8] {
        let payload = ifaddrmsg(
            ifa_family: UInt8(family), ifa_prefixlen: 24, ifa_flags: UInt8(truncatingIfNeeded: flags),
            ifa_scope: UInt8(scope.rawValue), ifa_index: index)
        var attributes = [attribute(Int(IFA_ADDRESS), [192, 0, 2, 1])]
        if let created {
            let times = ifa_cacheinfo(ifa_prefered: 1_800, ifa_valid: 3_600, cstamp: created, tstamp: updated)
            attributes.append(attribute(Int(IFA_CACHEINFO), bytes(of: times)))
        }
        return message(type, payload, attributes)
    }

    static func route(
        _ type: Int = RTM_NEWROUTE, to destination: String? = nil, length: UInt8 = 0, family: Int32 = AF_INET,
        kind: Int = RTN_UNICAST, flags: Int32 = 0
    ) -> [UInt8] {
        let address = destination.flatMap { IPAddress($0) }
        let isIPv6 = address.map { $0.family == .ipv6 } ?? (family == AF_INET6)
        return route(
            type, bytes: address?.bytes, length: length, family: isIPv6 ? AF_INET6 : family, kind: kind, flags: flags)
    }

    static func route(
        _ type: Int = RTM_NEWROUTE, bytes address: [UInt8]?, length: UInt8, family: Int32, kind: Int = RTN_UNICAST,
        flags: Int32 = 0
    ) -> [UInt8] {
        var payload = rtmsg()
        payload.rtm_family = UInt8(family)
        payload.rtm_dst_len = length
        payload.rtm_type = UInt8(kind)
        payload.rtm_flags = UInt32(flags)
        let table = attribute(Int(RTA_TABLE.rawValue), [254, 0, 0, 0])
        return message(type, payload, [table] + (address.map { [attribute(Int(RTA_DST.rawValue), $0)] } ?? []))
    }

    static func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
        let header = nlattr(nla_len: UInt16(4 + value.count), nla_type: UInt16(type))
        return bytes(of: header) + value + [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
    }

    static func attribute(_ type: Int, string: String) -> [UInt8] { attribute(type, Array(string.utf8) + [0]) }

    /// IFLA_LINKINFO of a port.
    static func port(of kind: String) -> [UInt8] {
        attribute(
            IFLA_LINKINFO,
            attribute(IFLA_INFO_KIND, string: "veth") + attribute(IFLA_INFO_SLAVE_KIND, string: kind))
    }

    static func message(_ type: Int, _ payload: some Any, _ attributes: [[UInt8]] = []) -> [UInt8] {
        let body = bytes(of: payload) + attributes.flatMap { $0 }
        let header = nlmsghdr(
            nlmsg_len: UInt32(16 + body.count), nlmsg_type: UInt16(type), nlmsg_flags: 0, nlmsg_seq: 0, nlmsg_pid: 0)
        return bytes(of: header) + body
    }

    private static func bytes(of value: some Any) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
}
