/// One round of judging: everything that is watched, from the same tables, one after the other.
///
/// How a round goes:
/// 1. Events were given to ``KernelTables/apply(_:)``, or ``KernelTables/resynchronize(_:)`` read all anew.
/// 2. `Evaluation(tables:kernel:overrides:nameServers:)` fetches the links that are missing and judges name servers.
/// 3. ``path()``, and ``reachability(of:)`` or ``reachability(ofHost:orElse:)`` for every target. An answer is a fact of
///    the kernel at that moment; nothing is remembered from round to round but links and addresses.
/// 4. ``scope`` says what the filter has to let through. If that is more than before, something may have changed before
///    the filter had it: attach it, ``KernelTables/refresh(_:_:)`` the new interfaces, and judge all once more.
struct Evaluation {
    let tables: KernelTables
    let kernel: any KernelLookup
    let classifier: InterfaceClassifier

    /// What the kernel could not answer, the last of it; nil when it answered everything.
    private(set) var lastError: String?
    /// How long the judgements are good for, although the kernel tells of nothing: the shortest lifetime of the routes
    /// that were looked at. Nil for ever.
    private(set) var lifetime: Duration?
    /// A name server is reachable.
    private(set) var supportsDNS = false

    private var destinations: Set<IPAddress> = []
    /// IPv6 gateways that were met, by interface.
    private var gateways: [UInt32: Set<IPAddress>] = [:]
    /// The default routes of IPv4 and IPv6, once they were judged.
    private var defaults: (ipv4: TargetReachability, ipv6: TargetReachability)?

    /// Name servers that are looked at; the C library asks three at most (MAXNS).
    private static let maximumNameServers = 8

    init(
        tables: KernelTables, kernel: any KernelLookup, overrides: [InterfaceOverride] = [],
        nameServers: [IPAddress] = []
    ) {
        self.tables = tables
        self.kernel = kernel
        classifier = InterfaceClassifier(overrides: overrides)
        tables.awaitedZones = []
        do {
            try tables.complete(kernel)
        } catch {
            note(error)
        }
        for server in nameServers.prefix(Self.maximumNameServers) {
            // All of them, so that the filter lets through what makes another one reachable.
            let isReachable = judge(Self.nameServer(server)).flags.contains(.reachable)
            supportsDNS = supportsDNS || isReachable
        }
    }

    /// What the filter has to let through, after all was judged.
    var scope: FilterScope {
        FilterScope(
            destinations: destinations, interfaces: tables.relevant,
            hasTentativeAddresses: tables.hasTentativeAddresses, awaitsLinks: !tables.awaitedZones.isEmpty)
    }

    /// Judges a target that is not a host name. For a host name ``reachability(ofHost:orElse:)`` needs its addresses.
    mutating func reachability(of target: ReachabilityTarget) -> TargetReachability {
        var result =
            switch target {
            case .any: anything(from: nil)
            case .address(let address): judge(address, from: nil)
            case .pair(let local, let remote): judge(remote, from: local)
            case .host: TargetReachability(flags: [], status: .unsatisfied, unsatisfiedReason: .resolving)
            }
        result.supportsDNS = supportsDNS
        return result
    }

    /// Judges a host name: the best of its addresses; among equally good ones the resolver's first.
    /// - Parameter reason: Why there are no addresses, when there are none.
    mutating func reachability(
        ofHost addresses: [IPAddress], orElse reason: UnsatisfiedReason = .nameNotFound
    ) -> TargetReachability {
        let results = addresses.map { judge($0, from: nil) }
        var best =
            Self.best(of: results)
            ?? TargetReachability(flags: [], status: .unsatisfied, unsatisfiedReason: reason)
        best.addresses = addresses
        best.supportsDNS = supportsDNS
        return best
    }

    /// The default route of each family.
    mutating func defaultRoutes() -> (ipv4: TargetReachability, ipv6: TargetReachability) {
        if let defaults { return defaults }
        let judged = (ipv4: defaultRoute(.ipv4, from: nil), ipv6: defaultRoute(.ipv6, from: nil))
        defaults = judged
        return judged
    }

    mutating func note(_ error: KernelLookupError) {
        lastError = "\(error.request): \(error.message)"
    }

    mutating func note(lifetime rest: Duration?) {
        guard let rest else { return }
        lifetime = min(lifetime ?? rest, rest)
    }

    /// Whether this gateway is met for the first time in this round.
    mutating func isNewGateway(_ gateway: IPAddress, _ interface: UInt32) -> Bool {
        gateways[interface, default: []].insert(gateway).inserted
    }

    mutating func note(destination: IPAddress) {
        destinations.insert(destination.inZone(""))
    }
}

extension Evaluation {
    /// Two addresses of each half of the address space (for IPv6 of its global part, 2000::/3), so that two routes of
    /// half the space each count as a default route, as VPNs set them, and one alone does not.
    static let probes: [IPAddress.Family: [IPAddress]] = [
        .ipv4: [IPAddress(ipv4: 0x0900_0001), IPAddress(ipv4: 0xc100_0001)],
        .ipv6: [IPAddress(high: 0x2600 << 48, low: 1), IPAddress(high: 0x3000 << 48, low: 1)],
    ]

    /// Either family is enough.
    private mutating func anything(from local: IPAddress?) -> TargetReachability {
        if let local, !local.isUnspecified { return defaultRoute(local.family, from: local) }
        let defaults = defaultRoutes()
        return Self.best(of: [defaults.ipv4, defaults.ipv6]) ?? defaults.ipv4
    }

    private mutating func defaultRoute(_ family: IPAddress.Family, from local: IPAddress?) -> TargetReachability {
        var worst: TargetReachability?
        for probe in Self.probes[family] ?? [] {
            var result = judgeAddress(probe, from: local)
            if result.flags.contains(.isLocalAddress) {
                // A local route for everything keeps all packets here.
                result = TargetReachability(flags: [], status: .unsatisfied, unsatisfiedReason: .noRoute)
            }
            if result.rank < worst?.rank ?? .max { worst = result }
        }
        worst?.addresses = []
        return worst ?? TargetReachability(flags: [], status: .unsatisfied, unsatisfiedReason: .noRoute)
    }

    /// Judges one address. The unspecified one means any destination.
    private mutating func judge(_ destination: IPAddress, from local: IPAddress? = nil) -> TargetReachability {
        if destination.isUnspecified { return anything(from: local) }
        return judgeAddress(destination, from: local?.isUnspecified == true ? nil : local)
    }

    /// `0.0.0.0` and `::` in resolv.conf mean this machine.
    private static func nameServer(_ address: IPAddress) -> IPAddress {
        guard address.isUnspecified else { return address }
        return address.family == .ipv4 ? IPAddress(ipv4: 0x7f00_0001) : IPAddress(high: 0, low: 1)
    }

    /// The best of several ways; the first of equally good ones. A family is supported if any of them supports it.
    static func best(of results: [TargetReachability]) -> TargetReachability? {
        guard var best = results.first else { return nil }
        for result in results.dropFirst() where result.informedRank > best.informedRank { best = result }
        best.supportsIPv4 = results.contains { $0.supportsIPv4 }
        best.supportsIPv6 = results.contains { $0.supportsIPv6 }
        return best
    }
}

extension TargetReachability {
    /// How good it is: satisfied, requires a connection, unsatisfied.
    fileprivate var rank: Int {
        switch status {
        case .satisfied: 2
        case .requiresConnection: 1
        case .unsatisfied: 0
        }
    }

    /// As ``rank``, but "no route" is the least of all reasons: a family that is not there at all does not hide what is
    /// wrong with the other.
    fileprivate var informedRank: Int {
        rank * 2 + (unsatisfiedReason == .noRoute ? 0 : 1)
    }
}
