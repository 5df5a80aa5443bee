internal import CRingwakeNetlink
internal import Glibc

extension FilterCompiler {
    /// From this age on, an address that was just written to is one that was refreshed, in 1/100 s. A new one is
    /// younger: the kernel sets both of its times at once.
    private static let refreshAge: UInt32 = 500

    /// States of an address in which it cannot be counted on as it is: each change of them is told. They are all among
    /// the eight flags of `ifa_flags`; IFA_FLAGS repeats them.
    private static let unsettledFlags = UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_OPTIMISTIC)

    mutating func checkAddress() {
        load(.length)
        assembler.test(BPF_JGE, Offset.addressAttributes, otherwise: .pass)
        // While an address is tentative, the end of its check is told in a message like a refresh.
        if level >= 2, !scope.hasTentativeAddresses { checkRefresh() }
        guard level >= 4 else {
            assembler.end(.pass)
            return
        }
        // Every IPv6 link has a link-local address. It matters where the link does. Other addresses always do: they
        // make a link one of ours.
        load(.byte(Offset.family))
        assembler.test(BPF_JEQ, UInt32(AF_INET6), otherwise: .pass)
        load(.byte(Offset.addressScope))
        assembler.test(BPF_JEQ, RT_SCOPE_LINK.rawValue, otherwise: .pass)
        goByInterface()
    }

    /// Drops what a router advertisement or a DHCP renewal says of an address that is there: that it stays.
    ///
    /// The lifetimes change, never whether the address can be used: its end is RTM_DELADDR. That it is preferred again,
    /// after it was not, looks the same, and is seen with the next change of anything.
    private mutating func checkRefresh() {
        let isNoRefresh = assembler.label()
        load(.half(Offset.type))
        assembler.branch(to: isNoRefresh, if: BPF_JEQ, Self.swapped(RTM_NEWADDR), holds: false)
        load(.byte(Offset.addressFlags))
        assembler.branch(to: isNoRefresh, if: BPF_JSET, Self.unsettledFlags)
        // What is sent has another source once its own is no longer preferred. A temporary address has a successor then,
        // which was told of when it came, and is preferred to it from there on (RFC 8981 section 3.4).
        calculate(BPF_AND, UInt32(IFA_F_DEPRECATED | IFA_F_TEMPORARY))
        assembler.branch(to: isNoRefresh, if: BPF_JEQ, UInt32(IFA_F_DEPRECATED))
        load(.constant(Offset.addressAttributes))
        find(attribute: UInt32(IFA_CACHEINFO))
        enter(attributeOf: UInt32(MemoryLayout<ifa_cacheinfo>.size))
        assembler.emit(BPF_STX, Slot.attribute.rawValue)
        // cstamp and tstamp are the third and the fourth word. Both wrap after 497 days, and their difference with
        // them, as both are unsigned: an address that is exactly so old passes for 5 s.
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
