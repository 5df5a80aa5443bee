/// One evaluation of all targets, one after the other, with the same tables.
///
/// The steps:
/// 1. ``KernelTables/apply(_:)`` applies events, or ``KernelTables/resynchronize(_:)`` reads everything again.
/// 2. `Evaluation(tables:kernel:overrides:nameServers:)` fetches the missing links and judges the name servers.
/// 3. ``judge(for:)`` for each user; ``path()``, and ``reachability(of:)`` or ``reachability(ofHost:orElse:)`` for every
///    target. Each asks the kernel for its current routes; only links and addresses are kept between evaluations, in
///    ``tables``.
/// 4. ``scope`` is what the filter has to let through. If it is wider than before, the old filter may have dropped a
///    change: attach the new one, ``KernelTables/refresh(_:_:)`` the new interfaces, and judge all again.
struct Evaluation {
    /// Maximum name servers to judge; the C library asks at most three (MAXNS).
    private static let maximumNameServers = 8
    /// Maximum interfaces to ask for a default route of their own, besides those in use.
    private static let maximumCandidates = 64

    /// What all results of one user have in common.
    private struct Common {
        /// At least one name server is reachable.
        let supportsDNS: Bool
        /// The default routes of IPv4 and IPv6, once they were judged.
        var defaults: (ipv4: TargetReachability, ipv6: TargetReachability)?
    }

    private var addressJudge: AddressJudge
    private let nameServers: ArraySlice<IPAddress>
    private var common: [UInt32?: Common] = [:]

    init(
        tables: consuming KernelTables, kernel: any KernelLookup, overrides: [InterfaceOverride] = [],
        nameServers: [IPAddress] = []
    ) {
        addressJudge = AddressJudge(tables: tables, kernel: kernel, overrides: overrides)
        self.nameServers = nameServers.prefix(Self.maximumNameServers)
        judge(for: nil)
    }

    /// Judges for the packets of another user from now on: a rule may choose routes by user (`ip rule ... uidrange`).
    /// - Parameter user: nil for this process's.
    mutating func judge(for user: UInt32?) {
        addressJudge.user = user
        guard common[user] == nil else { return }
        // Judge all of them, so that the filter lets through what makes another one reachable.
        let judged = nameServers.map { addressJudge.judge($0.reached, from: nil).flags.contains(.reachable) }
        common[user] = Common(supportsDNS: judged.contains(true))
    }

    /// At least one name server is reachable.
    var supportsDNS: Bool { common[addressJudge.user]?.supportsDNS ?? false }

    /// The tables, with the links that this round looked up.
    var tables: KernelTables { addressJudge.tables }
    /// The scope that the filter needs, after everything was judged.
    var scope: FilterScope { addressJudge.scope }
    /// The interfaces with changing addresses on which no result depends; after everything was judged.
    func uninvolvedInterfaces() -> Set<UInt32> { addressJudge.uninvolvedInterfaces() }
    /// The error of the last failed query of the kernel; nil if all succeeded.
    var lastError: String? { addressJudge.lastError }
    /// How long the judgements stay valid without an event; nil: forever.
    var lifetime: Duration? { addressJudge.lifetime }

    /// Judges a target that is not a host name. For a host name ``reachability(ofHost:orElse:)`` needs its addresses.
    mutating func reachability(of target: ReachabilityTarget) -> TargetReachability {
        var result =
            switch target {
            case .any: anything(from: nil)
            case .address(let address): judge(address, from: nil)
            case .pair(let local, let remote): judge(remote, from: local)
            case .host: TargetReachability.unsatisfied(.resolving)
            }
        result.supportsDNS = supportsDNS
        return result
    }

    /// Judges a host name: the best of its addresses; among equally good ones the resolver's first.
    /// - Parameter reason: Why there are no addresses, if there are none.
    mutating func reachability(
        ofHost addresses: [IPAddress], orElse reason: UnsatisfiedReason = .nameNotFound
    ) -> TargetReachability {
        let results = addresses.map { judge($0, from: nil) }
        var best = Self.best(of: results) ?? .unsatisfied(reason)
        best.addresses = addresses
        best.supportsDNS = supportsDNS
        return best
    }

    /// Judges the network as a whole.
    mutating func path() -> NetworkPath {
        let defaults = defaultRoutes()
        let families = [defaults.ipv4, defaults.ipv6]
        let inUse = families.filter { $0.flags.contains(.reachable) }
        let best = Self.best(of: families) ?? defaults.ipv4
        var interfaces: [NetworkInterface] = []
        // The interface of the target `any` comes first: IPv4's, unless only IPv6 can be used, or without a connection.
        for interface in [best.flags.contains(.reachable) ? best.interface : nil] + inUse.map(\.interface) {
            if let interface, !interfaces.contains(interface) { interfaces.append(interface) }
        }
        return NetworkPath(
            status: best.status, unsatisfiedReason: best.unsatisfiedReason,
            interfaces: interfaces + others(than: Set(interfaces.map(\.index))), gateways: inUse.compactMap(\.nextHop),
            sources: inUse.compactMap(\.source), isExpensive: best.isExpensive, isConstrained: best.isConstrained,
            supportsIPv4: best.supportsIPv4, supportsIPv6: best.supportsIPv6, supportsDNS: supportsDNS)
    }

    /// The other interfaces with a default route that can be used, by the routes' metrics.
    private mutating func others(than inUse: Set<UInt32>) -> [NetworkInterface] {
        let probes = [IPAddress.Family.ipv4, .ipv6].map { Self.probes[$0] ?? [] }
        var found: [(metric: UInt32, interface: NetworkInterface)] = []
        for link in tables.candidates.filter({ !inUse.contains($0.index) }).prefix(Self.maximumCandidates) {
            if case .unusable = link.state { continue }
            guard let metric = addressJudge.metric(ofDefaultRouteOver: link, probes: probes) else { continue }
            let type = addressJudge.traits(of: link).type
            found.append((metric, NetworkInterface(index: link.index, name: link.name, type: type)))
        }
        return found.sorted { ($0.metric, $0.interface.index) < ($1.metric, $1.interface.index) }.map(\.interface)
    }

    // MARK: - Default routes

    /// For each family, one address in each half of the address space (for IPv6, of its global part 2000::/3). So two
    /// routes that cover half the space each, as VPNs set them, count as a default route, and one of them alone does
    /// not.
    private static let probes: [IPAddress.Family: [IPAddress]] = [
        .ipv4: [IPAddress(ipv4: 0x0900_0001), IPAddress(ipv4: 0xc100_0001)],
        .ipv6: [IPAddress(high: 0x2600 << 48, low: 1), IPAddress(high: 0x3000 << 48, low: 1)],
    ]

    /// Judges one address. The unspecified one means any destination.
    private mutating func judge(_ destination: IPAddress, from local: IPAddress?) -> TargetReachability {
        if destination.isUnspecified { return anything(from: local) }
        return addressJudge.judge(destination, from: local?.isUnspecified == true ? nil : local)
    }

    /// Either family is enough.
    private mutating func anything(from local: IPAddress?) -> TargetReachability {
        if let local, !local.isUnspecified { return defaultRoute(local.family, from: local) }
        let defaults = defaultRoutes()
        return Self.best(of: [defaults.ipv4, defaults.ipv6]) ?? defaults.ipv4
    }

    private mutating func defaultRoutes() -> (ipv4: TargetReachability, ipv6: TargetReachability) {
        if let defaults = common[addressJudge.user]?.defaults { return defaults }
        let judged = (ipv4: defaultRoute(.ipv4, from: nil), ipv6: defaultRoute(.ipv6, from: nil))
        common[addressJudge.user]?.defaults = judged
        return judged
    }

    private mutating func defaultRoute(_ family: IPAddress.Family, from local: IPAddress?) -> TargetReachability {
        var worst: TargetReachability?
        for probe in Self.probes[family] ?? [] {
            let hops = addressJudge.judgeRoute(covering: probe, from: local)
            guard var result = Self.best(of: hops) else { continue }
            // A local route for everything keeps all packets here.
            if result.flags.contains(.isLocalAddress) { result = .unsatisfied(.noRoute) }
            if result.status.rank < worst?.status.rank ?? .max { worst = result }
        }
        worst?.addresses = []
        return worst ?? .unsatisfied(.noRoute)
    }

    /// The best of several results; the first of equally good ones. A family is supported if any of them supports it.
    private static func best(of results: [TargetReachability]) -> TargetReachability? {
        guard var best = results.first else { return nil }
        for result in results.dropFirst() where result.informedRank > best.informedRank { best = result }
        best.supportsIPv4 = results.contains { $0.supportsIPv4 }
        best.supportsIPv6 = results.contains { $0.supportsIPv6 }
        return best
    }
}

extension TargetReachability {
    /// The rank by status, then by reason. "No route" ranks last, so that a missing family doesn't hide the other's
    /// problem.
    fileprivate var informedRank: Int {
        status.rank * 2 + (unsatisfiedReason == .noRoute ? 0 : 1)
    }
}
