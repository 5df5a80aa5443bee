internal import CRingwakeNetlink
internal import Glibc

extension FilterCompiler {
    /// Maximum interfaces that the rule for ports names. With more, the rule is left out below level 4, which has a
    /// list of its own: one irrelevant event is better than a missed one.
    static let maximumNamedPorts = 64

    /// Masters whose ports have no routes of their own: the first four letters of IFLA_INFO_SLAVE_KIND. Ports of a
    /// `vrf` carry routes, so it isn't among them.
    private static let portKinds = ["bridge", "bond", "team", "openvswitch"]

    mutating func checkLink() {
        load(.length)
        assembler.test(BPF_JGE, Offset.linkAttributes, otherwise: .pass)
        // Family AF_BRIDGE: a bridge reports its port. Messages of no family report the link itself.
        load(.byte(Offset.family))
        assembler.test(BPF_JEQ, UInt32(AF_BRIDGE), then: .drop)
        if level >= 2 {
            load(.half(Offset.type))
            let isKnown = assembler.label()
            assembler.branch(to: isKnown, if: BPF_JEQ, Self.swapped(RTM_NEWLINK), holds: false)
            // An event of the wireless extensions, such as a result of a scan. It lacks the link's state, which
            // messages without this attribute report.
            load(.constant(Offset.linkAttributes))
            find(attribute: UInt32(IFLA_WIRELESS))
            assembler.test(BPF_JEQ, 0, otherwise: .drop)
            checkPort()
            assembler.place(isKnown)
        }
        guard level >= 4, !scope.awaitsLinks else {
            assembler.end(.pass)
            return
        }
        // Another link begins to matter by an address or a route, which are reported. Tunnels and modems may be used
        // before they have either.
        load(.word(Offset.linkFlags))
        assembler.test(BPF_JSET, UInt32(IFF_POINTOPOINT.rawValue).bigEndian, then: .pass)
        goByInterface()
    }

    /// A port of a bridge or a bond sends and receives for its master, whose own state is reported. The scope names
    /// the ports in use. Level 4 uses these names alone.
    private mutating func checkPort() {
        guard level < 4, !scope.awaitsLinks, scope.interfaces.count <= Self.maximumNamedPorts else { return }
        load(.constant(Offset.linkAttributes))
        find(attribute: UInt32(IFLA_LINKINFO))
        assembler.test(BPF_JEQ, 0, then: .pass)
        find(attribute: UInt32(IFLA_INFO_SLAVE_KIND), isNested: true)
        enter(attributeOf: 4)
        load(.wordBehindX(UInt32(MemoryLayout<nlattr>.size)))
        for kind in Self.portKinds {
            let start = kind.utf8.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
            assembler.branch(to: interfaceCheck, if: BPF_JEQ, start)
        }
        needsInterfaceCheck = true
    }

    mutating func goByInterface() {
        needsInterfaceCheck = true
        assembler.go(to: interfaceCheck)
    }
}
