internal import CRingwakeNetlink

/// Which interfaces' addresses the results of an evaluation depend on.
///
/// A message about an address can be dropped if it is about an interface that is not involved, and all of this holds:
/// - No answer of the kernel leads over the interface, and it owns no local destination, no given source, and no source
///   that the kernel chose. The kernel removes routes without a message only with addresses of their interface, or with
///   their own source (IPv4).
/// - Each source that the kernel chose is an address of the outgoing interface, for IPv6 a preferred one of universal
///   scope, for a destination of that scope. Only otherwise does the kernel compare it with addresses of other
///   interfaces (`inet_select_addr`; RFC 6724 rules 1 to 5).
/// - Each given source has an owner. An address whose duplicate check is unfinished has no local route yet.
/// - No IPv4 route in use has several hops: the kernel spreads packets anew, without a message, when one of them loses
///   or gets an address.
/// - No IPv4 route refuses packets: on older kernels it goes without a message if it names a source, which the answer
///   does not tell.
///
/// A destination that becomes local or on-link is no exception, because the routes have messages of their own.
struct Involvement {
    /// Maximum routes to check for several hops; with more, no message is dropped.
    private static let maximumRoutes = 128

    /// Flags of an IPv6 address that another interface's address may be preferred to.
    private static let avoided = UInt32(
        bitPattern: IFA_F_DEPRECATED | IFA_F_TENTATIVE | IFA_F_OPTIMISTIC | IFA_F_DADFAILED)

    private(set) var interfaces: Set<UInt32> = []
    /// Whether a source may depend on the addresses of any interface.
    private var isOpen = false
    /// Questions that IPv4 routes answered.
    private var questions: Set<RouteQuestion> = []

    /// The result depends on this interface.
    mutating func insert(_ interface: UInt32) { interfaces.insert(interface) }

    /// The result depends on an address of this machine.
    mutating func insert(own address: IPAddress, _ tables: KernelTables) {
        let owners = tables.owners(of: address)
        if owners.isEmpty, !address.isLoopback { isOpen = true }
        interfaces.formUnion(owners)
    }

    /// The result depends on a route that refuses packets.
    mutating func insertRefusal(of question: RouteQuestion) {
        if question.destination.family == .ipv4 { isOpen = true }
    }

    /// The result depends on the source of packets that stay on this machine.
    mutating func insert(localSource source: IPAddress, _ question: RouteQuestion, _ tables: KernelTables) {
        insert(own: source, tables)
        // For an anycast address the kernel chooses one.
        if source.family == .ipv6, question.source == nil { isOpen = true }
    }

    /// The result depends on a route that packets are sent by. The tables must contain its link.
    mutating func insert(_ route: Route, _ question: RouteQuestion, _ tables: KernelTables) {
        interfaces.insert(route.interface)
        if question.destination.family == .ipv4 { questions.insert(question) }
        if let source = question.source { return insert(own: source, tables) }
        guard let source = route.source, let facts = tables.address(source, on: route.interface),
            facts.interface == route.interface
        else {
            isOpen = true
            return
        }
        // Another interface may have the same address, and the outgoing one only for its link.
        interfaces.formUnion(tables.owners(of: source))
        let destination = question.destination
        // For these the kernel looks at the outgoing interface only.
        guard source.family == .ipv6, !destination.isLinkLocal, !destination.isMulticast else { return }
        if UInt32(facts.scope) != RT_SCOPE_UNIVERSE.rawValue || facts.flags & Self.avoided != 0
            || destination.isSiteLocal
        {
            isOpen = true
        }
    }

    /// Those of `interfaces` that no result depends on.
    func uninvolved(of candidates: Set<UInt32>, _ kernel: any KernelLookup) -> Set<UInt32> {
        let rest = candidates.subtracting(interfaces)
        guard !rest.isEmpty, !isOpen, questions.count <= Self.maximumRoutes else { return [] }
        for var question in questions {
            question.matchesTable = true
            // Only the entry of the table has the hops. What can't be asked counts as involved.
            guard case .route(let entry)? = try? kernel.route(question), entry.hops.isEmpty else { return [] }
        }
        return rest
    }
}

extension IPAddress {
    /// fec0::/10 (RFC 3879). The kernel still gives it a scope of its own.
    fileprivate var isSiteLocal: Bool { family == .ipv6 && high >> 54 == 0xfec0 >> 6 }
}
