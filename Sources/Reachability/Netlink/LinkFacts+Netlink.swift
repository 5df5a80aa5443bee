internal import CRingwakeNetlink
internal import Glibc

extension LinkFacts {
    /// Longest name of a link: IFNAMSIZ less the NUL that ends it.
    static let maximumNameLength = Int(CRingwakeNetlink.IFNAMSIZ) - 1
    /// Maximum length of a kind; the kernel's have up to 12.
    private static let maximumKindLength = 31

    /// Reads an RTM_NEWLINK.
    ///
    /// Nil for a message that isn't about the link itself: a bridge's message about a port (`ifi_family` AF_BRIDGE),
    /// or a wireless event, which lacks the state.
    init?(_ message: NetlinkMessage) {
        guard let header = message.header(as: ifinfomsg.self), Int32(header.ifi_family) == AF_UNSPEC,
            let index = UInt32(exactly: header.ifi_index), index > 0
        else { return nil }
        let facts = message.withAttributes(after: ifinfomsg.self, maximum: IFLA_LINKINFO) { attributes in
            Self.read(attributes, index: index, header: header)
        }
        guard let facts else { return nil }
        self = facts
    }

    private static func read(_ attributes: NetlinkAttributes, index: UInt32, header: ifinfomsg) -> LinkFacts? {
        guard let name = attributes.text(IFLA_IFNAME, maximumLength: maximumNameLength), !name.isEmpty,
            let state = attributes.number(IFLA_OPERSTATE, as: UInt8.self)
        else { return nil }
        var facts = LinkFacts(
            index: index, name: name, hardwareType: header.ifi_type, flags: header.ifi_flags,
            operationalState: state)
        return attributes.nested(IFLA_LINKINFO, maximum: IFLA_INFO_SLAVE_KIND) { info in
            facts.kind = info.text(IFLA_INFO_KIND, maximumLength: maximumKindLength) ?? ""
            facts.portKind = info.text(IFLA_INFO_SLAVE_KIND, maximumLength: maximumKindLength) ?? ""
            guard facts.kind == "tun" else { return facts }
            let type = info.nested(IFLA_INFO_DATA, maximum: IFLA_TUN_TYPE) { $0.number(IFLA_TUN_TYPE, as: UInt8.self) }
            facts.isTap = type.map(Int32.init) == IFF_TAP
            return facts
        } ?? facts
    }
}
