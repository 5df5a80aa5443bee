package import ControlProtocol
import Glibc
package import Reachability
package import RunLoop

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
    /// - Parameter resolvedAt: when the addresses of a host name were looked up.
    package init(
        _ target: ReachabilityTarget, _ reachability: TargetReachability, resolvedAt: BootClock.Instant?
    ) {
        self.init(
            target: target.description, reachable: reachability.isReachable, flags: reachability.flags.names,
            status: reachability.status.rawValue, reason: reachability.unsatisfiedReason?.rawValue)
        interface = reachability.interface?.name
        interfaceType = reachability.interface?.type.rawValue
        source = reachability.source?.description
        gateway = reachability.nextHop?.description
        addresses = reachability.addresses.map(\.description)
        self.resolvedAt = resolvedAt.map { UTCTime($0).description }
        isExpensive = reachability.isExpensive
        isConstrained = reachability.isConstrained
        supportsIPv4 = reachability.supportsIPv4
        supportsIPv6 = reachability.supportsIPv6
        supportsDNS = reachability.supportsDNS
    }
}

extension UTCTime {
    /// The time on the wall clock, by how long ago it was: right also if the clock was set since.
    fileprivate init(_ instant: BootClock.Instant) {
        var time = timespec()
        // This can't fail: every kernel has the clock, and the pointer is valid.
        _ = clock_gettime(CLOCK_REALTIME, &time)
        let now = Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
        let age = BootClock.now().nanoseconds - instant.nanoseconds
        self.init(milliseconds: now - age / 1_000_000)
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
