import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

/// Holds tables for rounds that each begin with what the one before left.
final class TablesBox {
    var tables = KernelTables()
}

/// Builds tables as `ip link`, `ip address` and `ip route` would, and judges by them.
struct Scene {
    let kernel = TableLookup()
    private let box = TablesBox()
    /// As the last round left them; a round of a test that goes on itself is taken back by an assignment.
    var tables: KernelTables {
        get { box.tables }
        nonmutating _modify { yield &box.tables }
    }
    var overrides: [InterfaceOverride] = []
    var nameServers: [IPAddress] = []

    /// Has a loopback that is up.
    init() throws {
        kernel.linkTable.append(
            LinkFacts(
                index: 1, name: "lo", hardwareType: UInt16(ARPHRD_LOOPBACK),
                flags: IFF_UP.rawValue | IFF_LOOPBACK.rawValue, operationalState: UInt8(IF_OPER_UNKNOWN)))
        try address("127.0.0.1/8", on: 1, scope: RT_SCOPE_HOST)
        try address("::1/128", on: 1, scope: RT_SCOPE_HOST)
    }

    /// Adds a link that is up; of Ethernet, unless said otherwise.
    @discardableResult
    func link(
        _ name: String, kind: String = "", state: Int = IF_OPER_UP, hardware: Int32 = ARPHRD_ETHER,
        pointToPoint: Bool = false
    ) -> UInt32 {
        let index = (kernel.linkTable.map(\.index).max() ?? 0) + 1
        kernel.linkTable.append(
            LinkFacts(
                index: index, name: name, hardwareType: UInt16(hardware),
                flags: IFF_UP.rawValue | (pointToPoint ? IFF_POINTOPOINT.rawValue : 0),
                operationalState: UInt8(state), kind: kind))
        return index
    }

    /// Changes a link.
    func change(_ index: UInt32, _ body: (inout LinkFacts) -> Void) throws {
        let position = try #require(kernel.linkTable.firstIndex { $0.index == index })
        body(&kernel.linkTable[position])
    }

    func down(_ index: UInt32) throws {
        try change(index) { $0.flags &= ~IFF_UP.rawValue }
    }

    /// Adds an address, given with its prefix length.
    func address(
        _ text: String, on index: UInt32, scope: rt_scope_t = RT_SCOPE_UNIVERSE, flags: Int32 = IFA_F_PERMANENT
    ) throws {
        let parts = text.split(separator: "/")
        kernel.addressTable.append(
            AddressFacts(
                interface: index, address: try #require(IPAddress(String(parts[0]))),
                prefixLength: try #require(UInt8(parts[1])), scope: UInt8(scope.rawValue),
                flags: UInt32(bitPattern: flags)))
    }

    /// Adds a route; `default` and `default6` are 0.0.0.0/0 and ::/0.
    func route(
        _ text: String, on index: UInt32 = 0, via gateway: String? = nil, source: String? = nil, metric: UInt32 = 0,
        type: Int = RTN_UNICAST, refusal: Int32 = 0
    ) throws {
        let prefix = text == "default" ? "0.0.0.0/0" : text == "default6" ? "::/0" : text
        let parts = prefix.split(separator: "/")
        kernel.entries.append(
            TableLookup.Entry(
                prefix: try #require(IPAddress(String(parts[0]))), length: try #require(Int(parts[1])),
                refusal: refusal,
                route: Route(
                    type: UInt8(type), interface: index, gateway: try gateway.map { try #require(IPAddress($0)) },
                    source: try source.map { try #require(IPAddress($0)) }, metric: metric)))
    }

    func apply(_ event: KernelEvent) -> Bool { tables.apply(event) }

    func refresh(_ indexes: Set<UInt32>) throws(KernelLookupError) -> Bool { try tables.refresh(indexes, kernel) }

    func resynchronize() throws(KernelLookupError) { try tables.resynchronize(kernel) }

    /// A round after everything was read anew.
    func round() throws -> Evaluation {
        try tables.resynchronize(kernel)
        return later()
    }

    /// A round with what the tables have already.
    func later() -> Evaluation {
        let round = Evaluation(tables: tables, kernel: kernel, overrides: overrides, nameServers: nameServers)
        tables = round.tables
        return round
    }

    /// Judges one target after everything was read anew.
    func judge(_ target: String) throws -> TargetReachability {
        var round = try round()
        defer { tables = round.tables }
        return round.reachability(of: try #require(ReachabilityTarget(target)))
    }

    func path() throws -> NetworkPath {
        var round = try round()
        defer { tables = round.tables }
        return round.path()
    }

    /// An Ethernet with IPv4 and IPv6, and both default routes.
    static func office() throws -> (scene: Scene, ethernet: UInt32) {
        let scene = try Scene()
        let ethernet = scene.link("eth0")
        try scene.address("192.0.2.10/24", on: ethernet)
        try scene.address("2001:db8::10/64", on: ethernet)
        try scene.address("fe80::10/64", on: ethernet, scope: RT_SCOPE_LINK)
        try scene.route("192.0.2.0/24", on: ethernet)
        try scene.route("2001:db8::/64", on: ethernet)
        try scene.route("fe80::/64", on: ethernet)
        try scene.route("default", on: ethernet, via: "192.0.2.1", metric: 100)
        try scene.route("default6", on: ethernet, via: "fe80::1", metric: 100)
        return (scene, ethernet)
    }
}

extension TargetReachability {
    /// What must hold of every result.
    var isConsistent: Bool {
        let isReachable = flags.contains(.reachable)
        let needsConnection = flags.contains(.connectionRequired)
        return (status == .satisfied) == (isReachable && !needsConnection)
            && (status == .requiresConnection) == (isReachable && needsConnection)
            && (status == .unsatisfied) == flags.isEmpty
            && (unsatisfiedReason == nil) == (status == .satisfied)
            && (unsatisfiedReason == .connectionRequired) == (status == .requiresConnection)
            && (supportsIPv4 || supportsIPv6) == isReachable
            && (!isReachable || (interface != nil))
            && (status != .satisfied || source != nil)
    }
}
