package import ControlProtocol
package import Reachability

// Creates control messages from Reachability's values. This is a separate module because only the daemon and the
// command line need both; the other users of ControlProtocol must not link libnl.

extension PathMessage {
    package init(_ path: NetworkPath) {
        self.init(
            status: path.status.rawValue, reason: path.unsatisfiedReason?.rawValue,
            interfaces: path.interfaces.map { Interface(name: $0.name, type: $0.type.rawValue, index: $0.index) })
        gateways = path.gateways.map(\.description)
        sources = path.sources.map(\.description)
        isExpensive = path.isExpensive
        isConstrained = path.isConstrained
        supportsIPv4 = path.supportsIPv4
        supportsIPv6 = path.supportsIPv6
        supportsDNS = path.supportsDNS
    }
}

extension TargetMessage {
    package init(_ target: ReachabilityTarget, _ reachability: TargetReachability) {
        self.init(
            target: target.description, reachable: reachability.isReachable, flags: reachability.flags.names,
            status: reachability.status.rawValue, reason: reachability.unsatisfiedReason?.rawValue)
        interface = reachability.interface?.name
        interfaceType = reachability.interface?.type.rawValue
        source = reachability.source?.description
        gateway = reachability.nextHop?.description
        isExpensive = reachability.isExpensive
        isConstrained = reachability.isConstrained
        supportsIPv4 = reachability.supportsIPv4
        supportsIPv6 = reachability.supportsIPv6
        supportsDNS = reachability.supportsDNS
    }
}

extension TargetReachability {
    /// A host name whose addresses aren't known yet, on this path.
    package static func resolving(on path: NetworkPath) -> TargetReachability {
        TargetReachability(
            flags: [], status: .unsatisfied, unsatisfiedReason: .resolving, supportsDNS: path.supportsDNS)
    }
}

extension ReachabilityMessage {
    package init(_ status: MonitorStatus) {
        self.init(
            state: "working",
            why: status.lastError ?? (status.filterLevel < status.wantedFilterLevel ? status.filterWhy : nil),
            wantedFilterLevel: status.wantedFilterLevel)
        filterLevel = status.filterLevel
        messages = status.messages
        foreignMessages = status.foreignMessages
        overruns = status.overruns
        resynchronizations = status.resynchronizations
        throttles = status.throttles
        evaluations = status.evaluations
        resumes = status.resumes
        lookups = status.lookups
        targets = status.targets
    }
}
