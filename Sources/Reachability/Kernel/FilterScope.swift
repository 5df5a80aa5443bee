/// What the filter of the event socket has to let through. The filter is compiled from it.
struct FilterScope: Equatable, Sendable {
    /// Every address whose routes matter: targets, probes for the default route, name servers. Without zones.
    var destinations: Set<IPAddress> = []
    /// The interfaces whose changes matter.
    var interfaces: Set<UInt32> = []
    /// Interfaces whose addresses can't change a result. Messages about these addresses may be dropped.
    var uninvolved: Set<UInt32> = []
    /// An address is tentative: then messages like refreshes must pass, because the end of its check looks like one.
    var hasTentativeAddresses = false
    /// A zone names a missing interface: then every new link must pass.
    var awaitsLinks = false
}
