internal import CRingwakeNetlink
internal import FileSystem
internal import Glibc

/// Queries the kernel by netlink, on a socket of its own. The kernel answers within the call.
final class KernelQueries: KernelLookup {
    /// Dumps that changed under the reader, and were read again.
    var interruptedDumps: UInt64 { exchange.interruptedDumps }

    private let exchange: NetlinkExchange

    /// - Throws: `system`: the kernel refuses a socket.
    init() throws(ReachabilityError) {
        exchange = try NetlinkExchange()
    }

    // MARK: - Routes

    func route(_ question: RouteQuestion) throws(KernelLookupError) -> RouteAnswer {
        let isIPv4 = question.destination.family == .ipv4
        var header = rtmsg()
        header.rtm_family = UInt8(isIPv4 ? AF_INET : AF_INET6)
        header.rtm_dst_len = isIPv4 ? 32 : 128
        // Never RTM_F_LOOKUP_TABLE: with strict checks IPv6 answers EINVAL, the error of a blackhole.
        header.rtm_flags = question.matchesTable ? UInt32(RTM_F_FIB_MATCH) : 0
        if let source = question.source {
            guard source.family == question.destination.family else {
                throw KernelLookupError(request: "RTM_GETROUTE", message: "addresses of two families")
            }
            header.rtm_src_len = header.rtm_dst_len
        }
        let request = try NetlinkRequest("RTM_GETROUTE", type: RTM_GETROUTE, header: header)
        try request.put(Int(RTA_DST.rawValue), question.destination.bytes)
        if let source = question.source { try request.put(Int(RTA_SRC.rawValue), source.bytes) }
        if question.interface != 0 { try request.put(Int(RTA_OIF.rawValue), question.interface) }
        if let user = question.user { try request.put(Int(RTA_UID.rawValue), user) }
        let reply = try exchange.ask(request, for: RTM_NEWROUTE) { RouteAnswer($0) }
        switch reply {
        case .value(let answer): return answer
        case .refused(let code):
            switch code {
            case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL: return .refused(code)
            // The kernel lacks the family, or the interface to leave by is gone.
            case EAFNOSUPPORT, EOPNOTSUPP, ENODEV: return .refused(ENETUNREACH)
            default: throw KernelLookupError(request: request.name, message: String(cString: strerror(code)))
            }
        }
    }

    // MARK: - Links

    func links() throws(KernelLookupError) -> [LinkFacts] {
        let request = try NetlinkRequest("RTM_GETLINK", type: RTM_GETLINK, flags: NLM_F_DUMP, header: ifinfomsg())
        try spareStatistics(request)
        return try exchange.dump(request, of: RTM_NEWLINK) { LinkFacts($0) }
    }

    func link(_ index: UInt32) throws(KernelLookupError) -> LinkFacts? {
        guard index > 0, let number = Int32(exactly: index) else { return nil }
        var header = ifinfomsg()
        header.ifi_index = number
        return try link(NetlinkRequest("RTM_GETLINK", type: RTM_GETLINK, header: header))
    }

    func index(ofLink name: String) throws(KernelLookupError) -> UInt32? {
        let bytes = Array(name.utf8)
        guard (1...LinkFacts.maximumNameLength).contains(bytes.count), !bytes.contains(0) else { return nil }
        let request = try NetlinkRequest("RTM_GETLINK", type: RTM_GETLINK, header: ifinfomsg())
        try request.put(IFLA_IFNAME, bytes + [0])
        return try link(request)?.index
    }

    private func link(_ request: NetlinkRequest) throws(KernelLookupError) -> LinkFacts? {
        try spareStatistics(request)
        let reply = try exchange.ask(request, for: RTM_NEWLINK) { LinkFacts($0) }
        switch reply {
        case .value(let facts): return facts
        case .refused(ENODEV): return nil
        case .refused(let code):
            throw KernelLookupError(request: "RTM_GETLINK", message: String(cString: strerror(code)))
        }
    }

    /// Omits the counters: they are half of a link's message, and unused here.
    private func spareStatistics(_ request: NetlinkRequest) throws(KernelLookupError) {
        try request.put(IFLA_EXT_MASK, UInt32(RTEXT_FILTER_SKIP_STATS))
    }

    // MARK: - Addresses

    func addresses(of interface: UInt32) throws(KernelLookupError) -> [AddressFacts] {
        var header = ifaddrmsg()
        // Under strict checks the kernel sends only those of this interface.
        header.ifa_index = interface
        let request = try NetlinkRequest("RTM_GETADDR", type: RTM_GETADDR, flags: NLM_F_DUMP, header: header)
        return try exchange.dump(request, of: RTM_NEWADDR, emptyFor: ENODEV) { message in
            // A kernel before 4.20 has no strict checks, and sends all.
            AddressFacts(message).flatMap { interface == 0 || $0.interface == interface ? $0 : nil }
        }
    }

    // MARK: - Devices

    /// Maximum bytes of a uevent; they have under 100.
    private static let maximumEventBytes = 4_096

    func deviceType(of link: LinkFacts) -> String {
        // The kernel accepts no such name either, but the path must not depend on that.
        guard !link.name.utf8.contains(0x2f), link.name != ".", link.name != ".." else { return "" }
        let path = "/sys/class/net/\(link.name)/uevent"
        guard let bytes = try? FileSystem.read(path, maximumSize: Self.maximumEventBytes) else { return "" }
        return Self.deviceType(inEvent: bytes, index: link.index)
    }

    /// DEVTYPE of a uevent; empty if the uevent is about another link: /sys shows the namespace in which it was
    /// mounted, where a link of the same name may be a different one.
    static func deviceType(inEvent bytes: [UInt8], index: UInt32) -> String {
        var type = ""
        var isThis = false
        for line in bytes.split(separator: 0x0a) {
            let line = String(decoding: line, as: UTF8.self)
            if line.hasPrefix("DEVTYPE=") { type = String(line.dropFirst("DEVTYPE=".count)) }
            if line.hasPrefix("IFINDEX=") { isThis = UInt32(line.dropFirst("IFINDEX=".count)) == index }
        }
        return isThis ? type : ""
    }
}
