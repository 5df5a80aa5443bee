import RingwakeCore
import Testing

@Suite("Connection status: of the daemon by the path, of an app by its targets")
struct ConnectionStatusTests {
    private func daemon(
        _ network: ConnectionStatus.Usability, dns: Bool = true, constrained: Bool = false
    ) -> [String?] {
        let status = ConnectionStatus(network: network, hasNameServer: dns, isConstrained: constrained)
        return [status.state.rawValue, status.why]
    }

    private func app(_ targets: ConnectionStatus.Usability...) -> [String?]? {
        ConnectionStatus(targets: targets).map { [$0.state.rawValue, $0.why] }
    }

    @Test("A usable path is online, without name server or on an interface to be spared limited")
    func usable() {
        #expect(daemon(.usable) == ["online", nil])
        #expect(daemon(.usable, dns: false) == ["limited", "noNameServer"])
        #expect(daemon(.usable, constrained: true) == ["limited", "constrained"])
        #expect(daemon(.usable, dns: false, constrained: true) == ["limited", "noNameServer"])
    }

    @Test("A path that needs a connection first is limited, an unusable one offline, each with its reason")
    func unusable() {
        #expect(daemon(.needsConnection(reason: "connectionRequired")) == ["limited", "connectionRequired"])
        #expect(daemon(.unusable(reason: "noCarrier"), dns: false) == ["offline", "noCarrier"])
    }

    @Test("An app is online when all its targets are usable, limited when some are, offline when none is")
    func targets() {
        #expect(app(.usable, .usable) == ["online", nil])
        #expect(app(.unusable(reason: "noRoute"), .usable) == ["limited", "someTargetsUnreachable"])
        #expect(app(.unusable(reason: "resolving"), .unusable(reason: "noRoute")) == ["offline", "resolving"])
    }

    @Test("Targets that need a connection first are not lost: the app is limited")
    func targetsThatNeedAConnection() {
        let waiting = ConnectionStatus.Usability.needsConnection(reason: "connectionRequired")
        #expect(app(waiting, waiting) == ["limited", "connectionRequired"])
        #expect(app(waiting, .usable) == ["limited", "someTargetsUnreachable"])
        #expect(app(waiting, .unusable(reason: "noRoute")) == ["limited", "someTargetsUnreachable"])
    }

    @Test("An app without targets has no status of its own")
    func noTargets() {
        #expect(app() == nil)
    }
}
