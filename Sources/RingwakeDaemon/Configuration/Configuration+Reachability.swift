internal import Reachability
internal import RingwakeCore

// The section `[reachability]`, of `ringwaked.toml` and of an app's file.

extension Configuration {
    /// The longest that a loss may be held back, in seconds.
    private nonisolated static let maximumLossHoldSeconds = Int(
        ReachabilityConfiguration.longestLossHold.components.seconds)
    /// The most sections `[[reachability.interface]]`.
    private nonisolated static let maximumOverrides = 64
    /// The longest name of an interface, or pattern for names, in bytes: what the kernel takes for a name.
    private nonisolated static let maximumNameLength = 15

    nonisolated static func reachability(_ root: inout TOMLReader) throws(RingwakeError) -> ReachabilityConfiguration {
        var configuration = ReachabilityConfiguration()
        guard var reader = try root.table("reachability") else { return configuration }
        let hold = try reader.duration("loss_hold", upToSeconds: maximumLossHoldSeconds)
        configuration.lossHold = hold ?? configuration.lossHold
        configuration.filterLevel =
            try reader.integer("filter_level", in: ReachabilityConfiguration.filterLevels) ?? configuration.filterLevel
        for var interface in try reader.tables("interface") {
            guard configuration.interfaces.count < maximumOverrides else {
                throw reader.invalid("interface", "is there more than \(maximumOverrides) times; '*' stands for many")
            }
            configuration.interfaces.append(try override(&interface, after: configuration.interfaces))
        }
        try reader.refuseUnknownKeys()
        return configuration
    }

    private nonisolated static func override(
        _ reader: inout TOMLReader, after others: [InterfaceOverride]
    ) throws(RingwakeError) -> InterfaceOverride {
        let given = try reader.string("name")
        let type = try reader.string("type")
        let (isExpensive, isConstrained) = (try reader.boolean("expensive"), try reader.boolean("constrained"))
        let needsIntervention = try reader.boolean("intervention_required") ?? false
        let isOnDemand = try reader.boolean("on_demand") ?? false
        try reader.refuseUnknownKeys()
        guard let name = given else { throw reader.missing("name") }
        let isName = name.unicodeScalars.allSatisfy { $0.isASCII && $0.value > 0x20 && $0 != "/" && $0.value != 0x7F }
        guard !name.isEmpty, name.utf8.count <= maximumNameLength, isName else {
            throw reader.invalid(
                "name",
                "is an interface's name of at most \(maximumNameLength) bytes, '*' in it standing for any text, "
                    + "not '\(name)'")
        }
        guard !others.contains(where: { $0.name == name }) else {
            throw reader.invalid("name", "'\(name)' is there twice")
        }
        return InterfaceOverride(
            name: name, type: try type.map { text throws(RingwakeError) in try interfaceType(text, reader) },
            isExpensive: isExpensive, isConstrained: isConstrained, interventionRequired: needsIntervention,
            connectionOnDemand: isOnDemand)
    }

    private nonisolated static func interfaceType(
        _ text: String, _ reader: TOMLReader
    ) throws(RingwakeError) -> NetworkInterface.InterfaceType {
        guard let type = NetworkInterface.InterfaceType(rawValue: text) else {
            let types = NetworkInterface.InterfaceType.allCases.map(\.rawValue)
            throw reader.invalid("type", "is not '\(text)'\(TOMLReader.suggestion(for: text, among: types))")
        }
        return type
    }

    /// The most destinations that an app may name.
    private nonisolated static let maximumTargets = 8

    /// What an app has to reach: its `targets`; none when it names none.
    nonisolated static func targets(_ root: inout TOMLReader) throws(RingwakeError) -> [ReachabilityTarget] {
        guard var reader = try root.table("reachability") else { return [] }
        let texts = try reader.strings("targets") ?? []
        try reader.refuseUnknownKeys()
        guard texts.count <= maximumTargets else {
            throw reader.invalid("targets", "has \(texts.count) entries; at most \(maximumTargets) are watched")
        }
        var targets: [ReachabilityTarget] = []
        for text in texts {
            guard let target = ReachabilityTarget(text) else {
                throw reader.invalid("targets", "has '\(text)', which is no target; \(ReachabilityTarget.forms)")
            }
            if !targets.contains(target) { targets.append(target) }
        }
        return targets
    }
}

extension ReachabilityTarget {
    /// What a target may be, as part of a message.
    nonisolated static var forms: String {
        "one is 'any', an address, 'LOCAL,REMOTE' (two addresses of one family), or a host name, without scheme "
            + "and port"
    }
}
