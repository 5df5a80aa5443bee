/// The links and addresses that matter, as the kernel told of them last.
///
/// A link matters when it is the loopback, has an address that other machines can send to, is point-to-point (a tunnel
/// or a modem, which may have routes without an address), was an answer of a route look-up, or is the zone of a target.
/// Only those are kept: the filter lets nothing of the others through, so what was known of them would go stale. Routes
/// are not kept at all; the kernel is asked.
final class KernelTables {
    /// A link that is kept.
    private struct Kept {
        var facts: LinkFacts
        /// What the driver calls it; nil until somebody asked.
        var deviceType: String?
        /// All its addresses are in the table. The link-local ones are not when it began to matter by an event.
        var isComplete: Bool
    }

    private var links: [UInt32: Kept] = [:]
    /// By the address without zone. Several links may have the same link-local address, and one link the same IPv4
    /// address with different prefixes.
    private var addresses: [IPAddress: [AddressFacts]] = [:]
    /// Links that matter and have to be fetched.
    private var missing: Set<UInt32> = []
    /// Links that were asked for since the last resynchronization.
    private var used: Set<UInt32> = []
    /// Zones that name no link yet.
    var awaitedZones: Set<String> = []

    /// The links whose events have to come through the filter.
    var relevant: Set<UInt32> { missing.union(links.keys) }

    /// The end of some address's duplicate check is still to come. One that failed counts: the check may run again.
    var hasTentativeAddresses: Bool { !interfacesWithUnsettledAddresses.isEmpty }

    /// Where those addresses are.
    var interfacesWithUnsettledAddresses: Set<UInt32> {
        Set(addresses.values.joined().filter { !$0.isChecked || $0.isDuplicate }.map(\.interface))
    }

    /// The loopback.
    var loopback: LinkFacts? { links.values.first { $0.facts.isLoopback }?.facts }

    /// The links with an address that other machines can send to, and the point-to-point ones, by their indexes.
    var candidates: [LinkFacts] {
        let owners = Set(addresses.values.joined().filter(\.isRoutable).map(\.interface))
        return links.values.map(\.facts)
            .filter { !$0.isLoopback && ($0.isPointToPoint || owners.contains($0.index)) }
            .sorted { $0.index < $1.index }
    }

    /// The link of this name, if it is kept.
    func link(named name: String) -> LinkFacts? { links.values.first { $0.facts.name == name }?.facts }

    /// The addresses of a link that is kept.
    func addresses(on interface: UInt32) -> [AddressFacts] {
        addresses.values.joined().filter { $0.interface == interface }
    }

    /// What is known of an address of this machine: on this link, or else on any, a usable one first.
    func address(_ address: IPAddress, on interface: UInt32) -> AddressFacts? {
        let entries = addresses[address.inZone("")] ?? []
        let here = entries.filter { $0.interface == interface }
        let choice = here.isEmpty ? entries : here
        return choice.first { $0.isUsable } ?? choice.first
    }

    /// The links that have this address.
    func owners(of address: IPAddress) -> Set<UInt32> {
        Set((addresses[address.inZone("")] ?? []).map(\.interface))
    }
}

// MARK: What the kernel tells

extension KernelTables {
    /// Takes in what the kernel told.
    /// - Returns: Something changed that may matter to a target: judge all anew.
    func apply(_ event: KernelEvent) -> Bool {
        switch event {
        case .link(let facts): apply(facts)
        case .linkGone(let index): forget(index)
        case .address(let facts): apply(facts)
        case .addressGone(let facts): remove(facts)
        case .routing: true
        }
    }

    private func apply(_ facts: LinkFacts) -> Bool {
        guard let old = links[facts.index] else {
            guard matters(facts) || missing.contains(facts.index) else { return false }
            keep(facts)
            return true
        }
        guard old.facts != facts else { return false }
        keep(facts)
        return true
    }

    private func apply(_ facts: AddressFacts) -> Bool {
        if links[facts.interface] == nil {
            guard facts.isRoutable else { return false }
            missing.insert(facts.interface)
        }
        return insert(facts)
    }

    /// A link that matters by itself, whatever its addresses.
    private func matters(_ facts: LinkFacts) -> Bool {
        facts.isLoopback || facts.isPointToPoint || awaitedZones.contains(facts.name)
            || awaitedZones.contains(String(facts.index))
    }

    /// Its addresses are read again when it went up or down: the kernel makes addresses that outlive it tentative then,
    /// and does not tell (`net.ipv6.conf.*.keep_addr_on_down`).
    private func keep(_ facts: LinkFacts) {
        let old = links[facts.index]
        let isSameState = old?.facts.flags == facts.flags && old?.facts.operationalState == facts.operationalState
        links[facts.index] = Kept(
            facts: facts, deviceType: old?.facts.name == facts.name ? old?.deviceType : nil,
            isComplete: old?.isComplete == true && isSameState)
        missing.remove(facts.index)
    }

    private func forget(_ index: UInt32) -> Bool {
        missing.remove(index)
        used.remove(index)
        let hadAddresses = removeAddresses(of: index)
        return links.removeValue(forKey: index) != nil || hadAddresses
    }

    private func insert(_ facts: AddressFacts) -> Bool {
        let key = facts.address.inZone("")
        var entries = addresses[key] ?? []
        guard !entries.contains(facts) else { return false }
        entries.removeAll { $0.isSameEntry(as: facts) }
        entries.append(facts)
        addresses[key] = entries
        return true
    }

    private func remove(_ facts: AddressFacts) -> Bool {
        let key = facts.address.inZone("")
        guard let entries = addresses[key] else { return false }
        let rest = entries.filter { !$0.isSameEntry(as: facts) }
        addresses[key] = rest.isEmpty ? nil : rest
        guard rest.count != entries.count else { return false }
        // Of the same IPv4 address with other peers one may be left: the addresses are read again.
        if facts.address.family == .ipv4 { links[facts.interface]?.isComplete = false }
        return true
    }

    private func removeAddresses(of index: UInt32) -> Bool {
        let affected = addresses.filter { $0.value.contains { $0.interface == index } }
        for (key, entries) in affected {
            let rest = entries.filter { $0.interface != index }
            addresses[key] = rest.isEmpty ? nil : rest
        }
        return !affected.isEmpty
    }
}

// MARK: What the kernel is asked

extension KernelTables {
    /// Reads everything anew. The tables stay as they were when the kernel does not answer.
    func resynchronize(_ kernel: any KernelLookup) throws(KernelLookupError) {
        let allAddresses = try kernel.addresses(of: 0)
        let owners = Set(allAddresses.filter(\.isRoutable).map(\.interface))
        var kept: [UInt32: Kept] = [:]
        for facts in try kernel.links() {
            guard matters(facts) || owners.contains(facts.index) || used.contains(facts.index) else { continue }
            let old = links[facts.index]
            kept[facts.index] = Kept(
                facts: facts, deviceType: old?.facts.name == facts.name ? old?.deviceType : nil, isComplete: true)
        }
        links = kept
        missing = []
        used = []
        addresses = [:]
        // An owner that is not among the links is one that appeared, or went, between the two dumps.
        for facts in allAddresses { _ = apply(facts) }
    }

    /// Fetches what is missing. To be done before targets are judged.
    func complete(_ kernel: any KernelLookup) throws(KernelLookupError) {
        for index in missing.union(links.filter { !$0.value.isComplete }.keys) { _ = try fetch(index, kernel) }
    }

    /// The link of this index; it matters from now on.
    /// - Returns: Nil when there is none.
    func link(_ index: UInt32, _ kernel: any KernelLookup) throws(KernelLookupError) -> LinkFacts? {
        used.insert(index)
        if let kept = links[index], kept.isComplete { return kept.facts }
        return try fetch(index, kernel)
    }

    /// Reads these links anew: the filter lets their events through only from now on, and a change may have been missed
    /// in between.
    /// - Returns: Something did change.
    func refresh(_ indexes: Set<UInt32>, _ kernel: any KernelLookup) throws(KernelLookupError) -> Bool {
        guard indexes.count <= Self.maximumSingleReads else { return try refreshAll(kernel) }
        var hasChanged = false
        for index in indexes {
            let old = links[index]?.facts
            let oldAddresses = Set(addresses(on: index))
            let facts = try fetch(index, kernel)
            hasChanged = hasChanged || old != facts || oldAddresses != Set(addresses(on: index))
        }
        return hasChanged
    }

    /// Links that are read one by one; for more of them two dumps cost less.
    private static let maximumSingleReads = 32

    private func refreshAll(_ kernel: any KernelLookup) throws(KernelLookupError) -> Bool {
        let (oldLinks, oldAddresses, inUse) = (links.mapValues(\.facts), addresses.mapValues { Set($0) }, used)
        try resynchronize(kernel)
        // No round begins here, so what the last one used is still in use.
        used = inUse
        return oldLinks != links.mapValues(\.facts) || oldAddresses != addresses.mapValues { Set($0) }
    }

    /// What the driver calls the device; asked once, and again after a change of its name.
    func deviceType(of link: LinkFacts, _ kernel: any KernelLookup) -> String {
        if let known = links[link.index], known.facts.name == link.name, let type = known.deviceType { return type }
        let type = kernel.deviceType(of: link)
        links[link.index]?.deviceType = type
        return type
    }

    private func fetch(_ index: UInt32, _ kernel: any KernelLookup) throws(KernelLookupError) -> LinkFacts? {
        guard let facts = try kernel.link(index) else {
            _ = forget(index)
            return nil
        }
        let current = try kernel.addresses(of: index)
        keep(facts)
        _ = removeAddresses(of: index)
        for address in current where address.interface == index { _ = insert(address) }
        links[index]?.isComplete = true
        return facts
    }
}
