import CRingwakeNetlink
import Testing

@testable import Reachability

@Suite("Tables of links and addresses")
struct KernelTablesTests {
    private func facts(_ scene: Scene, _ index: UInt32) throws -> LinkFacts {
        try #require(scene.kernel.linkTable.first { $0.index == index })
    }

    private func address(
        _ text: String, on index: UInt32, scope: rt_scope_t = RT_SCOPE_UNIVERSE, flags: Int32 = IFA_F_PERMANENT,
        length: UInt8 = 24
    ) throws -> AddressFacts {
        AddressFacts(
            interface: index, address: try #require(IPAddress(text)), prefixLength: length,
            scope: UInt8(scope.rawValue), flags: UInt32(bitPattern: flags))
    }

    @Test("links that matter are kept: the loopback, owners of addresses, point-to-point ones")
    func relevant() throws {
        let (scene, ethernet) = try Scene.office()
        let container = scene.link("veth1", kind: "veth")
        try scene.address("fe80::99/64", on: container, scope: RT_SCOPE_LINK)
        let vpn = scene.link("tun0", kind: "tun", pointToPoint: true)
        for _ in 0..<1_000 { scene.link("veth", kind: "veth") }
        let round = try scene.round()
        #expect(round.scope.interfaces == [1, ethernet, vpn])
        #expect(scene.tables.addresses(on: container) == [])
        #expect(scene.tables.candidates.map(\.index) == [ethernet, vpn])
    }

    @Test("a link without an address that a route leads over matters from then on, and after a resynchronization")
    func usedByRoute() throws {
        let (scene, _) = try Scene.office()
        let other = scene.link("eth1")
        try scene.address("fe80::11/64", on: other, scope: RT_SCOPE_LINK)
        try scene.route("198.51.100.0/24", on: other)
        let target = try #require(ReachabilityTarget("198.51.100.1"))
        var round = try scene.round()
        #expect(!round.scope.interfaces.contains(other))
        _ = round.reachability(of: target)
        scene.tables = round.tables
        #expect(round.scope.interfaces.contains(other))
        #expect(scene.tables.addresses(on: other).count == 1)
        #expect(try scene.round().scope.interfaces.contains(other))
        // It was not asked for in the last round.
        #expect(try !scene.round().scope.interfaces.contains(other))
    }

    @Test("what cannot matter changes nothing")
    func irrelevant() throws {
        let (scene, ethernet) = try Scene.office()
        _ = try scene.round()
        let container = scene.link("veth1", kind: "veth")
        #expect(!scene.apply(.link(try facts(scene, container))))
        #expect(
            !scene.apply(
                .address(try address("fe80::99", on: container, scope: RT_SCOPE_LINK, length: 64))))
        #expect(!scene.apply(.addressGone(try address("fe80::99", on: container, scope: RT_SCOPE_LINK))))
        #expect(!scene.apply(.linkGone(container)))
        // The same again: a refresh of an address, statistics of a link.
        #expect(!scene.apply(.link(try facts(scene, ethernet))))
        #expect(!scene.apply(.address(try address("192.0.2.10", on: ethernet))))
        #expect(!scene.apply(.addressGone(try address("192.0.2.99", on: ethernet))))
    }

    @Test("many links at once are read by two dumps, which find what changed and keep what is in use")
    func refreshOfMany() throws {
        let (scene, ethernet) = try Scene.office()
        let indexes = Set(
            try (0..<100).map { number in
                let index = scene.link("ppp\(number)", kind: "ppp", pointToPoint: true)
                try scene.address("10.0.0.\(number)/32", on: index)
                return index
            })
        let unnumbered = scene.link("eth1")
        _ = try scene.round()
        _ = try scene.tables.link(unnumbered, scene.kernel)
        let before = scene.kernel.linkRequests.count
        #expect(try !scene.refresh(indexes))
        #expect(scene.kernel.linkRequests.count == before)
        try scene.down(ethernet)
        #expect(try scene.refresh(indexes))
        scene.kernel.addressTable.removeLast()
        #expect(try scene.refresh(indexes))
        #expect(try !scene.refresh(indexes))
        #expect(scene.tables.relevant == indexes.union([1, ethernet, unnumbered]))
    }

    @Test("an IPv4 address that a link has twice, with two peers, stays when one of them goes")
    func twoPeers() throws {
        let (scene, ethernet) = try Scene.office()
        try scene.address("192.0.2.10/24", on: ethernet)
        _ = try scene.round()
        scene.kernel.addressTable.removeLast()
        #expect(scene.apply(.addressGone(try address("192.0.2.10", on: ethernet))))
        _ = scene.later()
        #expect(scene.tables.owners(of: try #require(IPAddress("192.0.2.10"))) == [ethernet])
    }

    @Test("a route, a rule, a link or an address that changed is a reason to judge anew")
    func changes() throws {
        let (scene, ethernet) = try Scene.office()
        _ = try scene.round()
        #expect(scene.apply(.routing))
        try scene.down(ethernet)
        #expect(scene.apply(.link(try facts(scene, ethernet))))
        #expect(scene.apply(.address(try address("192.0.2.10", on: ethernet, flags: IFA_F_DEPRECATED))))
        #expect(scene.apply(.addressGone(try address("192.0.2.10", on: ethernet))))
        #expect(scene.tables.owners(of: try #require(IPAddress("192.0.2.10"))).isEmpty)
        #expect(scene.apply(.linkGone(ethernet)))
        #expect(scene.tables.relevant == [1])
        #expect(scene.tables.addresses(on: ethernet) == [])
    }

    @Test("events alone lead to the same judgement as reading everything anew")
    func eventsOnly() throws {
        let (scene, ethernet) = try Scene.office()
        var round = try scene.round()
        #expect(round.path().status == .satisfied)
        try scene.down(ethernet)
        #expect(scene.apply(.link(try facts(scene, ethernet))))
        round = scene.later()
        #expect(round.path().unsatisfiedReason == .interfaceDown)
    }

    @Test("an address on an unknown link has the link fetched, with its other addresses, in the next round")
    func newOwner() throws {
        let (scene, _) = try Scene.office()
        _ = try scene.round()
        let wifi = scene.link("wlan0")
        try scene.address("198.51.100.9/24", on: wifi)
        try scene.address("fe80::77/64", on: wifi, scope: RT_SCOPE_LINK)
        #expect(scene.apply(.address(try address("198.51.100.9", on: wifi))))
        #expect(scene.tables.relevant.contains(wifi))
        _ = scene.later()
        #expect(scene.kernel.linkRequests == [wifi])
        #expect(scene.tables.addresses(on: wifi).count == 2)
        #expect(scene.tables.candidates.contains { $0.index == wifi })
        _ = scene.later()
        #expect(scene.kernel.linkRequests == [wifi])
    }

    @Test("an address on a link that is gone again is forgotten")
    func vanishedOwner() throws {
        let (scene, _) = try Scene.office()
        _ = try scene.round()
        #expect(scene.apply(.address(try address("198.51.100.9", on: 77))))
        _ = scene.later()
        #expect(!scene.tables.relevant.contains(77))
        #expect(scene.tables.owners(of: try #require(IPAddress("198.51.100.9"))).isEmpty)
    }

    @Test("the same address with two prefixes is two entries")
    func twoPrefixes() throws {
        let (scene, ethernet) = try Scene.office()
        _ = try scene.round()
        #expect(scene.apply(.address(try address("192.0.2.10", on: ethernet, length: 25))))
        #expect(scene.apply(.addressGone(try address("192.0.2.10", on: ethernet, length: 24))))
        #expect(scene.tables.owners(of: try #require(IPAddress("192.0.2.10"))) == [ethernet])
    }

    @Test("addresses are read again when their link went up or down: they may be tentative, and nobody told")
    func readAgain() throws {
        let (scene, ethernet) = try Scene.office()
        _ = try scene.round()
        scene.kernel.addressTable = scene.kernel.addressTable.map {
            var facts = $0
            facts.flags = UInt32(IFA_F_TENTATIVE)
            return facts
        }
        try scene.change(ethernet) { $0.operationalState = UInt8(IF_OPER_DOWN) }
        #expect(scene.apply(.link(try facts(scene, ethernet))))
        #expect(scene.later().scope.hasTentativeAddresses)
    }

    @Test("what the driver calls a device is asked once, and again after a change of its name")
    func deviceType() throws {
        let (scene, ethernet) = try Scene.office()
        scene.kernel.deviceTypes = ["eth0": "wlan", "cell0": "wwan"]
        for _ in 0..<3 { #expect(try scene.judge("any").interface?.type == .wifi) }
        #expect(scene.kernel.deviceTypeRequests.filter { $0 == "eth0" }.count == 1)
        try scene.change(ethernet) { $0.name = "cell0" }
        #expect(scene.apply(.link(try facts(scene, ethernet))))
        var round = scene.later()
        #expect(round.reachability(of: .any).interface?.type == .cellular)
        #expect(round.reachability(of: .any).interface?.name == "cell0")
    }

    @Test("a refresh tells whether something changed before the filter had the link")
    func refresh() throws {
        let (scene, ethernet) = try Scene.office()
        _ = try scene.round()
        #expect(try !scene.refresh([1, ethernet]))
        try scene.address("fe80::20/64", on: ethernet, scope: RT_SCOPE_LINK)
        #expect(try scene.refresh([ethernet]))
        try scene.down(ethernet)
        #expect(try scene.refresh([ethernet]))
        scene.kernel.linkTable.removeAll { $0.index == ethernet }
        #expect(try scene.refresh([ethernet]))
        #expect(scene.tables.relevant == [1])
    }

    @Test("a kernel that does not answer leaves the tables as they were")
    func silence() throws {
        let (scene, ethernet) = try Scene.office()
        _ = try scene.round()
        #expect(scene.apply(.address(try address("198.51.100.9", on: 77))))
        scene.kernel.isSilent = true
        #expect(throws: KernelLookupError.self) { try scene.resynchronize() }
        #expect(scene.later().lastError == "RTM_GETLINK: is silent")
        #expect(scene.tables.relevant == [1, ethernet, 77])
    }

    @Test("of a link whose addresses are not kept only a home address counts, and then all are read")
    func home() throws {
        let (scene, ethernet) = try Scene.office()
        let aside = scene.link("eth1")
        try scene.address("10.0.0.1/24", on: aside)
        _ = try scene.round()
        scene.tables.silence([aside])
        #expect(!scene.apply(.address(try address("10.0.0.2", on: aside))))
        #expect(!scene.apply(.addressGone(try address("10.0.0.1", on: aside))))
        #expect(scene.later().tables.addresses(on: aside) == [])
        let text = "2001:db8:9::9"
        try scene.address("\(text)/64", on: aside, flags: IFA_F_HOMEADDRESS)
        #expect(scene.apply(.address(try address(text, on: aside, flags: IFA_F_HOMEADDRESS, length: 64))))
        #expect(scene.later().tables.addresses(on: aside).count == 2)
        #expect(scene.tables.candidates.map(\.index) == [ethernet, aside])
    }

    @Test("the owner of a local destination is involved, also while its duplicate check prevents its use")
    func tentativeDestination() throws {
        for flags in [IFA_F_PERMANENT, IFA_F_TENTATIVE] {
            let (scene, _) = try Scene.office()
            let aside = scene.link("eth1")
            try scene.address("10.0.0.1/24", on: aside)
            try scene.address("2001:db8:9::9/64", on: aside, flags: flags)
            try scene.route("2001:db8:9::9/128", on: 1, type: RTN_LOCAL)
            _ = try scene.round()
            _ = scene.apply(.addressGone(try address("10.0.0.9", on: aside)))
            var round = scene.later()
            #expect(round.uninvolvedInterfaces() == [aside])
            let result = round.reachability(of: try #require(ReachabilityTarget("2001:db8:9::9")))
            #expect(result.unsatisfiedReason == (flags == IFA_F_TENTATIVE ? .sourceTentative : nil))
            #expect(round.uninvolvedInterfaces() == [])
        }
    }
}
