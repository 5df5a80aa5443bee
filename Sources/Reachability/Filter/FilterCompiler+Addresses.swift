internal import CRingwakeNetlink
internal import Glibc

extension FilterCompiler {
    /// Age in 1/100 s from which a changed address counts as refreshed. A new address is younger: the kernel sets
    /// both of its times at once.
    private static let refreshAge: UInt32 = 500

    /// Flags of an address that isn't settled: each change of them is reported. All are among the eight flags of
    /// `ifa_flags`; IFA_FLAGS repeats them.
    private static let unsettledFlags = UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_OPTIMISTIC)

    mutating func checkAddress() {
        load(.length)
        assembler.test(BPF_JGE, Offset.addressAttributes, otherwise: .pass)
        // While an address is tentative, the message about the end of its check looks like a refresh.
        if level >= 2, !scope.hasTentativeAddresses { checkRefresh() }
        guard level >= 4 else {
            assembler.end(.pass)
            return
        }
        checkInvolved()
        // Every IPv6 link has a link-local address, which matters only if the link does. Other addresses always
        // matter, because they make the link matter.
        load(.byte(Offset.family))
        assembler.test(BPF_JEQ, UInt32(AF_INET6), otherwise: .pass)
        load(.byte(Offset.addressScope))
        assembler.test(BPF_JEQ, RT_SCOPE_LINK.rawValue, otherwise: .pass)
        goByInterface()
    }

    /// Drops messages about addresses of interfaces that no result depends on (``Involvement``). A route or a local
    /// address that they bring has a message of its own, which goes by its prefix.
    private mutating func checkInvolved() {
        guard !scope.uninvolved.isEmpty else { return }
        let mayBeInvolved = assembler.label()
        // Packets prefer a home address as their source, whatever interface has it.
        load(.byte(Offset.addressFlags))
        assembler.branch(to: mayBeInvolved, if: BPF_JSET, UInt32(IFA_F_HOMEADDRESS))
        load(.word(Offset.index))
        for index in scope.uninvolved.sorted() { assembler.test(BPF_JEQ, index.bigEndian, then: .drop) }
        assembler.place(mayBeInvolved)
    }

    /// Drops a message by which a router advertisement or a DHCP renewal only confirms an existing address.
    ///
    /// The lifetimes change, never whether the address can be used: its end is RTM_DELADDR. An address that becomes
    /// preferred again looks the same; the next change of anything shows that.
    private mutating func checkRefresh() {
        let isNoRefresh = assembler.label()
        load(.half(Offset.type))
        assembler.branch(to: isNoRefresh, if: BPF_JEQ, Self.swapped(RTM_NEWADDR), holds: false)
        load(.byte(Offset.addressFlags))
        assembler.branch(to: isNoRefresh, if: BPF_JSET, Self.unsettledFlags)
        // Packets get another source when their address is no longer preferred. A temporary address then has a
        // successor, which was reported when it was added, and is preferred from then on (RFC 8981 section 3.4).
        calculate(BPF_AND, UInt32(IFA_F_DEPRECATED | IFA_F_TEMPORARY))
        assembler.branch(to: isNoRefresh, if: BPF_JEQ, UInt32(IFA_F_DEPRECATED))
        load(.constant(Offset.addressAttributes))
        find(attribute: UInt32(IFA_CACHEINFO))
        enter(attributeOf: UInt32(MemoryLayout<ifa_cacheinfo>.size))
        assembler.emit(BPF_STX, Slot.attribute.rawValue)
        // cstamp and tstamp are the third and the fourth word. Both wrap after 497 days, and so does their
        // difference, as both are unsigned: an address of exactly that age counts as new for 5 s.
        load(.wordBehindX(12))
        swapBytes()
        store(.created)
        loadX(.attribute)
        load(.wordBehindX(16))
        swapBytes()
        loadX(.created)
        calculate(BPF_SUB)
        assembler.test(BPF_JGE, Self.refreshAge, then: .drop)
        assembler.place(isNoRefresh)
    }
}
