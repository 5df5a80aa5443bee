import DBus
import DeviceServices
import Glibc
import RunLoop
import Testing

extension World {
    static let login = "org.freedesktop.login1"
    static let loginPath = "/org/freedesktop/login1"

    func loginManager() throws -> Mock {
        try startMock(["-t", "logind"], name: Self.login, path: Self.loginPath)
    }

    /// A stand-in for `/sys/power`, in which what is written can be read.
    func makeKernelFiles(active: String = "") throws {
        try write(active, to: "wake_lock")
        try write("", to: "wake_unlock")
    }

    func keeper(_ bus: DBusService, _ mode: WakeKeeper.Mode = .auto) -> WakeKeeper {
        WakeKeeper(runLoop: loop, logger: logger, systemBus: bus, kernelDirectory: directory, mode: mode)
    }
}

extension Mock {
    /// What keeps the machine awake, as logind sees it: what, who, why, mode.
    var inhibitors: [[String?]] {
        let answer = try? ask("\(World.login).Manager", "ListInhibitors").get()
        return answer?.first?.elements?.map { $0.elements?.prefix(4).map(\.text) ?? [] } ?? []
    }
}

@Suite("Staying awake by logind, against python-dbusmock") struct WakeKeeperTests {
    @Test("logind's inhibitor is held while it is needed, and released at once")
    func held() throws {
        let world = try World()
        try world.makeKernelFiles()
        try world.startBus()
        let login = try world.loginManager()
        let keeper = world.keeper(world.service())
        #expect(keeper.status == WakeKeeper.Status(holder: nil, why: nil))
        for _ in 0..<3 {
            keeper.isNeeded = true
            world.runUntil { keeper.status.holder == .logind }
            #expect(login.inhibitors == [["sleep", "Ringwake", "A call", "block"]])
            keeper.isNeeded = false
            #expect(keeper.status.holder == nil)
            world.runUntil { login.inhibitors.isEmpty }
        }
        #expect(world.text(of: "wake_lock").isEmpty)
        #expect(world.log.count(of: WakeKeeperTests.warning) == 0)
    }

    static let warning =
        "the machine may fall asleep in a call; set awake.by to what this machine has, or to none"

    @Test("An inhibitor that comes when it is not needed any more is let go of")
    func late() throws {
        let world = try World()
        try world.startBus()
        let manager = "\(World.login).Manager"
        let login = try world.startMock(
            [World.login, World.loginPath, manager], name: World.login, path: World.loginPath)
        login.define(
            "Inhibit", manager, takes: "ssss", gives: "h",
            """
            import os, time
            open('\(world.path("asked"))', 'w').close()
            time.sleep(0.5)
            self.reader, writer = os.pipe()
            ret = dbus.types.UnixFd(writer)
            os.close(writer)
            """)
        login.define(
            "IsHeld", manager, takes: "", gives: "b",
            "import select; p = select.poll(); p.register(self.reader, select.POLLIN); ret = not p.poll(0)")
        let keeper = world.keeper(world.service(), .logind)
        keeper.isNeeded = true
        world.runUntil { access(world.path("asked"), F_OK) == 0 }
        keeper.isNeeded = false
        world.runUntil { (try? login.ask(manager, "IsHeld").get().first?.flag) == false }
        world.settle()
        #expect(keeper.status == WakeKeeper.Status())
        keeper.isNeeded = true
        world.runUntil { keeper.status.holder == .logind }
        #expect(try login.ask(manager, "IsHeld").get().first?.flag == true)
    }

    @Test("A logind that was restarted is asked again while it is needed")
    func restarted() throws {
        let world = try World()
        try world.startBus()
        let first = try world.loginManager()
        let keeper = world.keeper(world.service())
        keeper.isNeeded = true
        world.runUntil { keeper.status.holder == .logind }
        #expect(first.inhibitors.count == 1)
        world.settle()
        first.end()
        world.runUntil { world.owner(of: World.login) == nil }
        let second = try world.loginManager()
        world.runUntil { second.inhibitors.count == 1 }
        world.settle()
        #expect(second.inhibitors.count == 1)
        keeper.isNeeded = false
        world.runUntil { second.inhibitors.isEmpty }
        second.end()
        world.runUntil { world.owner(of: World.login) == nil }
        let third = try world.loginManager()
        world.settle()
        #expect(third.inhibitors.isEmpty)
    }

    @Test("A logind that refuses because it is putting the machine to sleep is asked again after that")
    func asleep() throws {
        let world = try World()
        try world.startBus()
        let manager = "\(World.login).Manager"
        let login = try world.startMock(
            [World.login, World.loginPath, manager], name: World.login, path: World.loginPath)
        login.define(
            "Inhibit", manager, takes: "ssss", gives: "h",
            "raise dbus.exceptions.DBusException('it is running', name='org.freedesktop.login1.OperationInProgress')")
        let keeper = world.keeper(world.service(), .logind)
        keeper.isNeeded = true
        world.runUntil { keeper.status.why?.contains("it is running") == true }
        login.define(
            "Inhibit", manager, takes: "ssss", gives: "h",
            "import os; self.reader, writer = os.pipe(); ret = dbus.types.UnixFd(writer); os.close(writer)")
        login.signalSleep(begins: true)
        world.settle()
        #expect(keeper.status.holder == nil)
        login.signalSleep(begins: false)
        world.runUntil { keeper.status == WakeKeeper.Status(holder: .logind, why: nil) }
        let asked = login.calls(of: "Inhibit").count
        login.signalSleep(begins: false)
        world.settle()
        #expect(login.calls(of: "Inhibit").count == asked)
    }

    @Test("A logind that starts only now takes over from the kernel")
    func loginComes() throws {
        let world = try World()
        try world.makeKernelFiles()
        try world.startBus()
        let keeper = world.keeper(world.service())
        keeper.isNeeded = true
        world.runUntil { keeper.status.holder == .kernel }
        let login = try world.loginManager()
        world.runUntil { keeper.status.holder == .logind }
        #expect(world.text(of: "wake_unlock") == "ringwaked")
        #expect(login.inhibitors.count == 1)
        keeper.close()
        world.runUntil { login.inhibitors.isEmpty }
    }

    @Test("A logind that refuses leaves it to the kernel, or to nobody where only logind may")
    func refuses() throws {
        let world = try World()
        try world.makeKernelFiles()
        try world.startBus()
        let login = try world.startMock(
            [World.login, World.loginPath, "\(World.login).Manager"], name: World.login, path: World.loginPath)
        login.define(
            "Inhibit", "\(World.login).Manager", takes: "ssss", gives: "h",
            "raise dbus.exceptions.DBusException('not you', name='org.freedesktop.DBus.Error.AccessDenied')")
        let keeper = world.keeper(world.service())
        keeper.isNeeded = true
        world.runUntil { keeper.status.holder == .kernel }
        #expect(world.text(of: "wake_lock") == "ringwaked 600000000000")
        keeper.isNeeded = false
        #expect(world.text(of: "wake_unlock") == "ringwaked")
        let strict = world.keeper(world.service("strict"), .logind)
        for _ in 0..<3 {
            strict.isNeeded = true
            world.runUntil { strict.status.why?.contains("not you") == true }
            #expect(strict.status.why?.contains("inhibit-block-sleep") == true)
            #expect(strict.status.holder == nil)
            strict.isNeeded = false
        }
        #expect(world.log.count(of: WakeKeeperTests.warning) == 1)
    }

    @Test("An answer without a descriptor is none")
    func nonsense() throws {
        let world = try World()
        try world.startBus()
        let login = try world.startMock(
            [World.login, World.loginPath, "\(World.login).Manager"], name: World.login, path: World.loginPath)
        login.define("Inhibit", "\(World.login).Manager", takes: "ssss", gives: "s", "ret = 'yes'")
        let keeper = world.keeper(world.service())
        keeper.isNeeded = true
        world.runUntil { keeper.status.why?.contains("holds no descriptor") == true }
        #expect(keeper.status.holder == nil)
    }

    @Test("The bus is killed while it is held, and nothing else happens")
    func busKilled() throws {
        let world = try World()
        let bus = try world.startBus()
        _ = try world.loginManager()
        let keeper = world.keeper(world.service())
        keeper.isNeeded = true
        world.runUntil { keeper.status.holder == .logind }
        world.end(bus)
        world.settle()
        #expect(keeper.status.holder == .logind)
        keeper.isNeeded = false
        #expect(keeper.status.holder == nil)
        keeper.isNeeded = true
        world.settle()
        keeper.close()
    }
}

@Suite("Staying awake by the kernel") struct KernelWakeLockTests {
    @Test("Without a bus the kernel's lock is held for a limited time, and released at once")
    func held() throws {
        let world = try World()
        try world.makeKernelFiles()
        let keeper = world.keeper(world.absentService())
        keeper.isNeeded = true
        world.runUntil { keeper.status.holder == .kernel }
        #expect(world.text(of: "wake_lock") == "ringwaked 600000000000")
        #expect(world.text(of: "wake_unlock").isEmpty)
        keeper.isNeeded = false
        #expect(world.text(of: "wake_unlock") == "ringwaked")
        #expect(keeper.status.holder == nil)
        let before = world.loop.statistics.caused
        world.settle()
        #expect(world.loop.statistics.caused == before)
    }

    @Test("By the kernel alone it is held before anything else happens")
    func kernelOnly() throws {
        let world = try World()
        try world.makeKernelFiles()
        let keeper = world.keeper(world.absentService(), .kernel)
        keeper.isNeeded = true
        #expect(keeper.status == WakeKeeper.Status(holder: .kernel, why: nil))
        keeper.close()
        #expect(keeper.status.holder == nil)
        #expect(world.text(of: "wake_unlock") == "ringwaked")
    }

    @Test("While it is needed the kernel's lock is renewed, and afterwards it is not")
    func renewed() throws {
        let world = try World()
        try world.makeKernelFiles()
        let keeper = WakeKeeper(
            runLoop: world.loop, logger: world.logger, systemBus: world.absentService(),
            kernelDirectory: world.directory,
            mode: .kernel, kernelTimeout: .milliseconds(40))
        keeper.isNeeded = true
        for _ in 0..<3 {
            #expect(world.text(of: "wake_lock") == "ringwaked 40000000")
            try world.write("", to: "wake_lock")
            world.runUntil { !world.text(of: "wake_lock").isEmpty }
        }
        keeper.isNeeded = false
        try world.write("", to: "wake_lock")
        let timers = world.loop.statistics.byCause[.timer]
        world.loop.runOnce(timeout: .milliseconds(200))
        #expect(world.loop.statistics.byCause[.timer] == timers)
        #expect(world.text(of: "wake_lock").isEmpty)
    }

    @Test("A machine that has neither says so once, and in its status")
    func neither() throws {
        let world = try World()
        let keeper = world.keeper(world.absentService())
        for _ in 0..<3 {
            keeper.isNeeded = true
            world.runUntil { keeper.status.why != nil }
            #expect(keeper.status.holder == nil)
            #expect(keeper.status.why?.contains("CONFIG_PM_WAKELOCKS") == true)
            #expect(keeper.status.why?.contains("logind") == true)
            keeper.isNeeded = false
        }
        #expect(world.log.count(of: WakeKeeperTests.warning) == 1)
    }

    @Test("What a daemon that was killed held is released, what others hold is not")
    func leftover() throws {
        let world = try World()
        try world.makeKernelFiles(active: "other ringwaked another\n")
        _ = world.keeper(world.absentService())
        #expect(world.text(of: "wake_unlock") == "ringwaked")
        try world.makeKernelFiles(active: "other ringwaked2 another\n")
        _ = world.keeper(world.absentService())
        #expect(world.text(of: "wake_unlock").isEmpty)
    }

    @Test("A machine that shall not be kept awake is not")
    func none() throws {
        let world = try World()
        try world.makeKernelFiles(active: "ringwaked")
        let keeper = world.keeper(world.absentService(), .none)
        keeper.isNeeded = true
        world.settle()
        #expect(keeper.status == WakeKeeper.Status(holder: nil, why: nil))
        #expect(world.text(of: "wake_lock") == "ringwaked")
        #expect(world.log.all.isEmpty)
    }
}
