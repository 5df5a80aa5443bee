/// The reachability of one destination, according to the kernel's tables; no packet is sent.
public struct TargetReachability: Hashable, Sendable {
    public var flags: ReachabilityFlags
    public var status: NetworkPath.Status
    /// Why the status is not satisfied; nil if it is.
    public var unsatisfiedReason: UnsatisfiedReason?
    /// The interface that packets use; also an interface that is down, if that is the reason.
    public var interface: NetworkInterface?
    /// The source address of packets.
    public var source: IPAddress?
    /// The gateway; nil if the destination is on the link.
    public var nextHop: IPAddress?
    /// The interface is billed by volume.
    public var isExpensive: Bool
    /// The program should use the interface sparingly. Set only by the configuration.
    public var isConstrained: Bool
    /// An IPv4 address of the destination can be reached.
    public var supportsIPv4: Bool
    /// An IPv6 address of the destination can be reached.
    public var supportsIPv6: Bool
    /// A name server of `/etc/resolv.conf` is reachable.
    public var supportsDNS: Bool
    /// The evaluated addresses; those of a host name in the resolver's order. Empty for ``ReachabilityTarget/any``.
    public var addresses: [IPAddress]

    public init(
        flags: ReachabilityFlags, status: NetworkPath.Status, unsatisfiedReason: UnsatisfiedReason? = nil,
        interface: NetworkInterface? = nil, source: IPAddress? = nil, nextHop: IPAddress? = nil,
        isExpensive: Bool = false, isConstrained: Bool = false, supportsIPv4: Bool = false,
        supportsIPv6: Bool = false, supportsDNS: Bool = false, addresses: [IPAddress] = []
    ) {
        self.flags = flags
        self.status = status
        self.unsatisfiedReason = unsatisfiedReason
        self.interface = interface
        self.source = source
        self.nextHop = nextHop
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.supportsIPv4 = supportsIPv4
        self.supportsIPv6 = supportsIPv6
        self.supportsDNS = supportsDNS
        self.addresses = addresses
    }

    /// Packets can be sent now.
    public var isReachable: Bool { status == .satisfied }
}
