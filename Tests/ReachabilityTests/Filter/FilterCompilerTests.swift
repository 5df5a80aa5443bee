import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("The filter's levels")
struct FilterCompilerTests {
    private let all = [1, 2, 3, 4]

    private func scope(
        _ destinations: [String] = [], interfaces: Set<UInt32> = [], hasTentative: Bool = false, awaits: Bool = false
    ) -> FilterScope {
        FilterScope(
            destinations: Set(destinations.compactMap { IPAddress($0) }), interfaces: interfaces,
            hasTentativeAddresses: hasTentative, awaitsLinks: awaits)
    }

    @Test("rules, nexthop objects, errors and overruns pass at each level")
    func others() throws {
        let types = [RTM_NEWRULE, RTM_DELRULE, RTM_NEWNEXTHOP, RTM_DELNEXTHOP, Int(NLMSG_ERROR), Int(NLMSG_OVERRUN)]
        for type in types {
            #expect(try FilterBench.levels(KernelMessage.message(type, UInt64(0))) == all)
        }
    }

    @Test("other kinds of messages are dropped, also by their type's first byte alone")
    func otherTypes() throws {
        for type in [RTM_NEWNEIGH, RTM_NEWQDISC, RTM_NEWNDUSEROPT, RTM_NEWPREFIX, RTM_NEWLINK + 0x100] {
            #expect(try FilterBench.levels(KernelMessage.message(type, (UInt64(0), UInt64(0)))) == [])
        }
    }

    @Test("a message that is cut short passes or is dropped by its type, and is never lost to a load beyond its end")
    func truncated() throws {
        let scope = scope(["192.0.2.1", "2001:db8::1"], interfaces: [7])
        let kept = [
            KernelMessage.link(with: KernelMessage.port(of: "bridge")), KernelMessage.address(updated: 1_100),
            KernelMessage.address(scope: RT_SCOPE_LINK),
            KernelMessage.route(to: "192.0.2.0", length: 24), KernelMessage.route(to: "2001:db8::", length: 48),
        ]
        for level in all {
            let bench = try FilterBench(level: level, scope: scope)
            for message in kept {
                for length in 1...message.count {
                    #expect(try bench.passes(Array(message.prefix(length))), "level \(level), \(length) bytes")
                }
            }
        }
    }

    @Test("bridges' messages of their ports are dropped")
    func bridgeFamily() throws {
        for type in [RTM_NEWLINK, RTM_DELLINK] {
            #expect(try FilterBench.levels(KernelMessage.link(type, family: AF_BRIDGE), scope(interfaces: [7])) == [])
        }
    }

    @Test("a wireless extension event is dropped from level 2 on")
    func wireless() throws {
        let event = KernelMessage.link(with: KernelMessage.attribute(Int(IFLA_WIRELESS), [1, 2, 3, 4]))
        #expect(try FilterBench.levels(event, scope(interfaces: [7])) == [1])
    }

    @Test(
        "a port of a bridge or a bond is dropped from level 2 on", arguments: ["bridge", "bond", "team", "openvswitch"])
    func port(_ kind: String) throws {
        let change = KernelMessage.link(with: KernelMessage.port(of: kind))
        #expect(try FilterBench.levels(change) == [1])
        #expect(try FilterBench.levels(change, scope(interfaces: [7, 9])) == all)
        #expect(try FilterBench.levels(change, scope(interfaces: [6, 0x0700_0000])) == [1])
        #expect(try FilterBench.levels(change, scope(awaits: true)) == all)
        let removal = KernelMessage.link(RTM_DELLINK, with: KernelMessage.port(of: kind))
        #expect(try FilterBench.levels(removal) == [1, 2, 3])
    }

    @Test("a port that carries routes is a link like others")
    func vrfPort() throws {
        #expect(try FilterBench.levels(KernelMessage.link(with: KernelMessage.port(of: "vrf"))) == [1, 2, 3])
    }

    @Test("with more interfaces than the rule for ports names, it is left out")
    func manyInterfaces() throws {
        let change = KernelMessage.link(index: 900, with: KernelMessage.port(of: "bridge"))
        #expect(try FilterBench.levels(change, scope(interfaces: Set(1...64))) == [1])
        #expect(try FilterBench.levels(change, scope(interfaces: Set(1...65))) == [1, 2, 3])
    }

    @Test("a link that nobody named is dropped at level 4, unless it is point-to-point or links are awaited")
    func links() throws {
        for type in [RTM_NEWLINK, RTM_DELLINK] {
            let change = KernelMessage.link(type, index: 0x0102)
            #expect(try FilterBench.levels(change, scope(interfaces: [1, 0x0201, 0x0201_0000])) == [1, 2, 3])
            #expect(try FilterBench.levels(change, scope(interfaces: [1, 0x0102])) == all)
            #expect(try FilterBench.levels(change, scope(awaits: true)) == all)
            #expect(try FilterBench.levels(KernelMessage.link(type, flags: 0x1091)) == all)
        }
    }

    @Test("a link-local IPv6 address is dropped at level 4 on a link that nobody named; other addresses pass")
    func addresses() throws {
        for type in [RTM_NEWADDR, RTM_DELADDR] {
            let linkLocal = KernelMessage.address(type, scope: RT_SCOPE_LINK)
            #expect(try FilterBench.levels(linkLocal) == [1, 2, 3])
            #expect(try FilterBench.levels(linkLocal, scope(interfaces: [7])) == all)
            #expect(try FilterBench.levels(KernelMessage.address(type)) == all)
            #expect(try FilterBench.levels(KernelMessage.address(type, family: AF_INET, scope: RT_SCOPE_LINK)) == all)
        }
    }

    @Test("an address of an interface that no result depends on is dropped at level 4, unless it is a home address")
    func uninvolved() throws {
        for type in [RTM_NEWADDR, RTM_DELADDR] {
            for family in [AF_INET, AF_INET6] {
                var named = scope(interfaces: [7, 8])
                named.uninvolved = [6, 7]
                #expect(try FilterBench.levels(KernelMessage.address(type, family: family), named) == [1, 2, 3])
                let home = KernelMessage.address(type, family: family, flags: IFA_F_HOMEADDRESS)
                #expect(try FilterBench.levels(home, named) == all)
                named.uninvolved = [6, 8, 0x0700_0000]
                #expect(try FilterBench.levels(KernelMessage.address(type, family: family), named) == all)
            }
        }
    }

    @Test("an address that was refreshed 5 s or more after its creation is dropped from level 2 on")
    func refresh() throws {
        for (created, updated, levels) in [
            (0, 500, [1]), (0, 499, all), (1_000, 1_000, all), (0x0123_4567, 0x0123_4567 + 500, [1]),
            (0x0123_4567, 0x0123_4567 + 499, all),
            // Across the wrap of 497 days.
            (UInt32.max - 99, 399, all), (UInt32.max - 99, 400, [1]), (500, 400, [1]),
        ] as [(UInt32, UInt32, [Int])] {
            let message = KernelMessage.address(created: created, updated: updated)
            #expect(try FilterBench.levels(message) == levels, "\(created), \(updated)")
        }
    }

    @Test("a refreshed address passes when it is unsettled, has no times, goes away, or an end of a check is awaited")
    func noRefresh() throws {
        for flag in [
            IFA_F_TENTATIVE, IFA_F_DADFAILED, IFA_F_OPTIMISTIC, IFA_F_TENTATIVE | IFA_F_PERMANENT, IFA_F_DEPRECATED,
        ] {
            #expect(try FilterBench.levels(KernelMessage.address(flags: flag, updated: 9_000)) == all)
        }
        for flag in [IFA_F_DEPRECATED | IFA_F_TEMPORARY, IFA_F_TEMPORARY, IFA_F_PERMANENT] {
            #expect(try FilterBench.levels(KernelMessage.address(flags: flag, updated: 9_000)) == [1])
        }
        #expect(try FilterBench.levels(KernelMessage.address(created: nil)) == all)
        #expect(try FilterBench.levels(KernelMessage.address(RTM_DELADDR, updated: 9_000)) == all)
        #expect(try FilterBench.levels(KernelMessage.address(updated: 9_000), scope(hasTentative: true)) == all)
    }

    @Test("a cached route is dropped, whatever it leads to")
    func clonedRoutes() throws {
        for family in [AF_INET, AF_INET6] {
            let clone = KernelMessage.route(family: family, flags: Int32(RTM_F_CLONED))
            #expect(try FilterBench.levels(clone, scope(["192.0.2.1", "2001:db8::1"])) == [])
        }
        let trapped = KernelMessage.route(flags: Int32(RTM_F_OFFLOAD | RTM_F_TRAP | RTNH_F_LINKDOWN))
        #expect(try FilterBench.levels(trapped) == all)
    }

    @Test("broadcast, anycast and multicast routes are dropped by type, from level 3 on by prefix")
    func routeTypes() throws {
        for kind in [RTN_BROADCAST, RTN_ANYCAST, RTN_MULTICAST] {
            let route = KernelMessage.route(to: "ff00::", length: 8, kind: kind)
            #expect(try FilterBench.levels(route, scope(["2001:db8::1"])) == [])
        }
        let multicast = KernelMessage.route(to: "ff00::", length: 8, kind: RTN_MULTICAST)
        #expect(try FilterBench.levels(multicast, scope(["ff02::1"])) == all)
        let broadcast = KernelMessage.route(to: "192.0.2.255", length: 32, kind: RTN_BROADCAST)
        #expect(try FilterBench.levels(broadcast, scope(["192.0.2.255"])) == [3, 4])
        #expect(try FilterBench.levels(broadcast, scope(["192.0.2.1"])) == [])
        for kind in [RTN_LOCAL, RTN_UNREACHABLE, RTN_BLACKHOLE, RTN_PROHIBIT, RTN_THROW] {
            #expect(try FilterBench.levels(KernelMessage.route(kind: kind)) == all)
        }
    }

    @Test("a default route passes without any destination; other routes of a family pass only if there is one")
    func routes() throws {
        for type in [RTM_NEWROUTE, RTM_DELROUTE] {
            for family in [AF_INET, AF_INET6] {
                #expect(try FilterBench.levels(KernelMessage.route(type, family: family)) == all)
            }
            let route4 = KernelMessage.route(type, to: "192.0.2.0", length: 24)
            let route6 = KernelMessage.route(type, to: "2001:db8::", length: 32)
            #expect(try FilterBench.levels(route4, scope(["2001:db8::1"])) == [1, 2])
            #expect(try FilterBench.levels(route6, scope(["192.0.2.1"])) == [1, 2])
            #expect(try FilterBench.levels(route4, scope(["192.0.2.1"])) == all)
            #expect(try FilterBench.levels(route6, scope(["2001:db8::1"])) == all)
        }
    }

    @Test("a prefix that is longer than its family has bits, a missing destination and an unknown family pass")
    func strangeRoutes() throws {
        let scope = scope(["192.0.2.1", "2001:db8::1"])
        for message in [
            KernelMessage.route(to: "198.51.100.0", length: 33), KernelMessage.route(to: "2001:db9::", length: 129),
            KernelMessage.route(length: 24), KernelMessage.route(length: 48, family: AF_INET6),
            KernelMessage.route(bytes: [], length: 24, family: AF_INET),
            KernelMessage.route(bytes: [1, 2, 3, 4], length: 24, family: AF_MPLS),
        ] {
            #expect(try FilterBench.levels(message, scope) == all)
        }
    }

    @Test("there is no program for a level that is none, nor for more than the kernel takes")
    func limits() {
        #expect(FilterCompiler.program(level: 0, scope: FilterScope()) == nil)
        #expect(FilterCompiler.program(level: 5, scope: FilterScope()) == nil)
        let many = FilterScope(interfaces: Set(1...5_000))
        #expect(FilterCompiler.program(level: 4, scope: many) == nil)
        #expect(FilterCompiler.program(level: 3, scope: many) != nil)
        let targets = FilterScope(destinations: Set((0..<3_000).map { IPAddress(ipv4: $0) }))
        #expect(FilterCompiler.program(level: 3, scope: targets) == nil)
        #expect(FilterCompiler.program(level: 2, scope: targets) != nil)
    }

    @Test("as many targets as a monitor takes, and 1,000 interfaces, fit into level 4")
    func capacity() throws {
        let targets = (0..<UInt32(NetworkMonitor.maximumTargets)).map { IPAddress(ipv4: $0 &* 2_654_435_761) }
        let scope = FilterScope(destinations: Set(targets), interfaces: Set(1...1_000))
        let program = try #require(FilterCompiler.program(level: 4, scope: scope))
        #expect(program.instructions.count < 3_300)
    }
}
