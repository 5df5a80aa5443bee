import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("Events of the kernel, from captured bytes")
struct KernelEventsTests {
    private func only(_ name: String) throws -> KernelEvent {
        let found = NetlinkFixture.events(NetlinkFixture.bytes(name))
        #expect(found.events.count == 1)
        return try #require(found.events.first)
    }

    private func link(_ name: String) throws -> LinkFacts {
        guard case .link(let facts) = try only(name) else { throw Unexpected(name: name) }
        return facts
    }

    private func address(_ name: String) throws -> AddressFacts {
        switch try only(name) {
        case .address(let facts), .addressGone(let facts): return facts
        default: throw Unexpected(name: name)
        }
    }

    private struct Unexpected: Error {
        let name: String
    }

    @Test("A new veth is a link with name, kind and state")
    func veth() throws {
        let facts = try link("link-veth")
        #expect(facts.name == "v0")
        #expect(facts.kind == "veth")
        #expect(facts.hardwareType == UInt16(ARPHRD_ETHER))
        #expect(facts.portKind.isEmpty)
        #expect(facts.flags & UInt32(IFF_UP.rawValue) == 0)
        #expect(facts.operationalState == UInt8(IF_OPER_DOWN))
    }

    @Test("A link keeps its index when it is renamed")
    func renamed() throws {
        #expect(try link("link-renamed").name == "wlan0")
        #expect(try link("link-renamed").index == link("link-veth").index)
    }

    @Test("Up, down and no carrier differ in flags and state")
    func states() throws {
        let up = UInt32(IFF_UP.rawValue)
        #expect(try link("link-up").flags & up != 0)
        #expect(try link("link-up").operationalState == UInt8(IF_OPER_UP))
        #expect(try link("link-down").flags & up == 0)
        #expect(try link("link-down").operationalState == UInt8(IF_OPER_DOWN))
        #expect(try link("link-no-carrier").flags & up != 0)
        #expect(try link("link-no-carrier").operationalState == UInt8(IF_OPER_LOWERLAYERDOWN))
    }

    @Test("A tun is point-to-point and no tap, a tap is one")
    func tunnels() throws {
        let tun = try link("link-tun")
        #expect(tun.kind == "tun" && !tun.isTap)
        #expect(tun.hardwareType == UInt16(ARPHRD_NONE))
        #expect(tun.flags & UInt32(IFF_POINTOPOINT.rawValue) != 0)
        let tap = try link("link-tap")
        #expect(tap.kind == "tun" && tap.isTap)
        #expect(tap.hardwareType == UInt16(ARPHRD_ETHER))
    }

    @Test("A port of a bridge knows so")
    func bridgePort() throws {
        let facts = try link("link-bridge-port")
        #expect(facts.kind == "veth" && facts.portKind == "bridge")
    }

    @Test(
        "What is not about the link as such is no event",
        arguments: ["link-of-bridge", "link-gone-of-bridge", "link-wireless-event"])
    func notLinks(_ name: String) {
        let found = NetlinkFixture.events(NetlinkFixture.bytes(name))
        #expect(found.messages == 1)
        #expect(found.events.isEmpty)
    }

    @Test("A link that is gone is told by its index")
    func gone() throws {
        guard case .linkGone(let index) = try only("link-gone") else { throw Unexpected(name: "link-gone") }
        #expect(try index == link("link-bridge-port").index)
    }

    @Test("An IPv4 address has its prefix and scope")
    func ipv4() throws {
        let facts = try address("address-v4")
        #expect(facts.address == IPAddress("192.0.2.2"))
        #expect(facts.prefixLength == 24)
        #expect(facts.scope == UInt8(RT_SCOPE_UNIVERSE.rawValue))
        #expect(facts.flags == UInt32(IFA_F_PERMANENT))
        #expect(try facts.interface == link("link-veth").index)
    }

    @Test("The address of a point-to-point link is this end's")
    func peer() throws {
        #expect(try address("address-v4-peer").address == IPAddress("198.51.100.1"))
    }

    @Test("An IPv6 address is tentative, then good, or a duplicate")
    func ipv6() throws {
        let tentative = try address("address-v6-tentative")
        #expect(tentative.address == IPAddress("2001:db8::2"))
        #expect(tentative.flags & UInt32(IFA_F_TENTATIVE) != 0)
        #expect(try address("address-v6").flags & UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED) == 0)
        #expect(try address("address-v6-failed").flags & UInt32(IFA_F_DADFAILED) != 0)
        #expect(try only("address-gone") == .addressGone(address("address-gone")))
    }

    @Test("All 32 bits of the flags count, not the 8 in the header")
    func flags() throws {
        var bytes = NetlinkFixture.bytes("address-v6")
        let header = MemoryLayout<nlmsghdr>.size
        bytes[header + 2] = 0xff
        let found = NetlinkFixture.events(bytes)
        #expect(found.events == [.address(try address("address-v6"))])
    }

    @Test("Routes, rules and nexthop objects of one batch are one event")
    func routing() {
        let names = ["route-new", "rule-new", "nexthop-new", "link-gone", "route-new"]
        let found = NetlinkFixture.events(names.flatMap { NetlinkFixture.bytes($0) })
        #expect(found.messages == 5)
        #expect(found.events.count == 2)
        #expect(found.events.first == .routing)
    }

    @Test("A name that nothing ends is cut where the kernel would")
    func longName() throws {
        var bytes = NetlinkFixture.bytes("link-wireless-event")
        // Its last attribute becomes a state, and its name, 8 bytes, loses the NUL.
        bytes.replaceSubrange(36..<44, with: Array("wlan0123".utf8))
        bytes[46] = UInt8(IFLA_OPERSTATE)
        guard case .link(let facts)? = NetlinkFixture.events(bytes).events.first else {
            throw Unexpected(name: "made up")
        }
        #expect(facts.name == "wlan0123")
    }
}
