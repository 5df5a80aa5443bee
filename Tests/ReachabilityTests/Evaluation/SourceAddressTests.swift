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

    @Test("a link-local one does not pass a gateway, and is fine on the link")
    func linkLocal() throws {
        let scene = try scene(("fe80::10/64", RT_SCOPE_LINK, IFA_F_PERMANENT))
        let remote = try scene.judge("2600::5")
        #expect(remote.unsatisfiedReason == .sourceLinkLocal)
        #expect(remote.source == IPAddress("fe80::10"))
        #expect(try scene.judge("2001:db8::5").flags == [.reachable, .isDirect])
    }

    @Test("a link-local one whose check has not ended is tentative: the link came up a moment ago")
    func linkLocalTentative() throws {
        let scene = try scene(("fe80::10/64", RT_SCOPE_LINK, Self.tentative))
        #expect(try scene.judge("2001:db8::5").unsatisfiedReason == .sourceTentative)
        // That another link-local one can be used is no help through a gateway; nor is the end of this check.
        try scene.address("fe80::11/64", on: 2, scope: RT_SCOPE_LINK)
        #expect(try scene.judge("2600::5").unsatisfiedReason == .sourceLinkLocal)
    }

    @Test("of IPv4, a link-local one does not pass a gateway either (RFC 3927 section 2.6.2)")
    func linkLocalOfIPv4() throws {
        let scene = try Scene()
        let ethernet = scene.link("eth0")
        try scene.address("169.254.1.1/16", on: ethernet, scope: RT_SCOPE_LINK)
        try scene.route("169.254.0.0/16", on: ethernet)
        try scene.route("default", on: ethernet, via: "169.254.1.2")
        #expect(try scene.judge("198.51.100.1").unsatisfiedReason == .sourceLinkLocal)
        #expect(try scene.judge("169.254.7.7").flags == [.reachable, .isDirect])
    }

    @Test("a tentative address has the end of its check come through the filter")
    func scope() throws {
        #expect(try !scene(("2001:db8::10/64", RT_SCOPE_UNIVERSE, 0)).round().scope.hasTentativeAddresses)
        for flags in [Self.tentative, Self.duplicate, IFA_F_OPTIMISTIC] {
            #expect(try scene(("2001:db8::10/64", RT_SCOPE_UNIVERSE, flags)).round().scope.hasTentativeAddresses)
        }
    }
}
