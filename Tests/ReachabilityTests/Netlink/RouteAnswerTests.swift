import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("Answers to look-ups, from captured bytes")
struct RouteAnswerTests {
    private func route(_ bytes: [UInt8]) throws -> Route {
        guard case .route(let route) = try #require(answer(bytes)) else { throw Refused() }
        return route
    }

    private func route(_ name: String) throws -> Route {
        try route(NetlinkFixture.bytes(name))
    }

    private func answer(_ bytes: [UInt8]) -> RouteAnswer? {
        bytes.withUnsafeBytes { datagram in
            NetlinkMessages(datagram).first { $0.type == RTM_NEWROUTE }.flatMap { RouteAnswer($0) }
        }
    }

    private struct Refused: Error {}

    /// `type` of `rtmsg`, behind `nlmsghdr`.
    private static let typeOffset = 16 + 7

    @Test(
        "The gateway and the address to send from are there",
        arguments: [
            ("answer-v4-gateway", "192.0.2.1", "192.0.2.2", UInt32(0)),
            ("answer-v6-gateway", "2001:db8::1", "2001:db8::2", 50),
        ])
    func gateway(_ name: String, gateway: String, source: String, metric: UInt32) throws {
        let route = try route(name)
        #expect(route.type == UInt8(RTN_UNICAST))
        #expect(route.gateway == IPAddress(gateway))
        #expect(route.source == IPAddress(source))
        #expect(route.interface > 0)
        #expect(route.metric == metric)
    }

    @Test("The entry of the table has the metric")
    func metric() throws {
        #expect(try route("answer-v4-gateway-match").metric == 100)
        #expect(try route("answer-v4-gateway-match").gateway == IPAddress("192.0.2.1"))
    }

    @Test("What is on the link has no gateway", arguments: ["answer-v4-direct", "answer-v6-direct"])
    func direct(_ name: String) throws {
        let route = try route(name)
        #expect(route.type == UInt8(RTN_UNICAST))
        #expect(route.gateway == nil)
        #expect(route.source != nil)
    }

    @Test("This machine and broadcasts have types of their own")
    func types() throws {
        #expect(try route("answer-v4-local").type == UInt8(RTN_LOCAL))
        #expect(try route("answer-v6-local").type == UInt8(RTN_LOCAL))
        #expect(try route("answer-v4-broadcast").type == UInt8(RTN_BROADCAST))
    }

    @Test("A gateway of the other family is read from RTA_VIA")
    func via() throws {
        #expect(try route("answer-v4-via-v6").gateway == IPAddress("fe80::1"))
    }

    @Test("Of several hops the first that is alive counts")
    func multipath() throws {
        let bytes = NetlinkFixture.bytes("answer-v4-multipath-match")
        let route = try route(bytes)
        #expect(route.gateway == IPAddress("192.0.2.3"))
        #expect(try route.interface == self.route("answer-v4-gateway").interface)
        #expect(route.metric == 7)
        // Its rtnexthop begins 8 bytes before its gateway's attribute, 12 before the address; the flags are at 2.
        let gateway = try #require(bytes.indices.first { Array(bytes[$0...].prefix(4)) == [192, 0, 2, 3] })
        var dead = bytes
        dead[gateway - 12 + 2] = UInt8(RTNH_F_DEAD)
        #expect(try self.route(dead).gateway == IPAddress("192.0.2.4"))
    }

    @Test("A nexthop object is resolved")
    func nexthop() throws {
        let route = try route("answer-v4-nexthop-match")
        #expect(route.gateway == IPAddress("192.0.2.5"))
        #expect(route.interface > 0)
    }

    @Test(
        "Types that refuse are refusals",
        arguments: [
            (UInt8(RTN_UNREACHABLE), EHOSTUNREACH), (UInt8(RTN_PROHIBIT), EACCES), (UInt8(RTN_BLACKHOLE), EINVAL),
            (UInt8(RTN_THROW), ENETUNREACH),
        ])
    func refusals(_ type: UInt8, code: Int32) {
        var bytes = NetlinkFixture.bytes("answer-v6-gateway")
        bytes[Self.typeOffset] = type
        #expect(answer(bytes) == .refused(code))
    }

    @Test("A route of type unreachable that says ENETUNREACH is no route at all")
    func nullEntry() throws {
        var bytes = NetlinkFixture.bytes("answer-v6-gateway")
        bytes[Self.typeOffset] = UInt8(RTN_UNREACHABLE)
        let length = UInt8(4 + MemoryLayout<rta_cacheinfo>.size)
        let cache = try #require(
            bytes.indices.first { Array(bytes[$0...].prefix(4)) == [length, 0, UInt8(RTA_CACHEINFO.rawValue), 0] })
        // rta_error is the fourth number.
        withUnsafeBytes(of: -ENETUNREACH) { bytes.replaceSubrange((cache + 16)..<(cache + 20), with: $0) }
        #expect(answer(bytes) == .refused(ENETUNREACH))
    }

    @Test(
        "An error is its number",
        arguments: [
            ("answer-v4-unreachable", EHOSTUNREACH), ("answer-v6-none", ENETUNREACH),
            ("answer-v6-unreachable", EHOSTUNREACH), ("answer-v6-prohibit", EACCES), ("answer-v6-blackhole", EINVAL),
        ])
    func errors(_ name: String, code: Int32) {
        let number = NetlinkFixture.bytes(name).withUnsafeBytes { datagram in
            NetlinkMessages(datagram).first { $0.type == Int(NLMSG_ERROR) }?.errorNumber
        }
        #expect(number == code)
    }
}
