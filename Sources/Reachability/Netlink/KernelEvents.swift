internal import CRingwakeNetlink

/// The events in the datagrams of the event groups, in order.
///
/// All changes of routes, rules and nexthop objects are one event, in the place of the first.
struct KernelEvents {
    private(set) var events: [KernelEvent] = []
    /// Messages in the datagrams.
    private(set) var messages = 0
    private var hasRouting = false

    /// Adds the events of one datagram.
    mutating func add(_ datagram: UnsafeRawBufferPointer) {
        for message in NetlinkMessages(datagram) {
            messages += 1
            guard let event = KernelEvent(message) else { continue }
            if event == .routing {
                if hasRouting { continue }
                hasRouting = true
            }
            events.append(event)
        }
    }
}

extension KernelEvent {
    /// Reads one message; nil if it is irrelevant or unreadable.
    init?(_ message: NetlinkMessage) {
        switch message.type {
        case RTM_NEWLINK:
            guard let facts = LinkFacts(message) else { return nil }
            self = .link(facts)
        case RTM_DELLINK:
            // With AF_BRIDGE a bridge reports that a link is no longer its port; the link itself is still there.
            guard let header = message.header(as: ifinfomsg.self), header.ifi_family == 0,
                let index = UInt32(exactly: header.ifi_index), index > 0
            else { return nil }
            self = .linkGone(index)
        case RTM_NEWADDR:
            guard let facts = AddressFacts(message) else { return nil }
            self = .address(facts)
        case RTM_DELADDR:
            guard let facts = AddressFacts(message) else { return nil }
            self = .addressGone(facts)
        case RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWRULE, RTM_DELRULE, RTM_NEWNEXTHOP, RTM_DELNEXTHOP:
            self = .routing
        default:
            return nil
        }
    }
}
