// Interprets the numbers in the kernel's facts, with the constants of its headers.

internal import CRingwakeNetlink

extension LinkFacts {
    /// Whether packets can be sent over a link, judged by the link alone.
    enum State: Equatable {
        case usable
        case dormant
        case unusable(UnsatisfiedReason)
    }

    private func has(_ flag: net_device_flags) -> Bool { flags & flag.rawValue != 0 }

    var isLoopback: Bool { has(IFF_LOOPBACK) }
    var isPointToPoint: Bool { has(IFF_POINTOPOINT) }

    /// From IFF_UP and the operational state only, because the kernel sometimes sets IFF_LOWER_UP together with
    /// NO-CARRIER. A link whose driver reports no state counts as up.
    var state: State {
        guard has(IFF_UP) else { return .unusable(.interfaceDown) }
        return switch Int(operationalState) {
        case Int(IF_OPER_UP), Int(IF_OPER_UNKNOWN): .usable
        case Int(IF_OPER_DORMANT): .dormant
        default: .unusable(.noCarrier)
        }
    }
}

extension AddressFacts {
    private func has(_ flag: Int32) -> Bool { flags & UInt32(bitPattern: flag) != 0 }

    /// Other machines may send to it: its scope is wider than the link.
    var isRoutable: Bool { UInt32(scope) < RT_SCOPE_LINK.rawValue }

    /// Whether no duplicate check prevents its use. An optimistic address is used before the check has ended (RFC
    /// 4429).
    var isUsable: Bool { !isDuplicate && (!has(IFA_F_TENTATIVE) || has(IFA_F_OPTIMISTIC)) }

    /// Packets prefer it as their source, whatever interface has it (RFC 6724 rule 4).
    var isHome: Bool { has(IFA_F_HOMEADDRESS) }

    /// The duplicate check has ended.
    var isChecked: Bool { !has(IFA_F_TENTATIVE) && !has(IFA_F_OPTIMISTIC) }

    /// The duplicate check found another node with it.
    var isDuplicate: Bool { has(IFA_F_DADFAILED) }

    /// Why packets cannot be sent from it; nil when they can.
    var obstacle: UnsatisfiedReason? {
        isDuplicate ? .sourceDuplicate : isUsable ? nil : .sourceTentative
    }

    /// Whether both are the same entry to the kernel.
    func isSameEntry(as other: AddressFacts) -> Bool {
        interface == other.interface && address == other.address && prefixLength == other.prefixLength
    }
}

extension Route {
    /// What the kernel does with a packet.
    enum Verdict: Equatable {
        /// Delivers it to this machine.
        case local
        /// Sends it.
        case sent
        case refused(UnsatisfiedReason)
    }

    var verdict: Verdict {
        switch Int(type) {
        // Packets to an anycast address of this machine do not leave it either (RFC 4291 section 2.6).
        case Int(RTN_LOCAL), Int(RTN_ANYCAST): .local
        case Int(RTN_UNICAST), Int(RTN_BROADCAST), Int(RTN_MULTICAST): .sent
        case Int(RTN_BLACKHOLE): .refused(.blackhole)
        case Int(RTN_UNREACHABLE): .refused(.unreachable)
        case Int(RTN_PROHIBIT): .refused(.prohibited)
        default: .refused(.noRoute)
        }
    }

    /// Whether packets to `destination` need no address that is valid beyond the link: nobody has to forward them, and
    /// the answer comes from the link too. A missing gateway does not show that: without a DHCP server, dhcpcd sets a
    /// default route without one, which leads nowhere.
    func staysOnLink(to destination: IPAddress) -> Bool {
        gateway == nil && (destination.isLinkLocal || destination.isMulticast || Int(type) == RTN_BROADCAST)
    }
}
