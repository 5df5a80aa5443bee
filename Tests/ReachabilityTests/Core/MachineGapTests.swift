import CRingwakeNetlink
import Glibc
import RunLoop
import Testing

@testable import Reachability

@Suite("Path state machine: gaps and pauses")
struct MachineGapTests {
    private let server = ReachabilityTarget.address(IPAddress(ipv4: 0xcb00_7105))
    private let host = ReachabilityTarget.host("sip.example")
    private let one = IPAddress(ipv4: 0xcb00_7101)

    @Test("a check of an address that ends before the filter lets its end through is found to have ended")
    func gapOfCheck() throws {
        var bench = try MachineBench(hold: .zero)
        let remote = ReachabilityTarget.address(try #require(IPAddress("2001:db8:9::9")))
        try bench.scene.route("2001:db8:9::/48", on: bench.ethernet, via: "fe80::1", source: "2001:db8:1::2")
        _ = bench.start(remote)
        try bench.scene.address("2001:db8:1::2/64", on: bench.ethernet, flags: IFA_F_TENTATIVE)
        let position = try #require(bench.scene.kernel.addressTable.indices.last)
        let facts = bench.scene.kernel.addressTable[position]
        let effects = bench.handle(.kernel([.address(facts)], isOverrun: false))
        #expect(effects.told(remote)?.unsatisfiedReason == .sourceTentative)
        #expect(bench.machine.attachedScope.hasTentativeAddresses)
        bench.scene.kernel.addressTable[position].flags = UInt32(IFA_F_PERMANENT)
        #expect(bench.settle(.filterAttached).told(remote)?.status == .satisfied)
        #expect(!bench.machine.attachedScope.hasTentativeAddresses)
    }

    @Test("what an event brought up is judged again, all of it, once the filter knows of it")
    func gapOfEverything() throws {
        var bench = try MachineBench(hold: .zero)
        _ = bench.start(server)
        let other = bench.scene.link("eth1")
        try bench.scene.route("203.0.113.0/24", on: other, via: "192.0.2.1", source: "192.0.2.10")
        #expect(bench.handle(.kernel([.routing], isOverrun: false)).told(server)?.interface?.name == "eth1")
        bench.scene.kernel.entries.removeAll { $0.length == 24 && $0.route.interface == other }
        #expect(bench.handle(.filterAttached).told(server)?.interface?.name == "eth0")
    }

    @Test("a link that appears before the filter lets new links through is found")
    func gapOfZone() throws {
        var bench = try MachineBench(hold: .zero)
        let absent = ReachabilityTarget.address(try #require(IPAddress("fe80::9%usb0")))
        _ = bench.start(.address(try #require(IPAddress("fe80::9%eth0"))))
        _ = bench.handle(.watch(.init(absent)))
        #expect(bench.handle(.flush).told(absent)?.unsatisfiedReason == .noInterface)
        let index = bench.scene.link("usb0")
        try bench.scene.address("fe80::1/64", on: index, scope: RT_SCOPE_LINK)
        try bench.scene.route("fe80::/64", on: index)
        #expect(bench.handle(.filterAttached).told(absent)?.status == .satisfied)
    }

    @Test("an interface that cannot be read again has everything read, at once or later")
    func gapInSilence() throws {
        var bench = try MachineBench(hold: .zero)
        _ = bench.start(server)
        let other = bench.scene.link("eth1")
        try bench.scene.route("203.0.113.0/24", on: other, via: "192.0.2.1", source: "192.0.2.10")
        _ = bench.handle(.kernel([.routing], isOverrun: false))
        try bench.scene.down(other)
        bench.scene.kernel.isSilent = true
        #expect(bench.handle(.filterAttached).told(server) == nil)
        #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: 1_000_000_000))
        #expect(bench.machine.statistics.resynchronizations == 2)
        bench.scene.kernel.isSilent = false
        #expect(bench.settle(.deadline, at: 1_000).told(server)?.unsatisfiedReason == .interfaceDown)
    }

    @Test("a kernel that stays silent is asked every 30 s at last")
    func longSilence() throws {
        var bench = try MachineBench()
        bench.scene.kernel.isSilent = true
        _ = bench.settle(.resumed)
        var now: Int64 = 0
        for pause: Int64 in [1, 2, 4, 8, 16, 30, 30] {
            now += pause * 1_000
            #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: now * 1_000_000))
            _ = bench.settle(.deadline, at: now)
        }
    }

    @Test("other name servers are judged at once")
    func nameServers() throws {
        var bench = try MachineBench(hold: .zero)
        _ = bench.start(server)
        bench.scene.kernel.entries.removeAll { $0.length == 0 }
        _ = bench.settle(.kernel([.routing], isOverrun: false))
        let effects = bench.settle(.resolverChanged(nameServers: [one]))
        #expect(effects.path?.supportsDNS == false)
        #expect(effects.told(server)?.supportsDNS == false)
    }

    @Test("host names are asked anew when the gateway or the source alone changes")
    func wayChangesInPart() throws {
        var bench = try MachineBench()
        _ = bench.start(host)
        _ = bench.settle(.resolved("sip.example", .addresses([one])))
        let position = try #require(
            bench.scene.kernel.entries.firstIndex { $0.length == 0 && $0.prefix.family == .ipv4 })
        bench.scene.kernel.entries[position].route.gateway = IPAddress("192.0.2.254")
        #expect(bench.settle(.kernel([.routing], isOverrun: false)).names == ["sip.example"])
        _ = bench.settle(.resolved("sip.example", .addresses([one])))
        bench.scene.kernel.entries[position].route.source = IPAddress("192.0.2.11")
        #expect(bench.settle(.kernel([.routing], isOverrun: false)).names == ["sip.example"])
    }

    @Test("a name that fails while no name server is in reach is not asked again by the clock")
    func noServer() throws {
        var bench = try MachineBench(nameServers: ["2001:db8:ffff::53"])
        bench.scene.kernel.entries.removeAll { $0.prefix.family == .ipv6 }
        _ = bench.start(host)
        #expect(bench.settle(.resolved("sip.example", .failed("silent"))).told(host) != nil)
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test("a name that is watched no more is not asked any more")
    func unwatchedName() throws {
        var bench = try MachineBench()
        _ = bench.start(host)
        _ = bench.settle(.resolved("sip.example", .addresses([one])))
        _ = bench.handle(.unwatch(.init(host)))
        #expect(bench.settle(.resumed).names.isEmpty)
    }
}
