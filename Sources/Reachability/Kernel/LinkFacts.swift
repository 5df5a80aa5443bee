/// The facts of an RTM_NEWLINK that matter here.
struct LinkFacts: Equatable, Sendable {
    var index: UInt32
    var name: String
    /// `ARPHRD_*` of `linux/if_arp.h`.
    var hardwareType: UInt16
    /// `IFF_*` of `linux/if.h`.
    var flags: UInt32
    /// `IF_OPER_*` (RFC 2863); `IF_OPER_UNKNOWN` (0) where the driver does not say.
    var operationalState: UInt8
    /// IFLA_INFO_KIND: `veth`, `bridge`, `wireguard`, `tun`; empty for a device without a kind.
    var kind: String = ""
    /// IFLA_INFO_SLAVE_KIND: what it is a port of; empty for none.
    var portKind: String = ""
    /// Whether a link of kind `tun` is a tap (IFLA_TUN_TYPE is IFF_TAP).
    var isTap = false
}

/// The facts of an RTM_NEWADDR.
struct AddressFacts: Hashable, Sendable {
    var interface: UInt32
    /// The address of this machine (IFA_LOCAL if present, else IFA_ADDRESS).
    var address: IPAddress
    var prefixLength: UInt8
    /// `RT_SCOPE_*`.
    var scope: UInt8
    /// `IFA_F_*`, all 32 bits (IFA_FLAGS).
    var flags: UInt32
}

/// A change that the kernel reported.
enum KernelEvent: Equatable, Sendable {
    case link(LinkFacts)
    case linkGone(UInt32)
    case address(AddressFacts)
    case addressGone(AddressFacts)
    /// A route, a rule or a nexthop object changed. The details don't matter: only a look-up shows the effect.
    case routing
}
