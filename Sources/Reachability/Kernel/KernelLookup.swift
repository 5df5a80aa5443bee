/// A route look-up (RTM_GETROUTE).
struct RouteQuestion: Hashable, Sendable {
    var destination: IPAddress
    /// RTA_SRC: the address to send from.
    var source: IPAddress?
    /// RTA_OIF: the interface to leave by; 0 for any.
    var interface: UInt32 = 0
    /// RTM_F_FIB_MATCH: answer with the entry of the table, which has the metric, instead of the result of the
    /// look-up. An IPv4 look-up with an interface invents a direct route if the table has none; this one doesn't.
    var matchesTable = false
    /// RTA_UID: the user whose packets these are; nil for this process's.
    var user: UInt32?
}

/// The kernel's answer to a ``RouteQuestion``.
enum RouteAnswer: Hashable, Sendable {
    case route(Route)
    /// There is no route. The `errno` says why: ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL.
    case refused(Int32)
}

/// A route as RTM_NEWROUTE gives it.
struct Route: Hashable, Sendable {
    /// `RTN_*`: RTN_UNICAST, RTN_LOCAL, RTN_BROADCAST, RTN_MULTICAST.
    var type: UInt8
    /// RTA_OIF; 0 when there is none. Of a route with several hops, the first that the kernel does not call dead.
    var interface: UInt32
    /// The interfaces of its hops that the kernel does not call dead, if it has several (RTA_MULTIPATH): packets are
    /// spread over them. Only the entry of the table has them.
    var hops: [UInt32] = []
    /// RTA_GATEWAY or RTA_VIA (RFC 5549: of the other family).
    var gateway: IPAddress?
    /// RTA_PREFSRC.
    var source: IPAddress?
    /// RTA_PRIORITY.
    var metric: UInt32 = 0
    /// Remaining lifetime of an IPv6 route that a router advertised for a time; nil: forever. The route can't be used
    /// afterwards, but the kernel reports that only when it next cleans up, half a minute later. Only the entry of
    /// the table has the lifetime.
    var lifetime: Duration?
}

/// The kernel didn't answer, or its answer is unreadable.
struct KernelLookupError: Error, Hashable, Sendable {
    /// What was asked: `RTM_GETLINK`.
    let request: String
    /// What went wrong.
    let message: String
}

/// The queries of the kernel for an evaluation. Netlink answers them, or the tables of a test.
protocol KernelLookup: AnyObject {
    func route(_ question: RouteQuestion) throws(KernelLookupError) -> RouteAnswer
    /// All links.
    func links() throws(KernelLookupError) -> [LinkFacts]
    /// One link; nil when there is none of that index.
    func link(_ index: UInt32) throws(KernelLookupError) -> LinkFacts?
    /// The index of the link of this name; nil when there is none.
    func index(ofLink name: String) throws(KernelLookupError) -> UInt32?
    /// The addresses of a link, or of all when it is 0.
    func addresses(of interface: UInt32) throws(KernelLookupError) -> [AddressFacts]
    /// The driver's name of the device type (DEVTYPE of its uevent): `wlan`, `wwan`, `bridge`; empty for none.
    func deviceType(of link: LinkFacts) -> String
}
