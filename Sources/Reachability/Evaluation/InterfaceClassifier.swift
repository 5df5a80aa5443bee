internal import CRingwakeNetlink

/// The properties of an interface.
struct InterfaceTraits: Equatable {
    var type: NetworkInterface.InterfaceType
    /// No destination is on the link itself: the interface has at most one neighbour.
    var isPointToPoint: Bool
    /// The interface isn't permanent.
    var isTransient: Bool
    var isExpensive: Bool
    var isConstrained: Bool
    /// What a dormant interface needs before it passes packets; nil if traffic can't start that.
    var connection: ReachabilityFlags?
}

/// Classifies links by the configuration, the driver and the kernel, the best source first.
struct InterfaceClassifier {
    /// The first that matches the name counts.
    var overrides: [InterfaceOverride] = []

    /// Kinds (IFLA_INFO_KIND) of tunnels, which are never modems, whatever their name.
    private static let tunnelKinds: Set<String> = ["wireguard", "xfrm", "vti", "vti6", "ovpn", "ovpn-dco"]
    private static let modemKinds: Set<String> = ["wwan", "rmnet"]
    /// `ARPHRD_RAWIP` in the kernels of Qualcomm's phones; the number of the mainline kernel is 519.
    private static let rawIPOfPhones: UInt16 = 530

    func traits(of link: LinkFacts, deviceType: String) -> InterfaceTraits {
        let override = overrides.first { $0.matches(link.name) }
        let type = override?.type ?? Self.type(of: link, deviceType: deviceType)
        let isTransient = Self.isTunnel(link) || type == .cellular
        var connection: ReachabilityFlags = [.connectionRequired, .connectionOnTraffic]
        if override?.interventionRequired == true { connection.insert(.interventionRequired) }
        if override?.connectionOnDemand == true { connection.insert(.connectionOnDemand) }
        let isConfigured = override?.interventionRequired == true || override?.connectionOnDemand == true
        return InterfaceTraits(
            type: type, isPointToPoint: Self.isTunnel(link), isTransient: isTransient,
            isExpensive: override?.isExpensive ?? (type == .cellular), isConstrained: override?.isConstrained ?? false,
            connection: isTransient || isConfigured ? connection : nil)
    }

    private static func type(of link: LinkFacts, deviceType: String) -> NetworkInterface.InterfaceType {
        if link.isLoopback { return .loopback }
        if tunnelKinds.contains(link.kind) { return .other }
        if isModem(link, deviceType: deviceType) { return .cellular }
        if deviceType == "wlan" { return .wifi }
        if isTunnel(link) { return .other }
        if link.name.hasPrefix("wl") { return .wifi }
        return link.hardwareType == UInt16(ARPHRD_ETHER) ? .wiredEthernet : .other
    }

    /// By kind, by the driver's device type, by raw IP frames, or by name (systemd.net-naming-scheme(7)).
    private static func isModem(_ link: LinkFacts, deviceType: String) -> Bool {
        modemKinds.contains(link.kind) || deviceType == "wwan" || link.hardwareType == UInt16(ARPHRD_RAWIP)
            || link.hardwareType == rawIPOfPhones || link.name.hasPrefix("ww")
    }

    /// WireGuard and others have no IFF_POINTOPOINT in some versions. A tap is Ethernet, though of kind `tun`.
    private static func isTunnel(_ link: LinkFacts) -> Bool {
        link.isPointToPoint || tunnelKinds.contains(link.kind) || link.kind == "ppp"
            || (link.kind == "tun" && !link.isTap)
    }
}
