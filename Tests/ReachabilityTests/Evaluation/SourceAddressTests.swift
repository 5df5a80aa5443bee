import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("Judging the address to send from")
struct SourceAddressTests {
    private static let tentative = IFA_F_TENTATIVE
    private static let duplicate = IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_PERMANENT

    /// An Ethernet with a default route for IPv6, and only these addresses.
    private func scene(_ addresses: (text: String, scope: rt_scope_t, flags: Int32)...) throws -> Scene {
        let scene = try Scene()
        let ethernet = scene.link("eth0")
        for address in addresses {
            try scene.address(address.text, on: ethernet, scope: address.scope, flags: address.flags)
        }
        try scene.route("2001:db8::/64", on: ethernet)
        try scene.route("default6", on: ethernet, via: "fe80::1")
        return scene
    }

    @Test("none is no source", arguments: ["default", "default6"])
    func none(_ route: String) throws {
        let scene = try Scene()
        try scene.route(route, on: scene.link("eth0"))
        let result = try scene.judge("any")
        #expect(result.unsatisfiedReason == .noSourceAddress)
        #expect(result.interface?.name == "eth0")
    }

    @Test("::1 and :: are no source for another machine", arguments: ["::1", "::"])
    func loopback(_ source: String) throws {
        let scene = try Scene()
        try scene.route("default6", on: scene.link("eth0"), via: "fe80::1", source: source)
        #expect(try scene.judge("2600::5").unsatisfiedReason == .noSourceAddress)
    }

    @Test("a tentative one is none yet, a duplicate none at all", arguments: [true, false])
    func unchecked(_ isChosenByRoute: Bool) throws {
        for (flags, reason) in [
            (Self.tentative, UnsatisfiedReason.sourceTentative), (Self.duplicate, .sourceDuplicate),
            (IFA_F_DADFAILED, .sourceDuplicate),
        ] {
            // The kernel passes over such an address, and takes the link-local one or none.
            for withLinkLocal in [true, false] {
                let scene = try scene(("2001:db8::10/64", RT_SCOPE_UNIVERSE, flags))
                if withLinkLocal { try scene.address("fe80::10/64", on: 2, scope: RT_SCOPE_LINK) }
                if isChosenByRoute {
                    scene.kernel.entries[1].route.source = IPAddress("2001:db8::10")
                }
                #expect(try scene.judge("2600::5").unsatisfiedReason == reason)
            }
        }
    }

    @Test(
        "optimistic and deprecated ones can be used",
        arguments: [IFA_F_TENTATIVE | IFA_F_OPTIMISTIC, IFA_F_OPTIMISTIC, IFA_F_DEPRECATED, 0])
    func usable(_ flags: Int32) throws {
        let scene = try scene(("2001:db8::10/64", RT_SCOPE_UNIVERSE, flags))
        #expect(try scene.judge("2600::5").isReachable)
    }

    @Test("one that is checked elsewhere does not make a tentative one usable")
    func sameAddressTwice() throws {
        let scene = try scene(("2001:db8::10/64", RT_SCOPE_UNIVERSE, Self.tentative))
        try scene.address("2001:db8::10/64", on: scene.link("eth1"))
        scene.kernel.entries[1].route.source = IPAddress("2001:db8::10")
        #expect(try scene.judge("2600::5").unsatisfiedReason == .sourceTentative)
    }

    /// A link-local source reaches link-local destinations, and what is sent to everyone on the link.
    @Test(
        "a link-local one leads to nothing beyond the link, by whichever route",
        arguments: [
            // Through a gateway: RFC 3927 section 2.6.2, RFC 4291 section 2.5.6.
            ("169.254.1.1/16", "default", "169.254.1.2", RTN_UNICAST, "198.51.100.1", nil),
            ("fe80::10/64", "default6", "fe80::1", RTN_UNICAST, "2600::5", nil),
            // As dhcpcd sets it without a server: the whole network is said to be on the link.
            ("169.254.1.1/16", "default", nil, RTN_UNICAST, "198.51.100.1", nil),
            ("169.254.1.1/16", "default", nil, RTN_UNICAST, "any", nil),
            ("fe80::10/64", "default6", nil, RTN_UNICAST, "2600::5", nil),
            ("fe80::10/64", "default6", nil, RTN_UNICAST, "any", nil),
            // A prefix on the link, of which this machine has no address.
            ("169.254.1.1/16", "192.0.2.0/24", nil, RTN_UNICAST, "192.0.2.5", nil),
            ("fe80::10/64", "2001:db8::/64", nil, RTN_UNICAST, "2001:db8::5", nil),
            ("169.254.1.1/16", "169.254.0.0/16", nil, RTN_UNICAST, "169.254.7.7", .isDirect),
            ("fe80::10/64", "fe80::/64", nil, RTN_UNICAST, "fe80::7%eth0", .isDirect),
            ("169.254.1.1/16", "255.255.255.255/32", nil, RTN_BROADCAST, "255.255.255.255", .isDirect),
            ("169.254.1.1/16", "224.0.0.0/4", nil, RTN_MULTICAST, "224.0.0.251", .isDirect),
            ("fe80::10/64", "ff00::/8", nil, RTN_MULTICAST, "ff02::fb%eth0", .isDirect),
            // With an address of a wider scope, each of these routes leads there.
            ("192.0.2.1/24", "default", nil, RTN_UNICAST, "198.51.100.1", .isDirect),
            ("2001:db8::1/64", "default6", nil, RTN_UNICAST, "2600::5", .isDirect),
            ("2001:db8::1/64", "fe80::/64", nil, RTN_UNICAST, "fe80::7%eth0", .isDirect),
        ] as [(String, String, String?, Int, String, ReachabilityFlags?)])
    func linkLocal(
        _ source: String, _ route: String, _ gateway: String?, _ type: Int, _ target: String,
        _ flags: ReachabilityFlags?
    ) throws {
        let scene = try Scene()
        let ethernet = scene.link("eth0")
        let address = try #require(IPAddress(String(source.prefix { $0 != "/" })))
        try scene.address(source, on: ethernet, scope: address.isLinkLocal ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE)
        try scene.route(route, on: ethernet, via: gateway, source: address.description, type: type)
        let result = try scene.judge(target)
        #expect(result.flags == flags.map { [.reachable, $0] } ?? [])
        #expect(result.unsatisfiedReason == (flags == nil ? .sourceLinkLocal : nil))
        #expect(result.source == address)
    }

    @Test("a link-local one whose check has not ended is tentative: the link came up a moment ago")
    func linkLocalTentative() throws {
        let scene = try scene(("fe80::10/64", RT_SCOPE_LINK, Self.tentative))
        try scene.route("fe80::/64", on: 2)
        #expect(try scene.judge("fe80::5%eth0").unsatisfiedReason == .sourceTentative)
        // That another link-local one can be used is no help beyond the link; nor is the end of this check.
        try scene.address("fe80::11/64", on: 2, scope: RT_SCOPE_LINK)
        #expect(try scene.judge("2600::5").unsatisfiedReason == .sourceLinkLocal)
    }

    @Test("a tentative address has the end of its check come through the filter")
    func scope() throws {
        #expect(try !scene(("2001:db8::10/64", RT_SCOPE_UNIVERSE, 0)).round().scope.hasTentativeAddresses)
        for flags in [Self.tentative, Self.duplicate, IFA_F_OPTIMISTIC] {
            #expect(try scene(("2001:db8::10/64", RT_SCOPE_UNIVERSE, flags)).round().scope.hasTentativeAddresses)
        }
    }
}
