internal import Glibc

// One destination: the kernel is asked for the route, and what the route leads over is judged.

extension Evaluation {
    /// Judges one address, which is not the unspecified one.
    mutating func judgeAddress(_ destination: IPAddress, from local: IPAddress?) -> TargetReachability {
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

    /// Judges the way that the kernel answers this question with.
    mutating func way(by question: RouteQuestion) throws(KernelLookupError) -> TargetReachability {
        note(destination: question.destination)
        switch try kernel.route(question) {
        case .refused(let code): return try refusal(of: question, code)
        case .route(let route):
            try noteLifetime(of: route, question)
            return try judge(route, question)
        }
    }

    /// The result of a look-up does not say how long the route is good for, the entry of the table does. Only IPv6 has
    /// such routes, and it is asked once for each gateway: what a router advertised ends together.
    private mutating func noteLifetime(of route: Route, _ question: RouteQuestion) throws(KernelLookupError) {
        guard question.destination.family == .ipv6, let gateway = route.gateway,
            isNewGateway(gateway, route.interface)
        else { return }
        var question = question
        question.matchesTable = true
        guard case .route(let entry) = try kernel.route(question) else { return }
        note(lifetime: entry.lifetime)
    }

    private mutating func way(
        to destination: IPAddress, from local: IPAddress?
    ) throws(KernelLookupError) -> TargetReachability {
        var question = RouteQuestion(destination: destination.inZone(""), source: local?.inZone(""))
        for zoned in [destination, local].compactMap({ $0 }) where zoned.needsZone && !zoned.zone.isEmpty {
            guard let interface = try interface(ofZone: zoned.zone) else {
                tables.awaitedZones.insert(zoned.zone)
                return .unsatisfied(.noInterface)
            }
            if question.interface == 0 { question.interface = interface }
        }
        if let source = question.source {
            guard source.family == destination.family else { return .unsatisfied(.noSourceAddress) }
            // Asked first: with such a source the kernel says EINVAL, as for a blackhole, or ENETUNREACH.
            guard try isOwn(source) else { return .unsatisfied(.sourceNotLocal) }
        }
        return try way(by: question)
    }

    /// The zone of an address is a name, or else an index (RFC 4007 section 11.2).
    private func interface(ofZone zone: String) throws(KernelLookupError) -> UInt32? {
        if let link = tables.link(named: zone) { return link.index }
        if let index = try kernel.index(ofLink: zone) { return try tables.link(index, kernel)?.index }
        guard let index = UInt32(zone), index != 0 else { return nil }
        return try tables.link(index, kernel)?.index
    }

    /// The tables have no link-local addresses of links that do not matter, and none of the prefixes that are local as
    /// a whole (127.0.0.0/8): then the kernel knows.
    private mutating func isOwn(_ address: IPAddress) throws(KernelLookupError) -> Bool {
        if !tables.owners(of: address).isEmpty { return true }
        note(destination: address)
        guard case .route(let route) = try kernel.route(RouteQuestion(destination: address)) else { return false }
        return route.verdict == .local
    }
}

// MARK: The kernel's answer

extension Evaluation {
    private func refusal(
        of question: RouteQuestion, _ code: Int32
    ) throws(KernelLookupError) -> TargetReachability {
        // By an interface that is down, there is no route; that it is down says more.
        if question.interface != 0, let link = try tables.link(question.interface, kernel),
            case .unusable(let reason) = link.state
        {
            return .unsatisfied(reason, over: link, traits(of: link))
        }
        switch code {
        case ENETUNREACH, EAGAIN: return .unsatisfied(.noRoute)
        case EHOSTUNREACH: return .unsatisfied(.unreachable)
        case EACCES: return .unsatisfied(.prohibited)
        // Nothing is sent from 127.0.0.1 to another machine; the kernel says EINVAL of that too.
        case EINVAL: return .unsatisfied(question.source?.isLoopback == true ? .noSourceAddress : .blackhole)
        default:
            throw KernelLookupError(request: "RTM_GETROUTE", message: String(cString: strerror(code)))
        }
    }

    private func judge(_ route: Route, _ question: RouteQuestion) throws(KernelLookupError) -> TargetReachability {
        switch route.verdict {
        case .refused(let reason): return .unsatisfied(reason)
        case .local: return try judgeLocal(route, question)
        case .sent: return try judgeSent(route, question)
        }
    }

    private func judgeLocal(
        _ route: Route, _ question: RouteQuestion
    ) throws(KernelLookupError) -> TargetReachability {
        var loopback = tables.loopback
        if loopback == nil { loopback = try tables.link(route.interface, kernel) }
        guard let link = loopback else { return .unsatisfied(.noInterface) }
        let traits = traits(of: link)
        // The kernel's tables say "local" also while the loopback is down.
        if case .unusable(let reason) = link.state { return .unsatisfied(reason, over: link, traits) }
        var way = TargetReachability.unsatisfied(.noSourceAddress, over: link, traits)
        way.source = question.source ?? route.source ?? question.destination
        if let source = way.source, let obstacle = tables.address(source, on: link.index)?.obstacle {
            way.unsatisfiedReason = obstacle
            return way
        }
        let isDirect = try isOwnedByAnother(than: link, question.destination)
        return way.satisfied([.reachable, .isLocalAddress], adding: isDirect ? .isDirect : [], question.destination)
    }

    /// A link other than the loopback has the address.
    private func isOwnedByAnother(
        than loopback: LinkFacts, _ address: IPAddress
    ) throws(KernelLookupError) -> Bool {
        let owners = tables.owners(of: address)
        if !owners.isEmpty { return owners != [loopback.index] }
        // The entry of the table names the link, where the result of a look-up names the loopback.
        let question = RouteQuestion(destination: address, matchesTable: true)
        guard case .route(let route) = try kernel.route(question), route.interface != 0 else { return false }
        return route.interface != loopback.index
    }

    private func judgeSent(
        _ route: Route, _ question: RouteQuestion
    ) throws(KernelLookupError) -> TargetReachability {
        guard route.interface != 0, let link = try tables.link(route.interface, kernel) else {
            return .unsatisfied(.noInterface)
        }
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
        if let obstacle = obstacle(to: way.source, of: link, question.destination, gateway: route.gateway) {
            way.unsatisfiedReason = obstacle
            return way
        }
        let isDirect = route.gateway == nil && !traits.isPointToPoint
        return way.satisfied(traits.flags, adding: isDirect ? .isDirect : [], question.destination)
    }

    /// Why nothing can be sent from this address; nil when it can.
    private func obstacle(
        to source: IPAddress?, of link: LinkFacts, _ destination: IPAddress, gateway: IPAddress?
    ) -> UnsatisfiedReason? {
        if let source, let obstacle = tables.address(source, on: link.index)?.obstacle { return obstacle }
        var reason: UnsatisfiedReason?
        if source?.isUnspecified ?? true {
            reason = .noSourceAddress
        } else if source?.isLoopback == true, !link.isLoopback {
            reason = .noSourceAddress
        } else if gateway != nil, source?.isLinkLocal == true {
            reason = .sourceLinkLocal
        }
        guard reason != nil else { return nil }
        // The kernel passes over an address whose check has not ended, or failed, and takes a worse one or none.
        let passedOver = tables.addresses(on: link.index).filter {
            $0.address.family == destination.family && ($0.isRoutable || source?.isUnspecified ?? true)
        }
        let obstacles = passedOver.compactMap(\.obstacle)
        return obstacles.first { $0 == .sourceTentative } ?? obstacles.first ?? reason
    }

    func traits(of link: LinkFacts) -> InterfaceTraits {
        classifier.traits(of: link, deviceType: tables.deviceType(of: link, kernel))
    }
}

extension IPAddress {
    /// Without an interface it may mean several nodes (RFC 4007 section 6): link-local, and multicast of interface and
    /// link scope (RFC 4291 section 2.7). The kernel ignores the zones of others, and so does this.
    fileprivate var needsZone: Bool {
        family == .ipv6 && (isLinkLocal || (isMulticast && (1...2).contains(high >> 48 & 0xf)))
    }
}

// MARK: Results

extension InterfaceTraits {
    /// The flags of every way over it.
    fileprivate var flags: ReachabilityFlags {
        var flags: ReachabilityFlags = .reachable
        if isTransient { flags.insert(.transientConnection) }
        if type == .cellular { flags.insert(.isWWAN) }
        return flags
    }
}

extension TargetReachability {
    fileprivate static func unsatisfied(_ reason: UnsatisfiedReason) -> TargetReachability {
        TargetReachability(flags: [], status: .unsatisfied, unsatisfiedReason: reason)
    }

    fileprivate static func unsatisfied(
        _ reason: UnsatisfiedReason, over link: LinkFacts, _ traits: InterfaceTraits
    ) -> TargetReachability {
        var result = unsatisfied(reason)
        result.interface = NetworkInterface(index: link.index, name: link.name, type: traits.type)
        result.isExpensive = traits.isExpensive
        result.isConstrained = traits.isConstrained
        return result
    }

    fileprivate func satisfied(
        _ flags: ReachabilityFlags, adding more: ReachabilityFlags, _ destination: IPAddress
    ) -> TargetReachability {
        var result = supporting(destination.family)
        result.flags = flags.union(more)
        result.status = .satisfied
        result.unsatisfiedReason = nil
        return result
    }

    fileprivate func requiringConnection(
        _ connection: ReachabilityFlags, _ traits: InterfaceTraits, _ destination: IPAddress
    ) -> TargetReachability {
        var result = supporting(destination.family)
        result.flags = traits.flags.union(connection)
        result.status = .requiresConnection
        result.unsatisfiedReason = .connectionRequired
        return result
    }

    private func supporting(_ family: IPAddress.Family) -> TargetReachability {
        var result = self
        result.supportsIPv4 = family == .ipv4
        result.supportsIPv6 = family == .ipv6
        return result
    }
}
