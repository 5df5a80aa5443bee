import CRingwakeNetlink
import Glibc
import RunLoop
import Testing

@testable import Reachability

@Suite("Path state machine")
struct PathStateMachineTests {
    private let server = ReachabilityTarget.address(IPAddress(ipv4: 0xcb00_7105))
    private let one = IPAddress(ipv4: 0xcb00_7101)
    private let two = IPAddress(ipv4: 0xcb00_7102)

    @Test("tells the path first, then each target once, and asks for a filter that covers them")
    func start() throws {
        var bench = try MachineBench()
        let first = bench.handle(.resumed)
        #expect(first.path?.status == .satisfied)
        let effects = bench.start(server, .any)
        #expect(effects.told(server)?.status == .satisfied)
        #expect(effects.told(.any)?.supportsDNS == true)
        #expect(bench.machine.attachedScope.destinations.contains(IPAddress(ipv4: 0xcb00_7105)))
        #expect(bench.machine.attachedScope.destinations.contains(IPAddress(ipv4: 0xc000_0235)))
        #expect(bench.machine.attachedScope.interfaces == [1, bench.ethernet])
        #expect(bench.settle(.flush).isEmpty)
    }

    @Test("what changed while the filter did not let it through is found once it does")
    func gap() throws {
        var bench = try MachineBench()
        _ = bench.start()
        _ = bench.handle(.watch(.init(server)))
        let effects = bench.handle(.flush)
        #expect(effects.told(server)?.status == .satisfied)
        #expect(effects.contains { if case .attachFilter = $0 { true } else { false } })
        // The route goes before the filter lets its message through.
        bench.scene.kernel.entries = []
        #expect(bench.handle(.filterAttached, at: 1).told(server) == nil)
        #expect(bench.handle(.deadline, at: 201).told(server)?.unsatisfiedReason == .noRoute)
    }

    @Test("an interface that comes into use is read again once its events come through")
    func gapOfInterface() throws {
        var bench = try MachineBench(hold: .zero)
        _ = bench.start(server)
        let other = bench.scene.link("eth1")
        try bench.scene.route("203.0.113.0/24", on: other, via: "192.0.2.1", source: "192.0.2.10")
        let effects = bench.handle(.kernel([.routing], isOverrun: false))
        #expect(effects.told(server)?.interface?.name == "eth1")
        try bench.scene.down(other)
        #expect(bench.handle(.filterAttached).told(server)?.unsatisfiedReason == .interfaceDown)
    }

    @Test("a target that leaves costs no look; the filter gets narrower with the next, which needs no second one")
    func narrower() throws {
        var bench = try MachineBench()
        _ = bench.start(server)
        let before = bench.machine.statistics.evaluations
        #expect(bench.handle(.unwatch(.init(server))).isEmpty)
        #expect(bench.handle(.flush).isEmpty)
        #expect(bench.machine.statistics.evaluations == before)
        let effects = bench.handle(.kernel([.routing], isOverrun: false))
        #expect(effects.contains { if case .attachFilter = $0 { true } else { false } })
        #expect(bench.handle(.filterAttached).isEmpty)
        #expect(bench.machine.statistics.evaluations == before + 1)
        #expect(!bench.machine.attachedScope.destinations.contains(IPAddress(ipv4: 0xcb00_7105)))
    }

    @Test("targets that come and go do not make the filter grow, and seldom have all targets judged")
    func comeAndGo() throws {
        var bench = try MachineBench()
        _ = bench.start(server)
        let before = bench.machine.statistics.evaluations
        for number in 0..<1_000 {
            let target = ReachabilityTarget.address(IPAddress(ipv4: 0xcb00_0000 + UInt32(number)))
            _ = bench.handle(.watch(.init(target)))
            _ = bench.settle(.flush)
            _ = bench.handle(.unwatch(.init(target)))
            _ = bench.settle(.flush)
            #expect(bench.machine.attachedScope.destinations.count < 100)
        }
        // Two for each that comes, for the filter, and few more.
        #expect(bench.machine.statistics.evaluations - before < 2_100)
    }

    @Test("a loss waits for its deadline; one that heals is not told")
    func hold() throws {
        var bench = try MachineBench()
        _ = bench.start(server)
        let entries = bench.scene.kernel.entries
        bench.scene.kernel.entries = []
        #expect(bench.settle(.kernel([.routing], isOverrun: false), at: 10).isEmpty)
        #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: 210_000_000))
        bench.scene.kernel.entries = entries
        #expect(bench.settle(.kernel([.routing], isOverrun: false), at: 100).isEmpty)
        #expect(bench.machine.nextDeadline == nil)
        bench.scene.kernel.entries = []
        #expect(bench.settle(.kernel([.routing], isOverrun: false), at: 1_000).isEmpty)
        let effects = bench.settle(.deadline, at: 1_200)
        #expect(effects.told(server)?.status == .unsatisfied)
        #expect(effects.path?.status == .unsatisfied)
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test("a host name is told of once it is known, and follows its addresses")
    func hostName() throws {
        var bench = try MachineBench()
        let host = ReachabilityTarget.host("sip.example")
        _ = bench.settle(.resumed)
        #expect(bench.handle(.watch(.init(host))).names == ["sip.example"])
        #expect(bench.settle(.flush).told(host) == nil)
        #expect(bench.settle(.resolved("sip.example", .addresses([one]))).told(host)?.addresses == [one])
        #expect(bench.settle(.resumed).names == ["sip.example"])
        #expect(bench.settle(.resolved("sip.example", .addresses([one]))).isEmpty)
        #expect(bench.settle(.resolverChanged(nameServers: [two])).names == ["sip.example"])
        #expect(bench.settle(.resolved("sip.example", .addresses([two, one]))).told(host)?.addresses == [two, one])
        #expect(bench.machine.attachedScope.destinations.isSuperset(of: [one, two]))
    }

    @Test("host names are asked anew when the way changes, unless no name server is in reach then")
    func wayChanges() throws {
        var bench = try MachineBench(hold: .zero)
        let host = ReachabilityTarget.host("sip.example")
        _ = bench.start(host)
        _ = bench.settle(.resolved("sip.example", .addresses([one])))
        let entries = bench.scene.kernel.entries
        bench.scene.kernel.entries = []
        #expect(bench.settle(.kernel([.routing], isOverrun: false)).names == [])
        bench.scene.kernel.entries = entries
        #expect(bench.settle(.kernel([.routing], isOverrun: false)).names == ["sip.example"])
    }

    @Test("a host name is asked again when it is needed or not reachable any more, if its answer is old")
    func oldHostName() throws {
        var bench = try MachineBench()
        let host = ReachabilityTarget.host("sip.example")
        _ = bench.start(host)
        _ = bench.settle(.resolved("sip.example", .addresses([one])))
        #expect(bench.settle(.refresh([.any, host]), at: 30_000).isEmpty)
        #expect(bench.settle(.refresh([.any]), at: 31_000).isEmpty)
        #expect(bench.machine.nextDeadline == nil)
        #expect(bench.settle(.refresh([.any, host]), at: 31_000).names == ["sip.example"])
        #expect(bench.machine.isAwaited(host, at: BootClock.Instant(nanoseconds: 31_000_000_000)))
        #expect(bench.settle(.resolved("sip.example", .addresses([two])), at: 31_100).told(host)?.addresses == [two])
        #expect(bench.machine.resolvedAt(host) == BootClock.Instant(nanoseconds: 31_100_000_000))
        #expect(bench.settle(.reconfigured(.init()), at: 60_000).names == [])
        #expect(bench.settle(.reconfigured(.init()), at: 62_000).names == ["sip.example"])
        _ = bench.settle(.resolved("sip.example", .addresses([two])), at: 62_100)

        // The route to it alone goes.
        try bench.scene.route("203.0.113.2/32", refusal: EHOSTUNREACH)
        #expect(bench.settle(.kernel([.routing], isOverrun: false), at: 90_000).names == [])
        bench.scene.kernel.entries.removeLast()
        _ = bench.settle(.kernel([.routing], isOverrun: false), at: 90_100)
        try bench.scene.route("203.0.113.2/32", refusal: EHOSTUNREACH)
        #expect(bench.settle(.kernel([.routing], isOverrun: false), at: 93_000).names == ["sip.example"])
        // Silent servers leave it as it is, and the loss is looked at again in the meantime: once is enough.
        #expect(bench.settle(.resolved("sip.example", .failed("silent")), at: 93_050).names == [])
        #expect(bench.settle(.kernel([.routing], isOverrun: false), at: 93_100).names == [])
        let told = bench.settle(.deadline, at: 93_200)
        #expect(told.told(host)?.unsatisfiedReason == .unreachable)
        #expect(told.names == [])
    }

    @Test("a host name that moves to where nothing leads is told of at once: that is no loss that may heal")
    func movedAway() throws {
        var bench = try MachineBench()
        let host = ReachabilityTarget.host("sip.example")
        _ = bench.start(host)
        _ = bench.settle(.resolved("sip.example", .addresses([one])))
        try bench.scene.route("203.0.113.2/32", refusal: EHOSTUNREACH)
        let moved = bench.settle(.resolved("sip.example", .addresses([two])), at: 1_000).told(host)
        #expect(moved?.unsatisfiedReason == .unreachable)
        #expect(moved?.addresses == [two])
        #expect(bench.settle(.resolved("sip.example", .notFound), at: 2_000).told(host)?.addresses == [])
    }

    @Test("a name without an answer is told of as such, and asked again")
    func hostNameFails() throws {
        var bench = try MachineBench()
        let host = ReachabilityTarget.host("sip.example")
        _ = bench.start(host)
        let failed = bench.settle(.resolved("sip.example", .failed("silent")))
        #expect(failed.told(host)?.unsatisfiedReason == .nameServersSilent)
        #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: 2_000_000_000))
        #expect(bench.settle(.deadline, at: 2_000).names == ["sip.example"])
        #expect(bench.settle(.resolved("sip.example", .addresses([one])), at: 2_001).told(host)?.status == .satisfied)
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test("an overrun reads everything anew, and so finds what was lost")
    func overrun() throws {
        var bench = try MachineBench(hold: .zero)
        _ = bench.start(server)
        try bench.scene.down(bench.ethernet)
        #expect(bench.settle(.kernel([], isOverrun: true)).told(server)?.unsatisfiedReason == .interfaceDown)
        #expect(bench.machine.statistics.resynchronizations == 2)
    }

    @Test("a kernel that is silent takes nothing back, is asked again, and its silence is said")
    func silence() throws {
        var bench = try MachineBench(hold: .zero)
        _ = bench.start(server)
        bench.scene.kernel.isSilent = true
        #expect(bench.settle(.resumed, at: 0).isEmpty)
        #expect(bench.machine.statistics.lastError != nil)
        #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: 1_000_000_000))
        #expect(bench.settle(.deadline, at: 1_000).isEmpty)
        #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: 3_000_000_000))
        bench.scene.kernel.isSilent = false
        try bench.scene.down(bench.ethernet)
        #expect(bench.settle(.deadline, at: 3_000).told(server)?.unsatisfiedReason == .interfaceDown)
        #expect(bench.machine.statistics.lastError == nil)
        #expect(bench.machine.nextDeadline == nil)
        // The next silence begins with the shortest pause again.
        bench.scene.kernel.isSilent = true
        _ = bench.settle(.resumed, at: 4_000)
        #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: 5_000_000_000))
    }

    @Test("a look-up that fails alone is asked again too, and a new target is told of it")
    func oneFails() throws {
        var bench = try MachineBench(hold: .zero)
        _ = bench.start()
        bench.scene.kernel.isSilent = true
        _ = bench.handle(.watch(.init(server)))
        #expect(bench.settle(.flush, at: 0).told(server)?.unsatisfiedReason == .kernelError)
        bench.scene.kernel.isSilent = false
        #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: 1_000_000_000))
        #expect(bench.settle(.deadline, at: 1_000).told(server)?.status == .satisfied)
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test("a loss whose time is over while the kernel is silent leaves no deadline that is past, and is told of later")
    func silentHold() throws {
        var bench = try MachineBench()
        _ = bench.start(server)
        bench.scene.kernel.entries = []
        #expect(bench.settle(.kernel([.routing], isOverrun: false), at: 0).isEmpty)
        bench.scene.kernel.isSilent = true
        #expect(bench.settle(.deadline, at: 200).isEmpty)
        #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: 1_200_000_000))
        bench.scene.kernel.isSilent = false
        #expect(bench.settle(.deadline, at: 1_200).isEmpty)
        #expect(bench.machine.nextDeadline == BootClock.Instant(nanoseconds: 1_400_000_000))
        let effects = bench.settle(.deadline, at: 1_400)
        #expect(effects.told(server)?.unsatisfiedReason == .noRoute)
        #expect(effects.path?.unsatisfiedReason == .noRoute)
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test("a route that ends by itself is looked at again at its end")
    func lifetime() throws {
        var bench = try MachineBench(hold: .zero)
        let entries = bench.scene.kernel.entries
        for index in entries.indices where entries[index].length == 0 && entries[index].prefix.family == .ipv6 {
            bench.scene.kernel.entries[index].route.lifetime = .seconds(1_800)
        }
        _ = bench.start(server)
        let end = BootClock.Instant(nanoseconds: 1_800_030_000_000)
        #expect(bench.machine.nextDeadline == end)
        // Advertised again meanwhile, of which the kernel says nothing.
        for index in entries.indices where entries[index].length == 0 && entries[index].prefix.family == .ipv6 {
            bench.scene.kernel.entries[index].route.lifetime = .seconds(600)
        }
        #expect(bench.settle(.deadline, at: 1_800_030).isEmpty)
        #expect(bench.machine.nextDeadline == end.advanced(by: .milliseconds(600_030)))
        bench.scene.kernel.entries.removeAll { $0.length == 0 && $0.prefix.family == .ipv6 }
        #expect(bench.settle(.deadline, at: 2_400_060).path?.supportsIPv6 == false)
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test("new targets alone are judged when they come")
    func onlyNew() throws {
        var bench = try MachineBench()
        _ = bench.start(server)
        let before = bench.scene.kernel.questions.count
        _ = bench.handle(.watch(.init(.address(one))))
        _ = bench.settle(.flush)
        let asked = bench.scene.kernel.questions[before...].map(\.destination)
        #expect(asked.contains(one))
        #expect(!asked.contains(IPAddress(ipv4: 0xcb00_7105)))
    }

    @Test("a zone that is awaited stays awaited while others are judged")
    func awaitedZone() throws {
        var bench = try MachineBench()
        let absent = ReachabilityTarget.address(try #require(IPAddress("fe80::9%usb0")))
        _ = bench.start(absent)
        #expect(bench.machine.attachedScope.awaitsLinks)
        _ = bench.handle(.watch(.init(server)))
        _ = bench.settle(.flush)
        #expect(bench.machine.attachedScope.awaitsLinks)
        let index = bench.scene.link("usb0")
        try bench.scene.address("fe80::1/64", on: index, scope: RT_SCOPE_LINK)
        try bench.scene.route("fe80::/64", on: index)
        let facts = try #require(bench.scene.kernel.linkTable.last)
        #expect(bench.settle(.kernel([.link(facts)], isOverrun: false)).told(absent)?.status == .satisfied)
        #expect(!bench.machine.attachedScope.awaitsLinks)
    }

    @Test("other rules for an interface are told at once")
    func reconfigured() throws {
        var bench = try MachineBench()
        _ = bench.start(server)
        var configuration = ReachabilityConfiguration()
        configuration.interfaces = [InterfaceOverride(name: "eth*", type: .cellular, isConstrained: true)]
        let effects = bench.settle(.reconfigured(configuration))
        #expect(effects.path?.isConstrained == true)
        #expect(effects.told(server)?.interface?.type == .cellular)
    }
}
