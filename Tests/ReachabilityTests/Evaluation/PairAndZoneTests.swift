import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("Pairs and zones")
struct PairAndZoneTests {
    @Test("a pair from an own address is reachable, and sent from it", arguments: ["192.0.2.10", "192.0.2.11"])
    func pair(_ local: String) throws {
        let (scene, ethernet) = try Scene.office()
        try scene.address("192.0.2.11/24", on: ethernet)
        let result = try scene.judge("\(local),198.51.100.1")
        #expect(result.flags == .reachable)
        #expect(result.source == IPAddress(local))
        #expect(result.addresses == [try #require(IPAddress("198.51.100.1"))])
        #expect(scene.kernel.questions.contains { $0.source == IPAddress(local) })
    }

    @Test("a pair from an address of somebody else is not", arguments: ["192.0.2.99,198.51.100.1", "2600::9,2600::5"])
    func foreignLocal(_ target: String) throws {
        let (scene, _) = try Scene.office()
        let result = try scene.judge(target)
        #expect(result.unsatisfiedReason == .sourceNotLocal)
        #expect(!scene.kernel.questions.contains { $0.source != nil })
    }

    @Test("an address of a prefix that is local as a whole is an own one")
    func localPrefix() throws {
        let (scene, _) = try Scene.office()
        try scene.route("127.0.0.0/8", on: 1, type: RTN_LOCAL)
        let round = try scene.judge("127.0.0.9,127.0.0.1")
        #expect(round.flags == [.reachable, .isLocalAddress])
    }

    @Test("a loopback address is no source for another machine, though the kernel says what it says of a blackhole")
    func fromLoopback() throws {
        let (scene, _) = try Scene.office()
        try scene.route("198.51.100.0/24", refusal: EINVAL)
        #expect(try scene.judge("127.0.0.1,198.51.100.1").unsatisfiedReason == .noSourceAddress)
    }

    @Test("a tentative local address of a pair is told, though the kernel takes it")
    func tentativeLocal() throws {
        let (scene, ethernet) = try Scene.office()
        try scene.address("2001:db8::11/64", on: ethernet, flags: IFA_F_TENTATIVE)
        #expect(try scene.judge("2001:db8::11,2600::5").unsatisfiedReason == .sourceTentative)
    }

    @Test("a pair of two families has no source")
    func mixedFamilies() throws {
        let (scene, _) = try Scene.office()
        var round = try scene.round()
        let result = round.reachability(
            of: .pair(local: try #require(IPAddress("192.0.2.10")), remote: try #require(IPAddress("2600::5"))))
        #expect(result.unsatisfiedReason == .noSourceAddress)
    }

    @Test("unspecified ends of a pair mean any")
    func unspecifiedEnds() throws {
        let (scene, _) = try Scene.office()
        var round = try scene.round()
        let any = round.reachability(of: .any)
        let zero = try #require(IPAddress("0.0.0.0"))
        #expect(round.reachability(of: .address(zero)) == any)
        #expect(round.reachability(of: .pair(local: zero, remote: zero)) == any)
        let fromOwn = round.reachability(
            of: .pair(local: try #require(IPAddress("2001:db8::10")), remote: try #require(IPAddress("::"))))
        #expect(fromOwn.isReachable && fromOwn.supportsIPv6 && !fromOwn.supportsIPv4)
    }

    @Test("a zone chooses the interface, by name or by index")
    func zones() throws {
        let (scene, ethernet) = try Scene.office()
        let other = scene.link("eth1")
        try scene.address("fe80::11/64", on: other, scope: RT_SCOPE_LINK)
        try scene.route("fe80::/64", on: other)
        for (zone, index) in [("eth0", ethernet), ("eth1", other), ("\(ethernet)", ethernet), ("\(other)", other)] {
            let result = try scene.judge("fe80::77%\(zone)")
            #expect(result.flags == [.reachable, .isDirect])
            #expect(result.interface?.index == index)
            #expect(scene.kernel.questions.last?.destination == IPAddress("fe80::77"))
        }
        #expect(try scene.judge("fe80::77").isReachable)
    }

    @Test("a zone that names no interface waits for one", arguments: ["eth9", "999", "0"])
    func missingZone(_ zone: String) throws {
        let (scene, _) = try Scene.office()
        var round = try scene.round()
        let target = try #require(ReachabilityTarget("fe80::77%\(zone)"))
        #expect(round.reachability(of: target).unsatisfiedReason == .noInterface)
        #expect(round.scope.awaitsLinks)
        scene.tables = round.tables
        #expect(!(try scene.round()).scope.awaitsLinks)
    }

    @Test("a new link of the awaited name matters, another does not")
    func awaitedLink() throws {
        let (scene, _) = try Scene.office()
        var round = try scene.round()
        let target = try #require(ReachabilityTarget("fe80::77%eth9"))
        _ = round.reachability(of: target)
        scene.tables = round.tables
        let wrong = scene.link("eth8")
        let right = scene.link("eth9")
        try scene.address("fe80::19/64", on: right, scope: RT_SCOPE_LINK)
        try scene.route("fe80::/64", on: right)
        let links = scene.kernel.linkTable
        #expect(scene.apply(.link(try #require(links.first { $0.index == wrong }))) == false)
        #expect(scene.apply(.link(try #require(links.first { $0.index == right }))))
        round = scene.later()
        #expect(round.reachability(of: target).isReachable)
        #expect(!round.scope.awaitsLinks)
    }

    @Test("a zone whose interface is down says so, though the kernel says that there is no route")
    func zoneDown() throws {
        let (scene, _) = try Scene.office()
        let other = scene.link("eth1")
        try scene.down(other)
        let result = try scene.judge("fe80::77%eth1")
        #expect(result.unsatisfiedReason == .interfaceDown)
        #expect(result.interface?.index == other)
    }

    @Test("the zone of an address that needs none is ignored, as connect(2) does")
    func needlessZone() throws {
        let (scene, _) = try Scene.office()
        #expect(try scene.judge("2600::5%eth9").isReachable)
        #expect(try scene.judge("ff0e::5%eth9").unsatisfiedReason != .noInterface)
        #expect(try scene.judge("ff02::5%eth9").unsatisfiedReason == .noInterface)
    }
}
