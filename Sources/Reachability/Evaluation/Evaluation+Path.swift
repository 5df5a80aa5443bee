extension Evaluation {
    /// Interfaces that are asked for a default route of their own, besides those in use.
    private static let maximumCandidates = 64

    /// Judges the network as a whole.
    mutating func path() -> NetworkPath {
        let defaults = defaultRoutes()
        let families = [defaults.ipv4, defaults.ipv6]
        let inUse = families.filter { $0.flags.contains(.reachable) }
        let best = Self.best(of: families) ?? defaults.ipv4
        var interfaces: [NetworkInterface] = []
        // The interface of the target `any` comes first: IPv4's, unless only IPv6 can be used, or without a connection.
        for interface in [best.isUsable ? best.interface : nil] + inUse.map(\.interface) {
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
        var found: [(metric: UInt32, interface: NetworkInterface)] = []
        for link in tables.candidates.filter({ !inUse.contains($0.index) }).prefix(Self.maximumCandidates) {
            if case .unusable = link.state { continue }
            do {
                guard let metric = try metric(ofDefaultRouteOver: link.index) else { continue }
                let type = traits(of: link).type
                found.append((metric, NetworkInterface(index: link.index, name: link.name, type: type)))
            } catch {
                note(error)
            }
        }
        return found.sorted { ($0.metric, $0.interface.index) < ($1.metric, $1.interface.index) }.map(\.interface)
    }

    /// The smaller metric of both families' default routes; nil when neither has one that can be used.
    private mutating func metric(ofDefaultRouteOver interface: UInt32) throws(KernelLookupError) -> UInt32? {
        var metrics: [UInt32] = []
        for family in [IPAddress.Family.ipv4, .ipv6] {
            if let metric = try metric(ofDefaultRouteOver: interface, family) { metrics.append(metric) }
        }
        return metrics.min()
    }

    private mutating func metric(
        ofDefaultRouteOver interface: UInt32, _ family: IPAddress.Family
    ) throws(KernelLookupError) -> UInt32? {
        var metric: UInt32?
        for probe in Self.probes[family] ?? [] {
            // First whether the table has one: a look-up with an interface would make up a direct route.
            var question = RouteQuestion(destination: probe, interface: interface, matchesTable: true)
            guard case .route(let entry) = try kernel.route(question), entry.verdict == .sent,
                entry.interface == interface
            else { return nil }
            question.matchesTable = false
            let way = try self.way(by: question)
            guard way.isUsable, way.interface?.index == interface else { return nil }
            metric = metric ?? entry.metric
        }
        return metric
    }
}

extension TargetReachability {
    /// Now, or once a connection was made.
    fileprivate var isUsable: Bool { flags.contains(.reachable) }
}
