import DBus
import DeviceServices
import RunLoop
import Testing

extension Mock {
    private static let session = "\(World.login).Session"

    static func sessionPath(_ id: String) -> String { "\(World.loginPath)/session/\(id)" }

    /// - Parameters:
    ///   - type: nil: one without a screen.
    ///   - isAnnounced: the signal is sent too.
    func addSession(
        _ id: String, user: UInt32 = 1000, seat: String = "seat0", type: String? = nil, isActive: Bool = true,
        isAnnounced: Bool = false
    ) {
        mock(
            "AddSession",
            [.string(id), .string(seat), .uint32(user), .string("user-\(user)"), .bool(isActive)])
        if let type { set(id, ["Type": .string(type)]) }
        guard isAnnounced else { return }
        emit("SessionNew", "\(World.login).Manager", "so", [.string(id), .objectPath(Self.sessionPath(id))])
    }

    func removeSession(_ id: String) {
        mock("RemoveObject", [.string(Self.sessionPath(id))])
        emit("SessionRemoved", "\(World.login).Manager", "so", [.string(id), .objectPath(Self.sessionPath(id))])
    }

    func set(_ id: String, _ properties: KeyValuePairs<String, DBusValue>) {
        mock("UpdateProperties", [.string(Self.session), .properties(properties)], at: Self.sessionPath(id))
    }

    func setLocked(_ id: String, _ isLocked: Bool) { set(id, ["LockedHint": .bool(isLocked)]) }

    func signalLock(_ id: String, locks: Bool) {
        emit(locks ? "Lock" : "Unlock", Self.session, "", [], at: Self.sessionPath(id))
    }
}

@Suite("The lock of sessions, against python-dbusmock's logind") struct SessionLockMonitorTests {
    final class Watch {
        let monitor: SessionLockMonitor
        var states: [SessionLockMonitor.State] = []

        init(_ world: World, _ scope: SessionLockMonitor.Scope = .user(1000), bus: DBusService? = nil) {
            monitor = SessionLockMonitor(logger: world.logger, systemBus: bus ?? world.service(), scope: scope)
            monitor.onChange = { [weak self] in self?.states.append($0) }
            monitor.start()
        }
    }

    @Test("A session's hint is followed")
    func hint() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        login.addSession("c1")
        let watch = Watch(world)
        #expect(watch.monitor.state == .asking)
        world.runUntil { watch.states == [.unlocked] }
        login.setLocked("c1", true)
        world.runUntil { watch.states == [.unlocked, .locked] }
        login.set("c1", ["IdleHint": .bool(true)])
        login.setLocked("c1", false)
        world.runUntil { watch.states == [.unlocked, .locked, .unlocked] }
        watch.monitor.close()
        login.setLocked("c1", true)
        world.settle()
        #expect(watch.states.count == 3)
    }

    @Test("A logind that is slow is waited for, and believed when it answers")
    func slow() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        login.addSession("c1")
        login.setLocked("c1", true)
        let session = "dbus.ObjectPath('\(Mock.sessionPath("c1"))')"
        let list = "ret = [('c1', dbus.UInt32(1000), 'user', 'seat0', \(session))]"
        login.define(
            "ListSessions", "\(World.login).Manager", takes: "", gives: "a(susso)",
            "import time; time.sleep(1); \(list)")
        let monitor = SessionLockMonitor(
            logger: world.logger, systemBus: world.service(), scope: .user(1000), patience: .milliseconds(100))
        var states: [SessionLockMonitor.State] = []
        monitor.onChange = { states.append($0) }
        monitor.start()
        world.runUntil { states.last == .locked }
        #expect(states == [.unknown("logind has not answered for \(Duration.milliseconds(100))"), .locked])
        login.setLocked("c1", false)
        world.runUntil { states.last == .unlocked }
    }

    @Test("A session that is locked already counts from the start")
    func lockedBefore() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        login.addSession("c1")
        login.setLocked("c1", true)
        let watch = Watch(world)
        world.runUntil { watch.states == [.locked] }
    }

    @Test("A desktop that sets no hint is locked by logind's signals")
    func signals() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        login.addSession("c1")
        let watch = Watch(world)
        world.runUntil { watch.states == [.unlocked] }
        login.signalLock("c1", locks: true)
        world.runUntil { watch.states == [.unlocked, .locked] }
        login.signalLock("c1", locks: false)
        world.runUntil { watch.states == [.unlocked, .locked, .unlocked] }
    }

    @Test("A user is locked when all sessions with a screen are, whatever shells there are, and whatever others do")
    func several() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        login.addSession("c1", type: "wayland")
        login.addSession("c2", type: "x11")
        login.addSession("ssh", type: "tty")
        login.addSession("other", user: 1001, type: "wayland")
        let watch = Watch(world)
        world.runUntil { watch.states == [.unlocked] }
        login.setLocked("c1", true)
        world.settle()
        #expect(watch.monitor.state == .unlocked)
        login.setLocked("c2", true)
        world.runUntil { watch.monitor.state == .locked }
        // The last session with a screen is gone: the shell counts.
        login.removeSession("c1")
        world.settle()
        #expect(watch.monitor.state == .locked)
        login.removeSession("c2")
        world.runUntil { watch.monitor.state == .unlocked }
    }

    @Test("A user without a session is locked, until one comes")
    func none() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        login.addSession("other", user: 1001)
        let watch = Watch(world)
        world.runUntil { watch.states == [.locked] }
        login.addSession("c1", isAnnounced: true)
        world.runUntil { watch.states == [.locked, .unlocked] }
        login.removeSession("c1")
        world.runUntil { watch.states == [.locked, .unlocked, .locked] }
    }

    @Test("Services and greeters of the user are no sessions of a person")
    func greeter() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        login.addSession("m")
        login.set("m", ["Class": .string("manager")])
        let watch = Watch(world)
        world.runUntil { watch.states == [.locked] }
    }

    @Test("On a seat the session in front counts; a greeter in front means that it is locked")
    func seat() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        login.addSession("c1", user: 1000)
        login.addSession("c2", user: 1001, isActive: false)
        login.addSession("far", user: 1002, seat: "seat1")
        login.setLocked("c2", true)
        let watch = Watch(world, .seat("seat0"))
        world.runUntil { watch.states == [.unlocked] }
        login.set("c1", ["Active": .bool(false)])
        world.runUntil { watch.states == [.unlocked, .locked] }
        login.set("c2", ["Active": .bool(true)])
        login.setLocked("c2", false)
        world.runUntil { watch.states == [.unlocked, .locked, .unlocked] }
        login.set("c2", ["Class": .string("greeter"), "Active": .bool(false)])
        world.runUntil { watch.monitor.state == .locked }
    }

    @Test("Without logind, and without a bus, the state is unknown; logind that comes is asked")
    func absent() throws {
        let world = try World()
        let nowhere = Watch(world, bus: world.absentService())
        world.runUntil { if case .unknown = nowhere.monitor.state { true } else { false } }
        try world.startBus()
        let watch = Watch(world)
        world.runUntil { if case .unknown = watch.monitor.state { true } else { false } }
        let login = try world.loginManager()
        world.runUntil { watch.monitor.state == .locked }
        login.end()
        world.runUntil { if case .unknown = watch.monitor.state { true } else { false } }
    }

    @Test("A logind that refuses to answer leaves the state unknown")
    func refuses() throws {
        let world = try World()
        try world.startBus()
        let manager = "\(World.login).Manager"
        let login = try world.startMock(
            [World.login, World.loginPath, manager], name: World.login, path: World.loginPath)
        login.define(
            "ListSessions", manager, takes: "", gives: "a(susso)",
            "raise dbus.exceptions.DBusException('no', name='org.freedesktop.DBus.Error.AccessDenied')")
        let watch = Watch(world)
        world.runUntil {
            if case .unknown(let why) = watch.monitor.state { why.contains("AccessDenied") } else { false }
        }
    }
}
