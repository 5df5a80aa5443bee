import DBus
import Glibc
import RunLoop
import Testing

/// The connection's beginning and end.
@Suite(.serialized) struct ConnectionTests {
    @Test("An absent bus is an error at once, which says where it was looked for")
    func absent() throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        let error = try #require(throws: DBusError.self) { try bus.connect() }
        #expect(error.name == DBusError.noServer)
        #expect(error.message.contains("\(bus.folder)/bus: No such file or directory"))
        #expect(error.isBusAbsent)
    }

    @Test("The address of a bus comes from the environment that it is given")
    func addresses() {
        #expect(DBusAddress.system.text(environment: [:]) == "unix:path=/run/dbus/system_bus_socket")
        #expect(DBusAddress.system.text(environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/a"]) == "unix:path=/a")
        #expect(DBusAddress.session.text(environment: [:]) == nil)
        #expect(DBusAddress.session.text(environment: ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": ""]) == nil)
        let directory = ["XDG_RUNTIME_DIR": "/run/user/1 0,0"]
        #expect(DBusAddress.session.text(environment: directory) == "unix:path=/run/user/1%200%2c0/bus")
    }

    @Test("The sockets of an address are tried in order; an escaped and an abstract name are understood")
    func alternatives() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let escaped = bus.folder.replacing("/", with: "%2F")
        for text in [
            "unix:path=/nonexistent/bus;unix:path=\(bus.folder)/bus", "unix:path=\(escaped)%2Fbus,guid=00",
            "tcp:host=localhost,port=1;unix:abstract=/nonexistent;unix:path=\(bus.folder)/bus",
        ] {
            let connection = try DBusConnection(
                address: .address(text), environment: [:], runLoop: bus.loop.runLoop, logger: bus.loop.logger)
            #expect(bus.loop.drive { connection.isOpen }, "\(text)")
            #expect(connection.uniqueName?.hasPrefix(":1.") == true)
            connection.close()
        }
    }

    @Test(
        "An address that names no unix socket is refused",
        arguments: [
            "", ";", "unix", "unix:", "unix:path", "unix:path=", "unix:path=a%0", "unix:path=%00",
            "unix:path=/a,path=/b", "unix:runtime=yes", "tcp:host=localhost,port=1", "unixexec:path=/bin/true",
            "autolaunch:", "unix:path=/" + String(repeating: "a", count: 200),
        ])
    func badAddress(text: String) throws {
        let loop = try TestLoop()
        let error = try #require(throws: DBusError.self) {
            try DBusConnection(
                address: .address(text), environment: [:], runLoop: loop.runLoop, logger: loop.logger)
        }
        #expect(error.name == DBusError.noServer)
    }

    @Test("A connection that nobody uses causes no wakeup, and sets no timer")
    func idle() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let patience = Duration.seconds(3)
        let connection = try bus.connect(patience: patience)
        var isReady = false
        connection.subscribe(DBusMatch(sender: "org.example.Peer", interface: "org.example.Peer")) {
            isReady = $0.failure == nil
        } handler: { _ in
        }
        #expect(bus.loop.drive { isReady })
        _ = try bus.loop.result { connection.callPeer("Echo", [.variant(.byte(1))], timeout: patience, $0) }
        let before = bus.loop.runLoop.statistics.caused
        // Longer than whatever timer was there until now.
        let end = BootClock.now().advanced(by: patience + patience / 5)
        while BootClock.now() < end { bus.loop.runLoop.runOnce(timeout: BootClock.now().duration(to: end)) }
        #expect(bus.loop.runLoop.statistics.caused == before)
    }

    @Test("A bus that is killed in the middle of calls: the end is told first, then each call fails, once")
    func killed() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        #expect(bus.loop.drive { connection.isOpen })
        var told: [String] = []
        connection.onClose = { told.append("closed \($0.name == DBusError.disconnected)") }
        var other: DBusCall?
        connection.callPeer("Never") {
            told.append("1 \($0.failure?.name == DBusError.disconnected)")
            other?.cancel()
            connection.callPeer("Never") { told.append("after \($0.failure?.name == DBusError.disconnected)") }
        }
        other = connection.callPeer("Never") { _ in told.append("cancelled") }
        connection.watchName("org.example.Peer") { told.append($0 == nil ? "no owner" : "owner") }
        #expect(bus.loop.drive { told == ["owner"] })
        bus.kill()
        #expect(bus.loop.drive { told.contains("after true") })
        #expect(told == ["owner", "closed true", "1 true", "no owner", "after true"])
        #expect(connection.isClosed)
        connection.close()
    }

    @Test("A call to a bus that has just died fails, and nothing else happens within it")
    func diesUnnoticed() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let connection = try bus.connect()
        #expect(bus.loop.drive { connection.isOpen })
        var isClosed = false
        connection.onClose = { _ in isClosed = true }
        // Not through the loop, which would notice.
        bus.daemon?.kill()
        var status: Int32 = 0
        #expect(try waitpid(#require(bus.daemon?.pid), &status, 0) > 0)
        var errors: [String?] = []
        for _ in 0..<3 { connection.callPeer("Echo") { errors.append($0.failure?.name) } }
        #expect(errors.isEmpty && !isClosed)
        #expect(bus.loop.drive { errors.count == 3 })
        #expect(errors == Array(repeating: DBusError.disconnected, count: 3))
        #expect(bus.loop.drive { isClosed })
    }

    @Test("Closing from within each kind of callback ends everything there")
    func closeInCallbacks() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let ways: [(DBusConnection, @escaping () -> Void) -> Void] = [
            { connection, close in connection.onOpen = close },
            { connection, close in connection.callPeer("Echo", [.variant(.byte(1))]) { _ in close() } },
            { connection, close in connection.callPeer("Bad name!") { _ in close() } },
            { connection, close in connection.watchName("org.example.Peer") { _ in close() } },
            { connection, close in
                connection.subscribe(DBusMatch(sender: "org.example.Peer", interface: "org.example.Peer")) { _ in
                    close()
                } handler: { _ in
                }
            },
            { connection, close in
                connection.subscribe(DBusMatch(sender: "org.example.Peer", interface: "org.example.Peer")) { _ in
                    close()
                }
                connection.callPeer("Emit", [.uint32(5)]) { _ in }
            },
        ]
        for way in ways {
            let connection = try bus.connect()
            var closes = 0
            connection.onClose = { _ in Issue.record("told of its own close") }
            way(connection) {
                closes += 1
                connection.close()
            }
            for _ in 0..<3 {
                connection.callPeer("Echo", [.variant(.byte(2))]) { _ in
                    if closes > 0 { Issue.record("told after close") }
                }
            }
            #expect(bus.loop.drive { closes > 0 })
            bus.loop.drive(for: .milliseconds(30))
            #expect(closes == 1)
        }
    }

    @Test("A connection that is let go of, open or opening, closes its socket")
    func letGo() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let watcher = try bus.connect()
        var owner: String??
        var connection: DBusConnection? = try DBusConnection(
            address: bus.address, environment: [:], runLoop: bus.loop.runLoop, logger: bus.loop.logger)
        #expect(bus.loop.drive { connection?.isOpen == true })
        watcher.watchName(connection?.uniqueName ?? "") { owner = .some($0) }
        #expect(bus.loop.drive { owner == .some(connection?.uniqueName) })
        connection = nil
        #expect(bus.loop.drive { owner == .some(nil) })
        connection = try DBusConnection(
            address: bus.address, environment: [:], runLoop: bus.loop.runLoop, logger: bus.loop.logger)
        connection = nil
        bus.loop.drive(for: .milliseconds(20))
    }
}
