// Builds results from the kernel's answers.

extension InterfaceTraits {
    /// The flags of every route over this interface.
    var flags: ReachabilityFlags {
        var flags: ReachabilityFlags = .reachable
        if isTransient { flags.insert(.transientConnection) }
        if type == .cellular { flags.insert(.isWWAN) }
        return flags
    }
}

extension TargetReachability {
    static func unsatisfied(_ reason: UnsatisfiedReason) -> TargetReachability {
        TargetReachability(flags: [], status: .unsatisfied, unsatisfiedReason: reason)
    }

    static func unsatisfied(
        _ reason: UnsatisfiedReason, over link: LinkFacts, _ traits: InterfaceTraits
    ) -> TargetReachability {
        var result = unsatisfied(reason)
        result.interface = NetworkInterface(index: link.index, name: link.name, type: traits.type)
        result.isExpensive = traits.isExpensive
        result.isConstrained = traits.isConstrained
        return result
    }

    func satisfied(
        _ flags: ReachabilityFlags, adding more: ReachabilityFlags, _ destination: IPAddress
    ) -> TargetReachability {
        var result = supporting(destination.family)
        result.flags = flags.union(more)
        result.status = .satisfied
        result.unsatisfiedReason = nil
        return result
    }

    func requiringConnection(
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
