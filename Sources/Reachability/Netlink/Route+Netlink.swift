internal import CRingwakeNetlink
internal import Glibc

extension RouteAnswer {
    /// Reads an RTM_NEWROUTE that answers a look-up.
    init?(_ message: NetlinkMessage) {
        guard let header = message.header(as: rtmsg.self) else { return nil }
        let answer = message.withAttributes(after: rtmsg.self, maximum: RTA_VIA.index) { attributes in
            if let code = Self.refusal(type: header.rtm_type, attributes) { return RouteAnswer.refused(code) }
            var route = Route(type: header.rtm_type, attributes)
            // A clone, such as a learned MTU, expires too; the route itself stays.
            if header.rtm_flags & UInt32(RTM_F_CLONED) == 0 { route.lifetime = attributes.lifetime }
            return RouteAnswer.route(route)
        }
        guard let answer else { return nil }
        self = answer
    }

    /// Some kernels answer an IPv6 look-up with a route even if they refuse it; the `errno` is then in RTA_CACHEINFO.
    private static func refusal(type: UInt8, _ attributes: NetlinkAttributes) -> Int32? {
        let byType: Int32
        switch Int(type) {
        case RTN_UNREACHABLE: byType = EHOSTUNREACH
        case RTN_PROHIBIT: byType = EACCES
        case RTN_BLACKHOLE: byType = EINVAL
        case RTN_THROW: byType = ENETUNREACH
        default: return nil
        }
        guard let facts = attributes.cacheFacts else { return byType }
        let code = Int32(bitPattern: facts.rta_error)
        // The null entry means no route at all, and is of type unreachable.
        return code == -ENETUNREACH ? ENETUNREACH : byType
    }
}

extension Route {
    init(type: UInt8, _ attributes: NetlinkAttributes) {
        let hops = attributes.bytes(RTA_MULTIPATH.index).map(Hop.all) ?? []
        let alive = hops.filter { !$0.isDead }
        let hop = alive.first ?? hops.first
        self.init(
            type: type, interface: attributes.number(RTA_OIF.index, as: UInt32.self) ?? hop?.interface ?? 0,
            hops: alive.map(\.interface),
            gateway: attributes.gateway ?? hop?.gateway, source: attributes.address(RTA_PREFSRC.index),
            metric: attributes.number(RTA_PRIORITY.index, as: UInt32.self) ?? 0)
    }

    /// One hop of a route that has several.
    private struct Hop {
        let interface: UInt32
        let gateway: IPAddress?
        let isDead: Bool

        static func all(_ bytes: UnsafeRawBufferPointer) -> [Hop] {
            var rest = bytes
            var hops: [Hop] = []
            let headerLength = MemoryLayout<rtnexthop>.size
            while rest.count >= headerLength {
                let header = rest.loadUnaligned(as: rtnexthop.self)
                let length = Int(header.rtnh_len)
                guard length >= headerLength, length <= rest.count else { break }
                let attributes = UnsafeRawBufferPointer(rebasing: rest[headerLength..<length])
                hops.append(
                    Hop(
                        interface: UInt32(exactly: header.rtnh_ifindex) ?? 0,
                        gateway: NetlinkAttributes.parse(attributes, maximum: RTA_VIA.index) { $0.gateway },
                        isDead: Int32(header.rtnh_flags) & RTNH_F_DEAD != 0))
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst((length + 3) & ~3))
            }
            return hops
        }
    }
}

extension NetlinkAttributes {
    /// RTA_CACHEINFO.
    fileprivate var cacheFacts: rta_cacheinfo? {
        guard let bytes = bytes(RTA_CACHEINFO.index), bytes.count >= MemoryLayout<rta_cacheinfo>.size else {
            return nil
        }
        return bytes.loadUnaligned(as: rta_cacheinfo.self)
    }

    /// Remaining lifetime of the route. The kernel gives it in ticks of the clock that it shows to programs
    /// (USER_HZ), and 0 for no limit.
    fileprivate var lifetime: Duration? {
        let ticks = Int64(cacheFacts?.rta_expires ?? 0)
        let ticksPerSecond = Int64(sysconf(Int32(_SC_CLK_TCK)))
        guard ticks > 0, ticksPerSecond > 0 else { return nil }
        return .milliseconds(ticks * 1_000 / ticksPerSecond)
    }

    /// RTA_GATEWAY, or RTA_VIA: a gateway of the other family (RFC 5549).
    fileprivate var gateway: IPAddress? {
        if let gateway = address(RTA_GATEWAY.index) { return gateway }
        let familyLength = MemoryLayout<rtvia>.size
        guard let via = bytes(RTA_VIA.index), via.count > familyLength else { return nil }
        switch Int32(via.loadUnaligned(as: rtvia.self).rtvia_family) {
        case AF_INET: return IPAddress(bytes: via.dropFirst(familyLength).prefix(4))
        case AF_INET6: return IPAddress(bytes: via.dropFirst(familyLength).prefix(16))
        default: return nil
        }
    }
}

extension rtattr_type_t {
    /// As an index of a table of attributes.
    fileprivate var index: Int { Int(rawValue) }
}
