import DBus
import RunLoop
import Testing

/// Signals and watched names.
@Suite(.serialized) struct SignalTests {
    private static let peer = "org.example.Peer"
    private static let ticks = DBusMatch(sender: peer, interface: peer, member: "Tick")

    /// Subscribes and waits until it is ready.
    private func subscribe(
        _ bus: TestBus, _ connection: DBusConnection, _ match: DBusMatch = ticks,
        _ handler: @escaping (DBusSignal) -> Void
    ) throws -> DBusSubscription {
        var isReady = false
        let subscription = connection.subscribe(match) {
            isReady = $0.failure == nil
        } handler: {
            handler($0)
        }
        try #require(bus.loop.drive { isReady })
        return subscription
    }

    @Test("A burst of 1,000 signals comes whole and in order, and other sources get their turn in between")
    func burst() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        var numbers: [UInt32] = []
        let subscription = try subscribe(bus, connection) { numbers.append($0.arguments[1].integer() ?? .max) }
        // Asked for from another loop, so that all of them are under way before this one turns.
        let other = try TestLoop()
        let asking = try DBusConnection(
            address: bus.address, environment: [:], runLoop: other.runLoop, logger: other.logger)
        _ = try other.result { asking.callPeer("Emit", [.uint32(1_000)], $0) }
        asking.close()
        var (largestTurn, before) = (0, 0)
        #expect(
            bus.loop.drive {
                largestTurn = max(largestTurn, numbers.count - before)
                before = numbers.count
                return numbers.count >= 1_000
            })
        #expect(numbers == Array(0..<1_000))
        #expect(largestTurn <= DBusLimits.maximumMessagesPerTurn)
        subscription.cancel()
        _ = try bus.loop.result { connection.callPeer("Emit", [.uint32(10)], $0) }
        bus.loop.drive(for: .milliseconds(30))
        #expect(numbers.count == 1_000)
    }

    @Test("A match picks by path, member and first argument; each subscription gets its own")
    func matching() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        var counts: [String: Int] = [:]
        let matches: [String: DBusMatch] = [
            "all": DBusMatch(sender: Self.peer, interface: Self.peer),
            "path": DBusMatch(sender: Self.peer, path: "/peer", interface: Self.peer, member: "Tick"),
            "odd": DBusMatch(sender: Self.peer, interface: Self.peer, firstArgument: "odd"),
            "other path": DBusMatch(sender: Self.peer, path: "/other", interface: Self.peer),
            "other member": DBusMatch(sender: Self.peer, interface: Self.peer, member: "Tock"),
            "other argument": DBusMatch(sender: Self.peer, interface: Self.peer, firstArgument: "it's, 'odd'"),
            "other sender": DBusMatch(sender: "org.example.Absent", interface: Self.peer),
            "bus": DBusMatch(sender: "org.freedesktop.DBus", interface: Self.peer),
        ]
        for (name, match) in matches {
            _ = try subscribe(bus, connection, match) { _ in counts[name, default: 0] += 1 }
        }
        _ = try bus.loop.result { connection.callPeer("Emit", [.uint32(4)], $0) }
        #expect(bus.loop.drive { counts["all"] == 4 })
        #expect(counts == ["all": 4, "path": 4, "odd": 2])
    }

    @Test("What another program sends us in the service's name is dropped, and so is a forged change of its owner")
    func forged() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let forger = "org.example.Forger"
        _ = try bus.startPeer(forger)
        let connection = try bus.connect()
        var signals: [DBusSignal] = []
        var owners: [String?] = []
        _ = try subscribe(bus, connection) { signals.append($0) }
        connection.watchName(Self.peer) { owners.append($0) }
        let name = try #require(connection.uniqueName)
        _ = try bus.loop.result { connection.callPeer("Forge", [.string(name)], name: forger, $0) }
        _ = try bus.loop.result { connection.callPeer("Emit", [.uint32(1)], $0) }
        #expect(bus.loop.drive { !signals.isEmpty })
        #expect(signals.map { $0.arguments.first?.text } == ["even"])
        #expect(signals.first?.sender == owners.first)
        #expect(owners.count == 1)
    }

    @Test("The signals of a service that was started again are accepted, and its name's owners are told")
    func serviceRestarts() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let connection = try bus.connect()
        var owners: [String?] = []
        var signals: [DBusSignal] = []
        let watch = connection.watchName(Self.peer) { owners.append($0) }
        _ = try subscribe(bus, connection) { signals.append($0) }
        #expect(owners == [nil])
        let first = try bus.startPeer()
        #expect(bus.loop.drive { owners.count == 2 })
        _ = try bus.loop.result { connection.callPeer("Emit", [.uint32(1)], $0) }
        first.kill()
        #expect(bus.loop.drive { owners.count == 3 })
        _ = try bus.startPeer()
        #expect(bus.loop.drive { owners.count == 4 })
        _ = try bus.loop.result { connection.callPeer("Emit", [.uint32(1)], $0) }
        #expect(bus.loop.drive { signals.count == 2 })
        #expect(owners[0] == nil && owners[2] == nil)
        #expect(signals.map(\.sender) == [owners[1], owners[3]])
        watch.cancel()
        _ = try bus.loop.result { connection.callPeer("Release", [], $0) }
        bus.loop.drive(for: .milliseconds(20))
        #expect(owners.count == 4)
    }

    @Test("Several watch one name, one joins later, and a handler cancels another and itself")
    func cancelInHandlers() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        var told: [String] = []
        var second: DBusSubscription?
        var first: DBusSubscription?
        first = connection.watchName(Self.peer) { _ in
            told.append("first")
            first?.cancel()
            second?.cancel()
        }
        second = connection.watchName(Self.peer) { _ in told.append("second") }
        #expect(bus.loop.drive { told == ["first"] })
        connection.watchName(Self.peer) { _ in told.append("third") }
        #expect(bus.loop.drive { told == ["first", "third"] })
        connection.watchName(Self.peer) { _ in told.append("fourth") }
        #expect(bus.loop.drive { told == ["first", "third", "fourth"] })
        var signals = 0
        var other: DBusSubscription?
        var own: DBusSubscription?
        own = try subscribe(bus, connection) { _ in
            signals += 1
            own?.cancel()
            other?.cancel()
        }
        other = try subscribe(bus, connection) { _ in Issue.record("told after it was cancelled") }
        _ = try bus.loop.result { connection.callPeer("Emit", [.uint32(3)], $0) }
        bus.loop.drive(for: .milliseconds(20))
        #expect(signals == 1)
    }

    @Test("What cannot be subscribed to is told so, unless it is cancelled before")
    func invalid() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let connection = try bus.connect()
        var errors: [String] = []
        for match in [
            DBusMatch(sender: "a b", interface: "a.b"), DBusMatch(sender: "a.b", interface: "a"),
            DBusMatch(sender: "a.b", path: "x", interface: "a.b"),
            DBusMatch(sender: "a.b", interface: "a.b", member: "x'y"),
            // The bus allows rules of 1,024 bytes.
            DBusMatch(sender: "a.b", interface: "a.b", firstArgument: String(repeating: "x", count: 2_000)),
        ] {
            connection.subscribe(match) { result in
                if case .failure(let error) = result { errors.append(error.name) }
            } handler: { _ in
            }
        }
        var isTold = false
        connection.watchName("not a name") { isTold = $0 == nil }
        connection.watchName("not a name") { _ in Issue.record("told after it was cancelled") }.cancel()
        #expect(errors.isEmpty && !isTold)
        #expect(bus.loop.drive { errors.count == 5 && isTold })
        #expect(errors.count { $0 == DBusError.invalidArguments } == 4)
    }

    @Test("A signal with too much text is dropped, and the next is delivered")
    func oversized() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        var sizes: [Int] = []
        _ = try subscribe(bus, connection) { sizes.append($0.arguments.first?.text?.utf8.count ?? -1) }
        for size in [DBusLimits.maximumTextBytes + 1, 3] {
            _ = try bus.loop.result { connection.callPeer("EmitText", [.uint32(UInt32(size))], $0) }
        }
        #expect(bus.loop.drive { !sizes.isEmpty })
        #expect(sizes == [3])
    }
}
