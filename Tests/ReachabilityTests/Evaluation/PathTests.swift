import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("The path")
struct PathTests {
    /// Wi-Fi and a modem, with default routes of these metrics.
    private func wifiAndModem(_ wifi: UInt32, _ modem: UInt32) throws -> Scene {
        let scene = try Scene()
        let wlan = scene.link("wlan0")
        let wwan = scene.link("wwan0")
        try scene.address("192.0.2.10/24", on: wlan)
        try scene.address("198.51.100.10/24", on: wwan)
        try scene.route("default", on: wwan, via: "198.51.100.1", metric: modem)
        try scene.route("default", on: wlan, via: "192.0.2.1", metric: wifi)
        return scene
    }

    @Test("an office has all of it")
    func office() throws {
        var (scene, ethernet) = try Scene.office()
        scene.nameServers = [try #require(IPAddress("192.0.2.53"))]
        let path = try scene.path()
        #expect(
            path
                == NetworkPath(
                    status: .satisfied,
                    interfaces: [NetworkInterface(index: ethernet, name: "eth0", type: .wiredEthernet)],
                    gateways: ["192.0.2.1", "fe80::1"].compactMap { IPAddress($0) },
                    sources: ["192.0.2.10", "2001:db8::10"].compactMap { IPAddress($0) },
                    supportsIPv4: true, supportsIPv6: true, supportsDNS: true))
    }

    @Test("the smaller metric is in use, the other comes behind it")
    func metrics() throws {
        let wifiFirst = try wifiAndModem(600, 700).path()
        #expect(wifiFirst.interfaces.map(\.name) == ["wlan0", "wwan0"])
        #expect(!wifiFirst.isExpensive && wifiFirst.usesInterfaceType(.wifi))
        #expect(wifiFirst.gateways == [try #require(IPAddress("192.0.2.1"))])
        let modemFirst = try wifiAndModem(600, 50).path()
        #expect(modemFirst.interfaces.map(\.name) == ["wwan0", "wlan0"])
        #expect(modemFirst.isExpensive && modemFirst.usesInterfaceType(.cellular))
        #expect(modemFirst.sources == [try #require(IPAddress("198.51.100.10"))])
    }

    @Test("the others are in the order of metric, then of index")
    func order() throws {
        let scene = try wifiAndModem(10, 700)
        for (name, metric) in [("eth0", UInt32(800)), ("eth1", 300), ("eth2", 700), ("eth3", 20)] {
            let link = scene.link(name)
            try scene.address("10.\(link).0.1/24", on: link)
            try scene.route("default", on: link, via: "10.\(link).0.2", metric: metric)
        }
        #expect(
            try scene.path().interfaces.map(\.name) == ["wlan0", "eth3", "eth1", "wwan0", "eth2", "eth0"])
    }

    @Test("with default routes of both families, the smaller metric gives the place")
    func bothMetrics() throws {
        let scene = try wifiAndModem(10, 20)
        let ethernet = scene.link("eth0")
        try scene.address("10.0.0.1/24", on: ethernet)
        try scene.address("2001:db8::10/64", on: ethernet)
        try scene.route("default", on: ethernet, via: "10.0.0.2", metric: 900)
        try scene.route("default6", on: ethernet, via: "fe80::1", metric: 15)
        let other = scene.link("eth1")
        try scene.address("2001:db8::11/64", on: other)
        try scene.route("default6", on: other, via: "fe80::1", metric: 5)
        #expect(try scene.path().interfaces.map(\.name) == ["wlan0", "eth1", "eth0", "wwan0"])
    }

    @Test("an interface without a default route, with half of one, without carrier or address is not listed")
    func unusableOthers() throws {
        let scene = try wifiAndModem(10, 20)
        let onLink = scene.link("eth0")
        try scene.address("10.0.0.1/24", on: onLink)
        try scene.route("10.0.0.0/24", on: onLink)
        let half = scene.link("eth1")
        try scene.address("10.1.0.1/24", on: half)
        try scene.route("128.0.0.0/1", on: half, metric: 900)
        let dead = scene.link("eth2", state: IF_OPER_DOWN)
        try scene.address("10.2.0.1/24", on: dead)
        try scene.route("default", on: dead, via: "10.2.0.2", metric: 900)
        let tentative = scene.link("eth3")
        try scene.address("2001:db8:3::1/64", on: tentative, flags: IFA_F_TENTATIVE)
        try scene.route("default6", on: tentative, via: "fe80::1", metric: 900)
        #expect(try scene.path().interfaces.map(\.name) == ["wlan0", "wwan0"])
    }

    @Test("IPv4's interface goes first, then IPv6's")
    func familiesApart() throws {
        let scene = try wifiAndModem(10, 20)
        let ethernet = scene.link("eth0")
        try scene.address("2001:db8::10/64", on: ethernet)
        try scene.route("default6", on: ethernet, via: "fe80::1", metric: 1024)
        let path = try scene.path()
        #expect(path.interfaces.map(\.name) == ["wlan0", "eth0", "wwan0"])
        #expect(path.gateways.map(\.description) == ["192.0.2.1", "fe80::1"])
        #expect(path.supportsIPv4 && path.supportsIPv6)
    }

    @Test("a dead interface in use makes it unsatisfied; what could be used instead is listed")
    func deadFirst() throws {
        let scene = try wifiAndModem(10, 20)
        try scene.change(2) { $0.operationalState = UInt8(IF_OPER_DOWN) }
        let path = try scene.path()
        #expect(path.status == .unsatisfied)
        #expect(path.unsatisfiedReason == .noCarrier)
        #expect(path.interfaces.map(\.name) == ["wwan0"])
        #expect(path.gateways == [] && path.sources == [] && !path.usesInterfaceType(.cellular))
    }

    @Test("a point-to-point link without an address is asked too")
    func pointToPointOther() throws {
        let scene = try wifiAndModem(10, 20)
        let vpn = scene.link("ppp0", kind: "ppp", hardware: ARPHRD_PPP, pointToPoint: true)
        try scene.route("default", on: vpn, metric: 500)
        #expect(try scene.path().interfaces.map(\.name) == ["wlan0", "wwan0", "ppp0"])
    }

    @Test("no default route is unsatisfied")
    func nothing() throws {
        let path = try Scene().path()
        #expect(path == NetworkPath(status: .unsatisfied, unsatisfiedReason: .noRoute))
    }

    @Test("a name server that is reachable supports DNS: also one of this machine, while its loopback is up")
    func nameServers() throws {
        for (server, isReachable) in [
            ("192.0.2.53", true), ("127.0.0.53", true), ("0.0.0.0", true), ("::", true), ("fe80::53%eth0", true),
            ("fe80::53%eth9", false), ("198.18.0.53", false),
        ] {
            var (scene, _) = try Scene.office()
            try scene.route("127.0.0.0/8", on: 1, type: RTN_LOCAL)
            try scene.route("198.18.0.0/15", refusal: EACCES)
            scene.nameServers = [try #require(IPAddress("198.18.0.54")), try #require(IPAddress(server))]
            #expect(try scene.path().supportsDNS == isReachable, "\(server)")
            let loopback = ["0.0.0.0": "127.0.0.1", "::": "::1"][server]
            if let loopback {
                #expect(try scene.round().scope.destinations.contains(try #require(IPAddress(loopback))))
            }
            #expect(try scene.judge("any").supportsDNS == isReachable, "\(server)")
            try scene.down(1)
            let isOwn = ["127.0.0.53", "0.0.0.0", "::"].contains(server)
            #expect(try scene.path().supportsDNS == (isReachable && !isOwn), "\(server)")
        }
    }

    @Test("name servers and probes come through the filter, at all times")
    func scope() throws {
        var (scene, ethernet) = try Scene.office()
        let servers = ["127.0.0.53", "192.0.2.53", "fe80::53"].compactMap { IPAddress($0) }
        scene.nameServers = servers.map { $0.isLinkLocal ? $0.inZone("eth0") : $0 }
        var round = try scene.round()
        _ = round.path()
        #expect(
            round.scope.destinations
                == Set(servers + ["9.0.0.1", "193.0.0.1", "2600::1", "3000::1"].compactMap { IPAddress($0) }))
        #expect(round.scope.interfaces == [1, ethernet])
    }
}
