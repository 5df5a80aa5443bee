import DBus
import DeviceServices
import RunLoop
import Testing

extension Mock {
    /// logind says that the machine is about to sleep, or that it has slept.
    func signalSleep(begins: Bool) {
        emit("PrepareForSleep", "\(World.login).Manager", "b", [.bool(begins)])
    }
}

@Suite("Delaying a sleep, against python-dbusmock") struct SleepDelayTests {
    static let lock = ["sleep", "Ringwake", "Checks the link to the gateway", "delay"]

    @Test("The lock is held while it is needed; a sleep releases it when the check is done, and then it is taken again")
    func held() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        let delay = SleepDelay(runLoop: world.loop, logger: world.logger, systemBus: world.service())
        var checks: [() -> Void] = []
        var wakings = 0
        delay.onSleep = { checks.append($0) }
        delay.onWake = { wakings += 1 }
        #expect(login.inhibitors.isEmpty)
        delay.isNeeded = true
        world.runUntil { login.inhibitors == [Self.lock] }
        login.signalSleep(begins: true)
        // Without another lock the second one changes nothing.
        login.signalSleep(begins: true)
        world.runUntil { !checks.isEmpty }
        world.settle()
        #expect(checks.count == 1 && login.inhibitors == [Self.lock])
        checks[0]()
        world.runUntil { login.inhibitors.isEmpty }
        #expect(wakings == 0)
        login.signalSleep(begins: false)
        world.runUntil { wakings == 1 && login.inhibitors == [Self.lock] }
        delay.isNeeded = false
        world.runUntil { login.inhibitors.isEmpty }
    }

    @Test("A check that ends after the sleep releases nothing")
    func late() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        let delay = SleepDelay(runLoop: world.loop, logger: world.logger, systemBus: world.service())
        var checks: [() -> Void] = []
        delay.onSleep = { checks.append($0) }
        delay.isNeeded = true
        world.runUntil { delay.isHeld }
        login.signalSleep(begins: true)
        world.runUntil { !checks.isEmpty }
        login.signalSleep(begins: false)
        world.runUntil { delay.isHeld && login.inhibitors == [Self.lock] }
        checks[0]()
        world.settle()
        #expect(delay.isHeld && login.inhibitors == [Self.lock])
        login.signalSleep(begins: true)
        world.runUntil { checks.count == 2 }
        checks[1]()
        world.runUntil { login.inhibitors.isEmpty }
    }

    @Test("A check that doesn't end holds up the sleep for a limited time")
    func endless() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        let delay = SleepDelay(runLoop: world.loop, logger: world.logger, systemBus: world.service())
        delay.onSleep = { _ in }
        delay.isNeeded = true
        world.runUntil { delay.isHeld }
        login.signalSleep(begins: true)
        world.runUntil { !delay.isHeld && login.inhibitors.isEmpty }
        #expect(world.log.count(of: "the machine sleeps before the link is checked") == 1)
    }
}
