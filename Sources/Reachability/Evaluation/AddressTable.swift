/// The addresses of the links in ``KernelTables``.
struct AddressTable {
    /// By the address without zone. Several links may have the same link-local address, and one link the same IPv4
    /// address with different prefixes.
    private var entries: [IPAddress: [AddressFacts]] = [:]

    private var all: some Sequence<AddressFacts> { entries.values.joined() }

    /// Links with an address that other machines can send to.
    var routableInterfaces: Set<UInt32> { Set(all.filter(\.isRoutable).map(\.interface)) }

    /// Links with an address whose duplicate check has not ended. One that failed counts: the check may run again.
    var unsettledInterfaces: Set<UInt32> {
        Set(all.filter { !$0.isChecked || $0.isDuplicate }.map(\.interface))
    }

    /// The links that have this address.
    func owners(of address: IPAddress) -> Set<UInt32> {
        Set((entries[address.inZone("")] ?? []).map(\.interface))
    }

    func on(_ interface: UInt32) -> [AddressFacts] { all.filter { $0.interface == interface } }

    /// The facts about an address on this link, else on any link; a usable one first.
    func facts(of address: IPAddress, on interface: UInt32) -> AddressFacts? {
        let found = entries[address.inZone("")] ?? []
        let here = found.filter { $0.interface == interface }
        let choice = here.isEmpty ? found : here
        return choice.first { $0.isUsable } ?? choice.first
    }

    /// Whether both have the same addresses, in any order.
    func isSame(as other: AddressTable) -> Bool { entries.mapValues { Set($0) } == other.entries.mapValues { Set($0) } }

    /// - Returns: Whether something changed.
    mutating func insert(_ facts: AddressFacts) -> Bool {
        let key = facts.address.inZone("")
        guard entries[key]?.contains(facts) != true else { return false }
        entries[key]?.removeAll { $0.isSameEntry(as: facts) }
        entries[key, default: []].append(facts)
        return true
    }

    /// - Returns: Whether something changed.
    mutating func remove(_ facts: AddressFacts) -> Bool {
        removeAll(of: facts.address.inZone("")) { $0.isSameEntry(as: facts) }
    }

    /// - Returns: Whether something changed.
    mutating func removeAll(on interface: UInt32) -> Bool {
        let affected = entries.filter { $0.value.contains { $0.interface == interface } }.keys
        for key in affected { _ = removeAll(of: key) { $0.interface == interface } }
        return !affected.isEmpty
    }

    private mutating func removeAll(of key: IPAddress, where matches: (AddressFacts) -> Bool) -> Bool {
        guard let old = entries[key] else { return false }
        let rest = old.filter { !matches($0) }
        entries[key] = rest.isEmpty ? nil : rest
        return rest.count != old.count
    }
}
