import DBus
import DeviceServices
import RunLoop
import Testing

@Suite("Waking from sleep, by logind's signal") struct SleepWatchTests {
    @Test("Each waking is told while somebody has to know: not the falling asleep, and nothing afterwards")
    func told() throws {
        let world = try World()
        try world.startBus()
        let login = try world.loginManager()
        let watch = SleepWatch(systemBus: world.service())
        var wakings = 0
        watch.onWake = { wakings += 1 }
        func sleep() {
            for isBefore in [true, false] {
                login.emit("PrepareForSleep", "\(World.login).Manager", "b", [.bool(isBefore)])
            }
        }
        watch.isNeeded = true
        world.runUntil {
            sleep()
            return wakings > 0
        }
        let before = wakings
        login.emit("PrepareForSleep", "\(World.login).Manager", "b", [.bool(true)])
        login.emit("PrepareForSleep", "\(World.login).Manager", "s", [.string("false")])
        // What was sent before it has come when this is answered.
        _ = login.inhibitors
        #expect(wakings >= before)
        let asleep = wakings
        login.emit("PrepareForSleep", "\(World.login).Manager", "b", [.bool(false)])
        world.runUntil { wakings == asleep + 1 }
        watch.isNeeded = false
        sleep()
        _ = login.inhibitors
        #expect(wakings == asleep + 1)
    }
}
