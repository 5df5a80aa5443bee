internal import CRingwakeNetlink
internal import Glibc

extension FilterCompiler {
    /// Interfaces that the rule for ports names at most. With more it is left out below level 4, which has a list of
    /// its own: a change too many is told there rather than one too few.
    static let maximumNamedPorts = 64

    /// What a link may be a port of without routes of its own: the first four letters of IFLA_INFO_SLAVE_KIND. Ports
    /// of a `vrf` carry routes, and are not among them.
    private static let portKinds = ["bridge", "bond", "team", "openvswitch"]

    mutating func checkLink() {
        load(.length)
        assembler.test(BPF_JGE, Offset.linkAttributes, otherwise: .pass)
        // Family AF_BRIDGE: a bridge tells of its port. The link itself is told of in messages of no family.
        load(.byte(Offset.family))
        assembler.test(BPF_JEQ, UInt32(AF_BRIDGE), then: .drop)
        if level >= 2 {
            load(.half(Offset.type))
            let isKnown = assembler.label()
            assembler.branch(to: isKnown, if: BPF_JEQ, Self.swapped(RTM_NEWLINK), holds: false)
            // An event of the wireless extensions, such as each result of a scan. It says nothing of the link's state:
            // that is told in messages without this attribute.
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
        // A link that nobody named becomes one of ours by an address or a route, which are told of. Tunnels and modems
        // may be used before they have either.
        load(.word(Offset.linkFlags))
        assembler.test(BPF_JSET, UInt32(IFF_POINTOPOINT.rawValue).bigEndian, then: .pass)
        goByInterface()
    }

    /// A port of a bridge or a bond sends and receives for that one, whose own state is told of. Ports that we have a
    /// use for are named. Level 4 goes by the names alone.
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
