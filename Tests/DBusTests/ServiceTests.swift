import DBus
import RunLoop
import Testing

/// A bus that comes and goes.
@Suite(.serialized) struct ServiceTests {
    private static let peer = "org.example.Peer"

    private func echo(_ service: DBusService, _ loop: TestLoop) throws -> Result<[DBusValue], DBusError> {
        try loop.result {
            service.call(
                destination: Self.peer, path: "/peer", interface: Self.peer, member: "Echo",
                arguments: [.variant(.byte(1))], timeout: .seconds(10), completion: $0)
        }
    }

    @Test("Nothing is opened before the first use; an absent bus fails each use, and is tried again after a pause")
    func absentThenThere() throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        let service = bus.service()
        var statuses: [DBusService.Status] = []
        service.onChange = { statuses.append($0) }
        #expect(service.status == .unused)
        #expect(try echo(service, bus.loop).failure?.name == DBusError.noServer)
        try bus.start()
        _ = try bus.startPeer()
        let end = BootClock.now().advanced(by: .seconds(20))
        var refusals = 0
        while BootClock.now() < end, try echo(service, bus.loop).failure != nil {
            refusals += 1
            bus.loop.drive(for: .milliseconds(20))
        }
        #expect(service.status == .open)
        #expect(statuses.count == 3)
        guard case .lost = statuses.first else { return #expect(Bool(false), "\(statuses)") }
        #expect(statuses.dropFirst() == [.opening, .open])
    }

    @Test("A bus that was restarted: subscribers and watchers are told of the loss and, at the next use, of its return")
    func restarted() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let peer = try bus.startPeer()
        let service = bus.service()
        var ready: [Bool] = []
        var owners: [Bool] = []
        var signals = 0
        service.subscribe(DBusMatch(sender: Self.peer, interface: Self.peer)) { result in
            if case .success = result { ready.append(true) } else { ready.append(false) }
        } handler: { _ in
            signals += 1
        }
        service.watchName(Self.peer) { owners.append($0 != nil) }
        let cancelled = service.watchName(Self.peer) { _ in Issue.record("told after it was cancelled") }
        cancelled.cancel()
        #expect(bus.loop.drive { ready == [true] && owners == [true] })
        #expect(service.status == .open)
        bus.kill()
        #expect(bus.loop.drive { ready == [true, false] && owners == [true, false] })
        peer.kill()
        try bus.start()
        _ = try bus.startPeer()
        let before = bus.loop.runLoop.statistics.byCause[.timer]
        bus.loop.drive(for: .milliseconds(50))
        #expect(bus.loop.runLoop.statistics.byCause[.timer] == before)
        #expect(ready.count == 2)
        // The pause counts from the last attempt, which may be too near.
        #expect(bus.loop.drive { service.open() == nil })
        #expect(bus.loop.drive { ready == [true, false, true] && owners == [true, false, true] })
        service.send(
            destination: Self.peer, path: "/peer", interface: Self.peer, member: "Emit", arguments: [.uint32(2)])
        #expect(bus.loop.drive { signals == 2 })
    }

    @Test("A use that follows from each failure does not become a busy loop")
    func noBusyLoop() throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        let service = bus.service()
        var attempts = 0
        service.onChange = { if $0 == .opening { attempts += 1 } }
        try bus.startRawBus("refuse")
        var uses = 0
        func use() {
            uses += 1
            guard uses < 2_000 else { return }
            service.call(
                destination: Self.peer, path: "/peer", interface: Self.peer, member: "Echo", timeout: .seconds(5)
            ) { _ in use() }
        }
        use()
        #expect(bus.loop.drive { uses >= 2_000 })
        #expect(attempts >= 1)
        #expect(attempts <= 5)
    }

    @Test("After its close nothing is told, and every use fails")
    func close() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let service = bus.service()
        #expect(try echo(service, bus.loop) == .success([.variant(.byte(1))]))
        service.onChange = { _ in Issue.record("told after close") }
        service.watchName(Self.peer) { _ in Issue.record("told after close") }
        service.call(destination: Self.peer, path: "/peer", interface: Self.peer, member: "Echo", timeout: .seconds(5))
        {
            _ in Issue.record("told after close")
        }
        service.call(destination: "", path: "/peer", interface: Self.peer, member: "Echo", timeout: .seconds(5)) {
            _ in Issue.record("told after close")
        }
        service.close()
        bus.loop.drive(for: .milliseconds(30))
        #expect(try echo(service, bus.loop).failure?.name == DBusError.disconnected)
        #expect(service.open() != nil)
        #expect(service.status == .closed)
    }

    @Test("Names and object paths are checked, and any text can be an element of a path")
    func names() {
        #expect(DBusNames.isBusName("org.freedesktop.login1"))
        #expect(DBusNames.isBusName(":1.42"))
        #expect(!DBusNames.isBusName("org"))
        #expect(!DBusNames.isBusName("org.a\0"))
        #expect(DBusNames.isObjectPath("/") && !DBusNames.isObjectPath("/a/"))
        #expect(DBusNames.isInterface("a.b") && !DBusNames.isInterface("a.1"))
        #expect(DBusNames.isMember("Ring") && !DBusNames.isMember("Ring.A"))
        // As `systemd` names its units: dbus.service.
        #expect(DBusNames.pathElement("dbus.service") == "dbus_2eservice")
        #expect(DBusNames.pathElement("1a2") == "_31a2")
        #expect(DBusNames.pathElement("") == "_")
        #expect(DBusNames.pathElement("é\0") == "_c3_a9_00")
    }
}
