import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("Random tables")
struct RandomTablesTests {
    /// Numbers that are the same in every run (Lehmer's generator).
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 31
        }
    }

    private static let texts = [
        "0.0.0.0", "127.0.0.1", "192.0.2.10", "198.51.100.1", "169.254.1.1", "239.1.1.1", "255.255.255.255", "9.0.0.1",
        "193.0.0.1", "::", "::1", "fe80::1", "2001:db8::10", "2600::1", "3000::1", "ff02::1",
    ]

    private func address(_ numbers: inout Numbers) throws -> IPAddress {
        let text = Self.texts.randomElement(using: &numbers) ?? "::"
        let address = try #require(IPAddress(text))
        let zone = ["", "", "eth0", "2", "99", "x"].randomElement(using: &numbers) ?? ""
        return address.inZone(zone)
    }

    private func facts(_ numbers: inout Numbers) -> LinkFacts {
        let cleared = Bool.random(using: &numbers) ? IFF_LOOPBACK.rawValue : 0
        return LinkFacts(
            index: .random(in: 0...9, using: &numbers),
            name: ["lo", "eth0", "wlan0", "wwan0", ""].randomElement(using: &numbers) ?? "",
            hardwareType: [1, 512, 519, 530, 772, .max].randomElement(using: &numbers) ?? 1,
            flags: .random(in: 0...(.max), using: &numbers) & ~cleared,
            operationalState: .random(in: 0...8, using: &numbers),
            kind: ["", "tun", "wwan", "ppp", "veth"].randomElement(using: &numbers) ?? "",
            isTap: .random(using: &numbers))
    }

    private func addressFacts(_ numbers: inout Numbers) throws -> AddressFacts {
        AddressFacts(
            interface: .random(in: 0...9, using: &numbers), address: try address(&numbers),
            prefixLength: .random(in: 0...(.max), using: &numbers),
            scope: [0, 200, 253, 254, 255].randomElement(using: &numbers) ?? 0,
            flags: .random(in: 0...(.max), using: &numbers))
    }

    private func route(_ numbers: inout Numbers) throws -> Route {
        Route(
            type: .random(in: 0...12, using: &numbers), interface: .random(in: 0...9, using: &numbers),
            gateway: Bool.random(using: &numbers) ? try address(&numbers) : nil,
            source: Bool.random(using: &numbers) ? try address(&numbers) : nil,
            metric: .random(in: 0...(.max), using: &numbers))
    }

    private func fill(_ kernel: TableLookup, _ numbers: inout Numbers) throws {
        for _ in 0..<6 { kernel.linkTable.append(facts(&numbers)) }
        for _ in 0..<8 { kernel.addressTable.append(try addressFacts(&numbers)) }
        for _ in 0..<8 {
            kernel.entries.append(
                TableLookup.Entry(
                    prefix: try address(&numbers), length: .random(in: 0...40, using: &numbers),
                    refusal: [0, 0, 0, ENETUNREACH, EACCES, EINVAL, ENOMEM, -1].randomElement(using: &numbers) ?? 0,
                    route: try route(&numbers)))
        }
    }

    private func event(_ numbers: inout Numbers) throws -> KernelEvent {
        switch Int.random(in: 0...4, using: &numbers) {
        case 0: .link(facts(&numbers))
        case 1: .linkGone(.random(in: 0...9, using: &numbers))
        case 2: .address(try addressFacts(&numbers))
        case 3: .addressGone(try addressFacts(&numbers))
        default: .routing
        }
    }

    @Test("never trap, and give results that agree with themselves", arguments: 0..<100)
    func agree(_ seed: UInt64) throws {
        var numbers = Numbers(state: seed)
        let kernel = TableLookup()
        var tables = KernelTables()
        try fill(kernel, &numbers)
        try tables.resynchronize(kernel)
        for _ in 0..<4 {
            for _ in 0..<4 { _ = tables.apply(try event(&numbers)) }
            var round = Evaluation(
                tables: tables, kernel: kernel,
                overrides: [InterfaceOverride(name: "eth0", type: .cellular, connectionOnDemand: true)],
                nameServers: [try address(&numbers)])
            let path = round.path()
            #expect((path.unsatisfiedReason == nil) == (path.status == .satisfied))
            #expect((path.supportsIPv4 || path.supportsIPv6) == (path.status != .unsatisfied))
            #expect(Set(path.interfaces.map(\.index)).count == path.interfaces.count)
            #expect(path.status != .satisfied || !path.sources.isEmpty && !path.interfaces.isEmpty)
            var asked: [IPAddress] = []
            var results: [TargetReachability] = []
            for text in Self.texts {
                let local = try address(&numbers)
                let remote = try #require(IPAddress(text)).inZone(try address(&numbers).zone)
                asked.append(remote)
                results.append(round.reachability(of: .address(remote)))
                results.append(round.reachability(of: .pair(local: local, remote: remote)))
            }
            let any = round.reachability(of: .any)
            results += [any, round.reachability(ofHost: asked)]
            #expect(results.filter { !$0.isConsistent } == [])
            #expect(any.status == path.status && any.unsatisfiedReason == path.unsatisfiedReason)
            #expect(round.scope.destinations.isSuperset(of: asked.filter { !$0.isUnspecified }.map { $0.inZone("") }))
            #expect(round.scope.interfaces == round.tables.relevant)
            tables = round.tables
        }
    }
}
