internal import Glibc

/// Judges single destinations: asks the kernel for the route, and judges the link and the source address that the
/// route uses. Collects the scope that the filter needs to keep these judgements up to date.
struct AddressJudge {
    /// The links and addresses; look-ups add to them.
    private(set) var tables: KernelTables
    /// The error of the last failed query of the kernel; nil if all succeeded.
    private(set) var lastError: String?
    /// How long the judgements stay valid without an event: the shortest lifetime of the routes in use. Nil: forever.
    private(set) var lifetime: Duration?

    /// Whose packets are judged; nil for this process's.
    var user: UInt32?

    private let kernel: any KernelLookup
    private let classifier: InterfaceClassifier
    private var destinations: Set<IPAddress> = []
    private var involvement = Involvement()
    /// IPv6 gateways seen so far, by interface.
    private var gateways: [UInt32: Set<IPAddress>] = [:]

    /// Fetches the links that are missing in the tables.
    init(tables: consuming KernelTables, kernel: any KernelLookup, overrides: [InterfaceOverride]) {
        self.tables = tables
        self.kernel = kernel
        classifier = InterfaceClassifier(overrides: overrides)
        self.tables.awaitedZones = []
        do {
            try self.tables.complete(kernel)
        } catch {
            note(error)
        }
    }

    /// The scope that the filter needs.
    var scope: FilterScope {
        FilterScope(
            destinations: destinations, interfaces: tables.relevant,
            hasTentativeAddresses: tables.hasTentativeAddresses, awaitsLinks: !tables.awaitedZones.isEmpty)
    }

    /// The interfaces with changing addresses on which no judgement depends. May query the kernel.
    func uninvolvedInterfaces() -> Set<UInt32> { involvement.uninvolved(of: tables.restlessOwners, kernel) }

    /// Judges one address other than the unspecified one.
    mutating func judge(_ destination: IPAddress, from local: IPAddress?) -> TargetReachability {
        note(destination: destination)
        var result: TargetReachability
        do {
            result = try way(to: destination, from: local)
        } catch {
            note(error)
            result = .unsatisfied(.kernelError)
        }
        result.addresses = [destination]
        return result
    }

    /// Judges what the route to `destination` can do for any destination that it covers. The kernel chooses one of its
    /// hops for each destination, and sends packets over a link without carrier too; others may go over a better one.
    mutating func judgeRoute(covering destination: IPAddress, from local: IPAddress?) -> [TargetReachability] {
        let chosen = judge(destination, from: local)
        guard chosen.status == .unsatisfied, let interface = chosen.interface?.index else { return [chosen] }
        var question = RouteQuestion(
            destination: destination, source: local?.inZone(""), matchesTable: true, user: user)
        do {
            guard case .route(let entry) = try kernel.route(question) else { return [chosen] }
            var results = [chosen]
            question.matchesTable = false
            for hop in Set(entry.hops).subtracting([interface]).sorted() {
                question.interface = hop
                results.append(try way(by: question))
            }
            return results
        } catch {
            note(error)
            return [chosen]
        }
    }

    /// The smaller metric of both families' default routes over a link; nil if neither family has one there.
    ///
    /// - Parameter probes: for each family, addresses that its default route must all cover.
    mutating func metric(ofDefaultRouteOver link: LinkFacts, probes: [[IPAddress]]) -> UInt32? {
        do {
            var metrics: [UInt32] = []
            for family in probes {
                if let metric = try metric(ofRouteOver: link.index, covering: family) { metrics.append(metric) }
            }
            return metrics.min()
        } catch {
            note(error)
            return nil
        }
    }

    private mutating func metric(
        ofRouteOver interface: UInt32, covering probes: [IPAddress]
    ) throws(KernelLookupError) -> UInt32? {
        var metric: UInt32?
        for probe in probes {
            // Ask for the table's entry first: a look-up with an interface would invent a direct route.
            var question = RouteQuestion(
                destination: probe, interface: interface, matchesTable: true, user: user)
            guard case .route(let entry) = try kernel.route(question), entry.verdict == .sent,
                entry.interface == interface || entry.hops.contains(interface)
            else { return nil }
            question.matchesTable = false
            let way = try self.way(by: question)
            guard way.flags.contains(.reachable), way.interface?.index == interface else { return nil }
            metric = metric ?? entry.metric
        }
        return metric
    }

    private mutating func note(_ error: KernelLookupError) {
        lastError = "\(error.request): \(error.message)"
    }

    private mutating func note(destination: IPAddress) {
        destinations.insert(destination.inZone(""))
    }

    /// Asks the kernel and judges its answer.
    private mutating func way(by question: RouteQuestion) throws(KernelLookupError) -> TargetReachability {
        note(destination: question.destination)
        switch try kernel.route(question) {
        case .refused(let code): return try refusal(of: question, code)
        case .route(let route):
            try noteLifetime(of: route, question)
            return try judge(route, question)
        }
    }

    /// The result of a look-up lacks the route's lifetime; the entry of the table has it. Only IPv6 routes have one,
    /// and one query per gateway is enough: all routes that a router advertised expire together.
    private mutating func noteLifetime(of route: Route, _ question: RouteQuestion) throws(KernelLookupError) {
        guard question.destination.family == .ipv6, let gateway = route.gateway,
            gateways[route.interface, default: []].insert(gateway).inserted
        else { return }
        var question = question
        question.matchesTable = true
        guard case .route(let entry) = try kernel.route(question) else { return }
        if let rest = entry.lifetime { lifetime = min(lifetime ?? rest, rest) }
    }

    private mutating func way(
        to destination: IPAddress, from local: IPAddress?
    ) throws(KernelLookupError) -> TargetReachability {
        var question = RouteQuestion(
            destination: destination.inZone(""), source: local?.inZone(""), user: user)
        for zoned in [destination, local].compactMap({ $0 }) where zoned.needsZone && !zoned.zone.isEmpty {
            guard let interface = try interface(ofZone: zoned.zone) else {
                tables.awaitedZones.insert(zoned.zone)
                return .unsatisfied(.noInterface)
            }
            if question.interface == 0 { question.interface = interface }
        }
        if let source = question.source {
            guard source.family == destination.family else { return .unsatisfied(.noSourceAddress) }
            // Check this first: for such a source the kernel answers EINVAL, as for a blackhole, or ENETUNREACH.
            guard try isOwn(source) else { return .unsatisfied(.sourceNotLocal) }
        }
        return try way(by: question)
    }

    /// The zone of an address is a name, or else an index (RFC 4007 section 11.2).
    private mutating func interface(ofZone zone: String) throws(KernelLookupError) -> UInt32? {
        if let link = tables.link(named: zone) { return link.index }
        if let index = try kernel.index(ofLink: zone) { return try tables.link(index, kernel)?.index }
        guard let index = UInt32(zone), index != 0 else { return nil }
        return try tables.link(index, kernel)?.index
    }

    /// The tables lack the link-local addresses of links that don't matter, and prefixes that are local as a whole
    /// (127.0.0.0/8), so ask the kernel for these.
    private mutating func isOwn(_ address: IPAddress) throws(KernelLookupError) -> Bool {
        involvement.insert(own: address, tables)
        if !tables.owners(of: address).isEmpty { return true }
        note(destination: address)
        let question = RouteQuestion(destination: address, user: user)
        guard case .route(let route) = try kernel.route(question) else { return false }
        return route.verdict == .local
    }

    // MARK: - The kernel's answer

    private mutating func refusal(
        of question: RouteQuestion, _ code: Int32
    ) throws(KernelLookupError) -> TargetReachability {
        if code != ENETUNREACH { involvement.insertRefusal(of: question) }
        // "The interface is down" says more than "no route".
        if question.interface != 0, let link = try tables.link(question.interface, kernel),
            case .unusable(let reason) = link.state
        {
            return .unsatisfied(reason, over: link, traits(of: link))
        }
        switch code {
        case ENETUNREACH, EAGAIN: return .unsatisfied(.noRoute)
        case EHOSTUNREACH: return .unsatisfied(.unreachable)
        case EACCES: return .unsatisfied(.prohibited)
        // The kernel also answers EINVAL for 127.0.0.1 as the source of packets to another machine.
        case EINVAL: return .unsatisfied(question.source?.isLoopback == true ? .noSourceAddress : .blackhole)
        default:
            throw KernelLookupError(request: "RTM_GETROUTE", message: String(cString: strerror(code)))
        }
    }

    private mutating func judge(_ route: Route, _ question: RouteQuestion) throws(KernelLookupError)
        -> TargetReachability
    {
        switch route.verdict {
        case .refused(let reason):
            involvement.insertRefusal(of: question)
            return .unsatisfied(reason)
        case .local: return try judgeLocal(route, question)
        case .sent: return try judgeSent(route, question)
        }
    }

    private mutating func judgeLocal(
        _ route: Route, _ question: RouteQuestion
    ) throws(KernelLookupError) -> TargetReachability {
        var loopback = tables.loopback
        if loopback == nil { loopback = try tables.link(route.interface, kernel) }
        guard let link = loopback else { return .unsatisfied(.noInterface) }
        let traits = traits(of: link)
        // The kernel's tables say "local" even while the loopback is down.
        if case .unusable(let reason) = link.state { return .unsatisfied(reason, over: link, traits) }
        var way = TargetReachability.unsatisfied(.noSourceAddress, over: link, traits)
        way.source = question.source ?? route.source ?? question.destination
        if let source = way.source {
            if source != question.destination { involvement.insert(localSource: source, question, tables) }
            if let obstacle = tables.address(source, on: link.index)?.obstacle {
                involvement.insert(own: source, tables)
                way.unsatisfiedReason = obstacle
                return way
            }
        }
        let isDirect = try isOwnedByAnother(than: link, question.destination)
        return way.satisfied([.reachable, .isLocalAddress], adding: isDirect ? .isDirect : [], question.destination)
    }

    /// Whether a link other than the loopback has the address.
    private mutating func isOwnedByAnother(
        than loopback: LinkFacts, _ address: IPAddress
    ) throws(KernelLookupError) -> Bool {
        let owners = tables.owners(of: address)
        if !owners.isEmpty {
            involvement.insert(own: address, tables)
            return owners != [loopback.index]
        }
        // The entry of the table names the link, where the result of a look-up names the loopback.
        let question = RouteQuestion(destination: address, matchesTable: true, user: user)
        guard case .route(let route) = try kernel.route(question), route.interface != 0 else { return false }
        involvement.insert(route.interface)
        return route.interface != loopback.index
    }

    private mutating func judgeSent(
        _ route: Route, _ question: RouteQuestion
    ) throws(KernelLookupError) -> TargetReachability {
        guard route.interface != 0, let link = try tables.link(route.interface, kernel) else {
            return .unsatisfied(.noInterface)
        }
        involvement.insert(route, question, tables)
        let traits = traits(of: link)
        if question.destination.isLoopback, !link.isLoopback {
            // With the loopback down, the kernel finds the default route for ::1.
            guard let loopback = tables.loopback, case .unusable(let reason) = loopback.state else {
                return .unsatisfied(.noRoute)
            }
            return .unsatisfied(reason, over: loopback, self.traits(of: loopback))
        }
        var way = TargetReachability.unsatisfied(.interfaceDormant, over: link, traits)
        way.source = question.source ?? route.source
        way.nextHop = route.gateway
        switch link.state {
        case .unusable(let reason):
            way.unsatisfiedReason = reason
            return way
        case .dormant:
            guard let connection = traits.connection else { return way }
            return way.requiringConnection(connection, traits, question.destination)
        case .usable:
            break
        }
        if let obstacle = obstacle(to: way.source, of: link, by: route, question.destination) {
            way.unsatisfiedReason = obstacle
            return way
        }
        let isDirect = route.gateway == nil && !traits.isPointToPoint
        return way.satisfied(traits.flags, adding: isDirect ? .isDirect : [], question.destination)
    }

    /// Why packets can't be sent from this address; nil if they can.
    private func obstacle(
        to source: IPAddress?, of link: LinkFacts, by route: Route, _ destination: IPAddress
    ) -> UnsatisfiedReason? {
        if let source, let obstacle = tables.address(source, on: link.index)?.obstacle { return obstacle }
        var reason: UnsatisfiedReason?
        if source?.isUnspecified ?? true {
            reason = .noSourceAddress
        } else if source?.isLoopback == true, !link.isLoopback {
            reason = .noSourceAddress
        } else if source?.isLinkLocal == true, !route.staysOnLink(to: destination) {
            reason = .sourceLinkLocal
        }
        guard reason != nil else { return nil }
        // The kernel skips an address whose duplicate check is unfinished or failed, and takes a worse one or none.
        let skipped = tables.addresses(on: link.index).filter {
            $0.address.family == destination.family && ($0.isRoutable || source?.isUnspecified ?? true)
        }
        let obstacles = skipped.compactMap(\.obstacle)
        return obstacles.first { $0 == .sourceTentative } ?? obstacles.first ?? reason
    }

    mutating func traits(of link: LinkFacts) -> InterfaceTraits {
        classifier.traits(of: link, deviceType: tables.deviceType(of: link, kernel))
    }
}

extension IPAddress {
    /// Whether the address is ambiguous without an interface (RFC 4007 section 6): link-local, and multicast of
    /// interface and link scope (RFC 4291 section 2.7). The kernel ignores other zones, and so do we.
    fileprivate var needsZone: Bool {
        family == .ipv6 && (isLinkLocal || (isMulticast && (1...2).contains(high >> 48 & 0xf)))
    }
}
