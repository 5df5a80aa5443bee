/// The links and addresses that matter, as the kernel reported them last.
///
/// A link matters if it is the loopback, has an address that other machines can send to, is point-to-point (a tunnel
/// or a modem, which may have routes without an address), was the answer to a route look-up, or is the zone of a
/// target. Only those links are kept: the filter drops the events of others, so their facts would become stale.
/// Routes are never kept; each evaluation queries the kernel.
struct KernelTables {
    private struct Kept {
        var facts: LinkFacts
        /// The driver's name of the device type; nil before the first query.
        var deviceType: String?
        /// Whether the table has all its addresses. It lacks the link-local ones if an event made the link matter.
        var isComplete: Bool
    }

    /// Maximum links to read one by one; for more, two dumps cost less.
    private static let maximumSingleReads = 32
    /// Each costs the filter one instruction.
    private static let maximumRestless = 64

    private var links: [UInt32: Kept] = [:]
    private var addresses = AddressTable()
    /// Links that matter and have to be fetched.
    private var missing: Set<UInt32> = []
    /// Links used since the last resynchronization.
    private var used: Set<UInt32> = []
    /// Links about whose addresses the kernel reported something, up to ``maximumRestless``.
    private var restless: Set<UInt32> = []
    /// Links whose addresses are not kept, because no result depends on them and the filter drops their changes.
    private var silenced: Set<UInt32> = []
    /// Zones for which there is no link yet.
    var awaitedZones: Set<String> = []

    /// The links whose events have to pass the filter.
    var relevant: Set<UInt32> { missing.union(links.keys) }

    /// Whether the duplicate check of an address is unfinished.
    var hasTentativeAddresses: Bool { !addresses.unsettledInterfaces.isEmpty }

    /// The interfaces of these addresses.
    var interfacesWithUnsettledAddresses: Set<UInt32> { addresses.unsettledInterfaces }

    var loopback: LinkFacts? { links.values.first { $0.facts.isLoopback }?.facts }

    /// The links with an address that other machines can send to, and the point-to-point ones, by their indexes.
    var candidates: [LinkFacts] {
        let owners = addresses.routableInterfaces.union(silenced)
        return links.values.map(\.facts)
            .filter { !$0.isLoopback && ($0.isPointToPoint || owners.contains($0.index)) }
            .sorted { $0.index < $1.index }
    }

    /// The links with an address that other machines can send to, about whose addresses the kernel reported something.
    var restlessOwners: Set<UInt32> {
        guard !restless.isEmpty else { return [] }
        return addresses.routableInterfaces.union(silenced).intersection(restless).intersection(links.keys)
    }

    /// The link of this name, if it is kept.
    func link(named name: String) -> LinkFacts? { links.values.first { $0.facts.name == name }?.facts }

    /// The addresses of a link that is kept.
    func addresses(on interface: UInt32) -> [AddressFacts] { addresses.on(interface) }

    /// The facts about an address of this machine on this link, else on any link; a usable one first.
    func address(_ address: IPAddress, on interface: UInt32) -> AddressFacts? {
        addresses.facts(of: address, on: interface)
    }

    /// The links that have this address.
    func owners(of address: IPAddress) -> Set<UInt32> { addresses.owners(of: address) }

    // MARK: - Events

    /// Applies an event of the kernel.
    /// - Returns: Whether something changed that may matter to a target: then evaluate everything again.
    mutating func apply(_ event: KernelEvent) -> Bool {
        switch event {
        case .link(let facts): apply(facts)
        case .linkGone(let index): forget(index)
        case .address(let facts): apply(facts)
        case .addressGone(let facts): remove(facts)
        case .routing: true
        }
    }

    private mutating func apply(_ facts: LinkFacts) -> Bool {
        let old = links[facts.index]
        guard old != nil || matters(facts) || missing.contains(facts.index), old?.facts != facts else { return false }
        keep(facts)
        return true
    }

    private mutating func apply(_ facts: AddressFacts) -> Bool {
        guard !isSilenced(facts) else { return false }
        // The other addresses of its link are unknown.
        if silenced.contains(facts.interface) { links[facts.interface]?.isComplete = false }
        if links[facts.interface] == nil {
            guard facts.isRoutable else { return false }
            missing.insert(facts.interface)
        }
        return addresses.insert(facts)
    }

    /// Whether a change of an address is without effect. Notes that the link's addresses change.
    private mutating func isSilenced(_ facts: AddressFacts) -> Bool {
        if restless.count < Self.maximumRestless { restless.insert(facts.interface) }
        return silenced.contains(facts.interface) && !facts.isHome
    }

    /// Forgets the addresses of these links, and ignores them until the link is used or read again.
    mutating func silence(_ interfaces: Set<UInt32>) {
        silenced = interfaces
        for interface in interfaces { _ = addresses.removeAll(on: interface) }
    }

    /// Whether a link matters by itself, whatever its addresses.
    private func matters(_ facts: LinkFacts) -> Bool {
        facts.isLoopback || facts.isPointToPoint || awaitedZones.contains(facts.name)
            || awaitedZones.contains(String(facts.index))
    }

    /// If the link went up or down, its addresses are read again: the kernel makes addresses that survive this
    /// tentative without reporting it (`net.ipv6.conf.*.keep_addr_on_down`).
    private mutating func keep(_ facts: LinkFacts) {
        let old = links[facts.index]
        let isSameState = old?.facts.flags == facts.flags && old?.facts.operationalState == facts.operationalState
        let isComplete = silenced.contains(facts.index) || (old?.isComplete == true && isSameState)
        links[facts.index] = kept(facts, isComplete: isComplete)
        missing.remove(facts.index)
    }

    private func kept(_ facts: LinkFacts, isComplete: Bool) -> Kept {
        let old = links[facts.index]
        let deviceType = old?.facts.name == facts.name ? old?.deviceType : nil
        return Kept(facts: facts, deviceType: deviceType, isComplete: isComplete)
    }

    private mutating func forget(_ index: UInt32) -> Bool {
        missing.remove(index)
        used.remove(index)
        restless.remove(index)
        silenced.remove(index)
        let hadAddresses = addresses.removeAll(on: index)
        return links.removeValue(forKey: index) != nil || hadAddresses
    }

    private mutating func remove(_ facts: AddressFacts) -> Bool {
        guard !isSilenced(facts), addresses.remove(facts) else { return false }
        // The link may have the same IPv4 address with another peer, so read its addresses again.
        if facts.address.family == .ipv4 { links[facts.interface]?.isComplete = false }
        return true
    }

    // MARK: - Questions to the kernel

    /// Reads everything again. The tables stay as they were if the kernel doesn't answer.
    mutating func resynchronize(_ kernel: any KernelLookup) throws(KernelLookupError) {
        let allAddresses = try kernel.addresses(of: 0)
        let owners = Set(allAddresses.filter(\.isRoutable).map(\.interface))
        var current: [UInt32: Kept] = [:]
        for facts in try kernel.links() {
            guard matters(facts) || owners.contains(facts.index) || used.contains(facts.index) else { continue }
            current[facts.index] = kept(facts, isComplete: true)
        }
        links = current
        missing = []
        used = []
        addresses = AddressTable()
        silenced = []
        let before = restless
        // An address may have a link that appeared or vanished between the two dumps.
        for facts in allAddresses { _ = apply(facts) }
        restless = before.intersection(current.keys)
    }

    /// Fetches what is missing. Call it before judging targets.
    mutating func complete(_ kernel: any KernelLookup) throws(KernelLookupError) {
        for index in missing.union(links.filter { !$0.value.isComplete }.keys) { _ = try fetch(index, kernel) }
    }

    /// The link of this index; it matters from now on.
    /// - Returns: Nil if there is none.
    mutating func link(_ index: UInt32, _ kernel: any KernelLookup) throws(KernelLookupError) -> LinkFacts? {
        used.insert(index)
        if let kept = links[index], kept.isComplete, !silenced.contains(index) { return kept.facts }
        return try fetch(index, kernel)
    }

    /// Reads these links again: the filter lets their events through only from now on, so a change may have been
    /// missed.
    /// - Returns: Whether something changed.
    mutating func refresh(_ indexes: Set<UInt32>, _ kernel: any KernelLookup) throws(KernelLookupError) -> Bool {
        let before = self
        if indexes.count <= Self.maximumSingleReads {
            for index in indexes { _ = try fetch(index, kernel) }
        } else {
            try resynchronize(kernel)
            // This doesn't start an evaluation, so the links that the last one used are still in use.
            used = before.used
        }
        return links.mapValues(\.facts) != before.links.mapValues(\.facts) || !addresses.isSame(as: before.addresses)
    }

    /// The driver's name of the device type; asked once, and again after a change of the link's name.
    mutating func deviceType(of link: LinkFacts, _ kernel: any KernelLookup) -> String {
        if let known = links[link.index], known.facts.name == link.name, let type = known.deviceType { return type }
        let type = kernel.deviceType(of: link)
        links[link.index]?.deviceType = type
        return type
    }

    private mutating func fetch(_ index: UInt32, _ kernel: any KernelLookup) throws(KernelLookupError) -> LinkFacts? {
        guard let facts = try kernel.link(index) else {
            _ = forget(index)
            return nil
        }
        let current = try kernel.addresses(of: index)
        silenced.remove(index)
        keep(facts)
        _ = addresses.removeAll(on: index)
        for address in current where address.interface == index { _ = addresses.insert(address) }
        links[index]?.isComplete = true
        return facts
    }
}
