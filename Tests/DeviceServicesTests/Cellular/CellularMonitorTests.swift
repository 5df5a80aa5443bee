import DBus
import DeviceServices
import Glibc
import RunLoop
import Testing

/// A ModemManager with modems and calls, by python-dbusmock.
final class MockModemManager {
    static let service = "org.freedesktop.ModemManager1"
    static let root = "/org/freedesktop/ModemManager1"
    static let voice = "\(service).Modem.Voice"
    static let callInterface = "\(service).Call"
    private static let manager = "org.freedesktop.DBus.ObjectManager"

    let mock: Mock

    init(_ world: World) throws {
        mock = try world.startMock(
            ["-m", Self.service, Self.root, "\(Self.service).Main"], name: Self.service, path: Self.root)
    }

    static func modem(_ number: Int) -> String { "\(root)/Modem/\(number)" }
    static func call(_ number: Int) -> String { "\(root)/Call/\(number)" }

    /// - Parameter isAnnounced: The signal is sent too.
    func addModem(_ number: Int, calls: [Int] = [], isAnnounced: Bool = true) {
        let paths = DBusValue.array("o", calls.map { .objectPath(Self.call($0)) })
        let properties = DBusValue.properties(["Calls": paths, "EmergencyOnly": .bool(false)])
        mock.mock("AddObject", [.string(Self.modem(number)), .string(Self.voice), properties, .array("(ssss)", [])])
        guard isAnnounced else { return }
        announce(Self.modem(number), [(Self.voice, properties)])
    }

    func announce(_ path: String, _ interfaces: [(String, DBusValue)]) {
        mock.emit(
            "InterfacesAdded", Self.manager, "oa{sa{sv}}",
            [
                .objectPath(path),
                .dictionary("s", "a{sv}", interfaces.map { DBusEntry(key: .string($0.0), value: $0.1) }),
            ])
    }

    func removeModem(_ number: Int) {
        mock.emit(
            "InterfacesRemoved", Self.manager, "oas", [.objectPath(Self.modem(number)), .strings(["x.y", Self.voice])])
    }

    func addCall(_ number: Int, state: Int32, on modem: Int? = nil) {
        mock.mock(
            "AddObject",
            [
                .string(Self.call(number)), .string(Self.callInterface), .properties(["State": .int32(state)]),
                .array("(ssss)", []),
            ])
        guard let modem else { return }
        mock.emit("CallAdded", Self.voice, "o", [.objectPath(Self.call(number))], at: Self.modem(modem))
    }

    func change(_ number: Int, to state: Int32) {
        mock.emit(
            "StateChanged", Self.callInterface, "iiu", [.int32(0), .int32(state), .uint32(0)], at: Self.call(number))
    }

    func deleteCall(_ number: Int, of modem: Int) {
        mock.emit("CallDeleted", Self.voice, "o", [.objectPath(Self.call(number))], at: Self.modem(modem))
    }
}

@Suite("Cellular calls, against python-dbusmock") struct CellularMonitorTests {
    private func monitor(
        _ world: World, timeout: Duration = .seconds(25), _ changes: @escaping (Bool) -> Void
    ) -> CellularMonitor {
        let monitor = CellularMonitor(logger: world.logger, systemBus: world.service(), timeout: timeout)
        monitor.onChange = changes
        monitor.start()
        return monitor
    }

    @Test("A call is noticed from its answer to its end, and while it is on hold it is none")
    func incoming() throws {
        let world = try World()
        try world.startBus()
        let manager = try MockModemManager(world)
        var changes: [Bool] = []
        let monitor = monitor(world) { changes.append($0) }
        world.runUntil { monitor.status.isServicePresent }
        manager.addModem(0)
        world.runUntil { monitor.status.modems == 1 }
        manager.addCall(1, state: 3, on: 0)
        world.runUntil { monitor.status.calls == 1 }
        world.settle()
        #expect(changes.isEmpty, "it only rings")
        for (state, expected) in [
            (4, [true]), (5, [true, false]), (4, [true, false, true]), (7, [true, false, true, false]),
        ] {
            manager.change(1, to: Int32(state))
            world.runUntil { changes == expected }
        }
        manager.deleteCall(1, of: 0)
        world.runUntil { monitor.status.calls == 0 }
        #expect(changes.count == 4)
        #expect(monitor.status.why == nil)
    }

    @Test("A call that the user makes counts from its dialing", arguments: [Int32(1), 2])
    func outgoing(_ state: Int32) throws {
        let world = try World()
        try world.startBus()
        let manager = try MockModemManager(world)
        var changes: [Bool] = []
        let monitor = monitor(world) { changes.append($0) }
        manager.addModem(0)
        world.runUntil { monitor.status.modems == 1 }
        manager.addCall(1, state: state, on: 0)
        world.runUntil { changes == [true] }
        manager.deleteCall(1, of: 0)
        world.runUntil { changes == [true, false] }
    }

    @Test("Calls that go on already are found, on each modem; the last to end counts")
    func alreadyThere() throws {
        let world = try World()
        try world.startBus()
        let manager = try MockModemManager(world)
        manager.addCall(1, state: 4)
        manager.addCall(2, state: 4)
        manager.addModem(0, calls: [1], isAnnounced: false)
        manager.addModem(1, calls: [2], isAnnounced: false)
        var changes: [Bool] = []
        let monitor = monitor(world) { changes.append($0) }
        world.runUntil { monitor.status.calls == 2 && changes == [true] }
        manager.deleteCall(1, of: 0)
        world.runUntil { monitor.status.calls == 1 }
        #expect(changes == [true])
        manager.mock.emit(
            "InterfacesRemoved", "org.freedesktop.DBus.ObjectManager", "oas",
            [.objectPath(MockModemManager.modem(1)), .strings(["\(MockModemManager.service).Modem.Time"])])
        world.settle()
        #expect(changes == [true], "the modem can do without")
        manager.removeModem(1)
        world.runUntil { changes == [true, false] }
        #expect(monitor.status.modems == 1)
    }

    @Test("A ModemManager that restarts is asked again, and its calls end with it")
    func restarted() throws {
        let world = try World()
        try world.startBus()
        var changes: [Bool] = []
        let monitor = monitor(world) { changes.append($0) }
        let first = try MockModemManager(world)
        first.addModem(0)
        first.addCall(1, state: 4, on: 0)
        world.runUntil { changes == [true] }
        first.mock.end()
        world.runUntil { changes == [true, false] }
        #expect(monitor.status == CellularMonitor.Status())
        let second = try MockModemManager(world)
        world.runUntil { monitor.status.isServicePresent }
        second.addCall(1, state: 1)
        second.addModem(0, calls: [1])
        world.runUntil { changes == [true, false, true] }
        monitor.close()
        #expect(changes == [true, false, true, false])
        #expect(monitor.status == CellularMonitor.Status())
    }

    @Test("What is no modem, no call or no state of one does nothing, and is bounded")
    func hostile() throws {
        let world = try World()
        try world.startBus()
        let manager = try MockModemManager(world)
        var changes: [Bool] = []
        let monitor = monitor(world) { changes.append($0) }
        manager.addModem(0)
        world.runUntil { monitor.status.modems == 1 }
        let mock = manager.mock
        let (voice, call) = (MockModemManager.voice, MockModemManager.callInterface)
        let modem = MockModemManager.modem(0)
        manager.change(99, to: 4)
        mock.emit("CallAdded", voice, "o", [.objectPath("/elsewhere")], at: MockModemManager.root)
        mock.emit("CallAdded", voice, "i", [.int32(4)], at: modem)
        mock.emit("CallDeleted", voice, "s", [.string("nothing")], at: modem)
        manager.addCall(1, state: 99, on: 0)
        world.runUntil { monitor.status.calls == 1 }
        for state in [Int32.min, -1, 8, .max] { manager.change(1, to: state) }
        mock.emit(
            "StateChanged", call, "sss", [.string("a"), .string("4"), .string("b")], at: MockModemManager.call(1))
        mock.emit("StateChanged", call, "i", [.int32(4)], at: MockModemManager.call(1))
        let liar = try world.startMock(["org.example.Liar", modem, voice], name: "org.example.Liar", path: modem)
        liar.emit("CallAdded", voice, "o", [.objectPath(MockModemManager.call(7))])
        let many = DBusValue.properties(["Calls": .array("o", (0..<100).map { .objectPath("/call/\($0)") })])
        for number in 1...40 { manager.announce("/modem/\(number)", [(voice, many)]) }
        manager.announce("/modem/odd", [(voice, .properties(["Calls": .string("none")]))])
        world.runUntil { monitor.status.modems == 16 }
        world.settle()
        #expect(monitor.status.modems == 16)
        #expect(monitor.status.calls == 15 * 16 + 1)
        #expect(monitor.status.why != nil)
        #expect(changes.isEmpty)
    }

    @Test("A ModemManager that is slow is waited for")
    func slow() throws {
        let world = try World()
        try world.startBus()
        let manager = try MockModemManager(world)
        manager.mock.define(
            "GetManagedObjects", "org.freedesktop.DBus.ObjectManager", takes: "", gives: "a{oa{sa{sv}}}",
            "import time; time.sleep(1); ret = dbus.Dictionary({}, signature='oa{sa{sv}}')")
        var (changes, reasons): ([Bool], [String]) = ([], [])
        let monitor = monitor(world, timeout: .milliseconds(300)) { changes.append($0) }
        world.runUntil {
            if let why = monitor.status.why { reasons.append(why) }
            return !reasons.isEmpty && monitor.status.why == nil
        }
        #expect(reasons.first?.contains("it is slow") == true)
        manager.addCall(1, state: 4)
        manager.addModem(0, calls: [1])
        world.runUntil { changes == [true] }
    }

    @Test("A ModemManager that does not let itself be asked is told of, and its signals count")
    func refuses() throws {
        let world = try World()
        try world.startBus()
        let manager = try MockModemManager(world)
        manager.mock.define(
            "GetManagedObjects", "org.freedesktop.DBus.ObjectManager", takes: "", gives: "a{oa{sa{sv}}}",
            "raise dbus.exceptions.DBusException('no', name='org.freedesktop.DBus.Error.AccessDenied')")
        var changes: [Bool] = []
        let monitor = monitor(world) { changes.append($0) }
        world.runUntil { monitor.status.why?.contains("AccessDenied") == true }
        manager.addCall(1, state: 4)
        manager.addModem(0, calls: [1])
        world.runUntil { changes == [true] }
    }

    @Test("Without ModemManager, and with one that says other things, nothing wakes")
    func idle() throws {
        let world = try World()
        try world.startBus()
        let cause = WakeupCause("dbus-test")
        let monitor = monitor(world) { _ in Issue.record("a call of nobody") }
        let other = try world.startMock(
            ["org.example.Other", "/", "org.example.Other"], name: "org.example.Other", path: "/")
        world.settle()
        let before = world.loop.statistics.byCause[cause]
        for _ in 0..<20 {
            other.emit("StateChanged", MockModemManager.callInterface, "iiu", [.int32(1), .int32(4), .uint32(0)])
        }
        other.end()
        world.settle()
        #expect(world.loop.statistics.byCause[cause] == before)
        let manager = try MockModemManager(world)
        manager.addModem(0)
        world.runUntil { monitor.status.modems == 1 }
        world.settle()
        let calm = world.loop.statistics.byCause[cause]
        for quality in UInt32(0)..<20 {
            manager.mock.emit(
                "PropertiesChanged", "org.freedesktop.DBus.Properties", "sa{sv}as",
                [
                    .string("\(MockModemManager.service).Modem"), .properties(["SignalQuality": .uint32(quality)]),
                    .strings([]),
                ], at: MockModemManager.modem(0))
        }
        world.settle()
        #expect(world.loop.statistics.byCause[cause] == calm)
    }

    @Test("Without a bus there is no call")
    func noBus() throws {
        let world = try World()
        let monitor = CellularMonitor(logger: world.logger, systemBus: world.absentService())
        monitor.start()
        monitor.start()
        world.settle()
        #expect(monitor.status == CellularMonitor.Status())
        monitor.close()
        monitor.close()
    }
}
