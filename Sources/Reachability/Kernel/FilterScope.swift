/// What has to come through the filter of the event socket. The filter is made of it, at the level that the kernel takes.
struct FilterScope: Equatable, Sendable {
    /// Every address whose routes matter: targets, probes for the default route, name servers. Without zones.
    var destinations: Set<IPAddress> = []
    /// The interfaces whose changes matter.
    var interfaces: Set<UInt32> = []
    /// Some address is tentative: then the end of its check must come through, which looks like a refresh.
    var hasTentativeAddresses = false
    /// A zone names an interface that is not there: then every new link must come through.
    var awaitsLinks = false
}
