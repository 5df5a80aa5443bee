import DBus
import Testing

@testable import DeviceServices

private typealias ModemProperties = KeyValuePairs<String, DBusValue>

@Suite("What ModemManager says of networks")
struct ModemNetworkTests {
    private static let path = "/org/freedesktop/ModemManager1/Modem/4"

    private func interfaces(_ modem: ModemProperties, _ network: ModemProperties? = nil) -> DBusValue {
        var entries = [(ModemNetworks.modem, DBusValue.properties(modem))]
        if let network { entries.append((ModemNetworks.network, .properties(network))) }
        return .dictionary("s", "a{sv}", entries.map { DBusEntry(key: .string($0.0), value: $0.1) })
    }

    private func network(_ properties: ModemProperties) -> ModemNetwork {
        var network = ModemNetwork(id: "0")
        network.take(network: .properties(properties))
        return network
    }

    @Test(
        "Of several technologies the newest counts",
        arguments: [
            (0, nil), (1, nil), (1 << 1, .gsm), (1 << 2, .gsm), (1 << 3, .gprs), (1 << 4 | 1 << 3, .edge),
            (1 << 5, .wcdma), (1 << 6 | 1 << 5, .hsdpa), (1 << 7, .hsupa), (1 << 7 | 1 << 6, .hspa), (1 << 8, .hspa),
            (1 << 9 | 1 << 8, .hspaPlus), (1 << 10, .cdma1x), (1 << 11, .evdoRev0), (1 << 12, .evdoRevA),
            (1 << 13, .evdoRevB), (1 << 14 | 1 << 9, .lte), (1 << 15, .nr), (1 << 15 | 1 << 14, .nrNSA),
            (1 << 16, .lteM), (1 << 17, .nbIoT), (1 << 30, nil), (.max, nil),
        ] as [(UInt32, AccessTechnology?)])
    func technologies(mask: UInt32, expected: AccessTechnology?) {
        #expect(AccessTechnology(mask: mask) == expected)
        var modem = ModemNetwork(id: "0")
        modem.take(modem: .properties(["AccessTechnologies": .uint32(mask)]))
        #expect(modem.technology == expected)
    }

    @Test(
        "Each registration has its word, also those for SMS only and without fallback",
        arguments: [
            (0, .notRegistered), (1, .home), (2, .searching), (3, .denied), (4, .unknown), (5, .roaming), (6, .home),
            (7, .roaming), (8, .emergencyOnly), (9, .home), (10, .roaming), (11, .emergencyOnly), (12, .unknown),
            (.max, .unknown),
        ] as [(UInt32, ModemNetwork.Registration)])
    func registrations(number: UInt32, expected: ModemNetwork.Registration) {
        #expect(network(["RegistrationState": .uint32(number)]).registration == expected)
    }

    @Test("The code is split, and what is no code is none")
    func codes() {
        let codes: [(String, String?, String?)] = [
            ("26201", "262", "01"), ("310260", "310", "260"), ("2620", nil, nil), ("2620123", nil, nil), ("", nil, nil),
            ("26 01", nil, nil), ("2620١", nil, nil),
        ]
        for (code, country, own) in codes {
            let found = network(["OperatorCode": .string(code)])
            #expect(found.countryCode == country && found.networkCode == own, "\(code)")
        }
        #expect(network(["OperatorCode": .uint32(26_201)]).countryCode == nil)
    }

    @Test("A name is cut, and what has another type is unknown")
    func names() {
        #expect(network(["OperatorName": .string(String(repeating: "é", count: 500))]).operatorName?.count == 64)
        #expect(network(["OperatorName": .string("")]).operatorName == nil)
        #expect(network(["OperatorName": .bool(true)]).operatorName == nil)
        #expect(network(["RegistrationState": .string("home")]).registration == .unknown)
    }

    @Test("Modems come, change and go; a network that goes leaves its modem")
    func table() {
        var networks = ModemNetworks()
        networks.add(Self.path, interfaces: interfaces(["AccessTechnologies": .uint32(1 << 14)]))
        #expect(networks.all.map(\.id) == ["4"] && networks.all.first?.registration == .unknown)
        networks.add(
            Self.path,
            interfaces: interfaces([:], ["OperatorName": .string("Example"), "RegistrationState": .uint32(1)]))
        #expect(networks.all.first?.technology == .lte && networks.all.first?.operatorName == "Example")
        networks.change(Self.path, ModemNetworks.network, .properties(["RegistrationState": .uint32(5)]))
        networks.change(Self.path, "org.example.Other", .properties(["OperatorName": .string("Wrong")]))
        networks.change("/elsewhere", ModemNetworks.modem, .properties(["AccessTechnologies": .uint32(8)]))
        #expect(networks.all.first?.registration == .roaming && networks.all.first?.operatorName == "Example")
        networks.remove(Self.path, interfaces: [ModemNetworks.network])
        #expect(networks.all == [ModemNetwork(id: "4")])
        networks.remove(Self.path, interfaces: ["x.y", ModemNetworks.modem])
        #expect(networks.all.isEmpty)
    }

    @Test("Paths that are no modem's, and too many, are left out")
    func bounds() {
        var networks = ModemNetworks()
        let some = interfaces([:])
        for path in [
            "/org/freedesktop/ModemManager1/Modem/", "/org/freedesktop/ModemManager1/Modem/1/2",
            "/org/freedesktop/ModemManager1/Call/1",
            "/org/freedesktop/ModemManager1/Modem/" + String(repeating: "1", count: 33),
        ] { networks.add(path, interfaces: some) }
        #expect(networks.all.isEmpty)
        for number in 0..<100 { networks.add("/org/freedesktop/ModemManager1/Modem/\(number)", interfaces: some) }
        #expect(networks.all.map(\.id) == (0..<CellularMonitor.maximumModems).map { "\($0)" })
    }
}

@Suite("Networks of modems, against python-dbusmock") struct ModemNetworkMonitorTests {
    private static let modem = MockModemManager.modem(1)

    private func announce(_ manager: MockModemManager, _ mask: UInt32) {
        manager.announce(
            Self.modem,
            [
                (ModemNetworks.modem, .properties(["AccessTechnologies": .uint32(mask)])),
                (ModemNetworks.network, .properties(["RegistrationState": .uint32(1)])),
            ])
    }

    private func change(_ manager: MockModemManager, _ properties: ModemProperties, _ outdated: [String] = []) {
        manager.mock.emit(
            "PropertiesChanged", "org.freedesktop.DBus.Properties", "sa{sv}as",
            [.string(ModemNetworks.modem), .properties(properties), .strings(outdated)], at: Self.modem)
    }

    @Test("They are followed only when that is wanted, and then a change of the signal changes nothing")
    func followed() throws {
        let world = try World()
        try world.startBus()
        let manager = try MockModemManager(world)
        let monitor = CellularMonitor(logger: world.logger, systemBus: world.service())
        var told: [[ModemNetwork]] = []
        monitor.onNetworks = { told.append($0) }
        monitor.start()
        world.runUntil { monitor.status.isServicePresent }
        announce(manager, 1 << 14)
        world.settle()
        #expect(told.isEmpty && monitor.networks.isEmpty)
        monitor.followsNetworks = true
        world.settle()
        announce(manager, 1 << 14)
        world.runUntil { told.count == 1 }
        #expect(told[0].map(\.technology) == [.lte] && monitor.networks == told[0])
        change(manager, ["SignalQuality": .uint32(40)])
        change(manager, ["AccessTechnologies": .uint32(1 << 15)])
        world.runUntil { told.count == 2 }
        #expect(told[1].map(\.technology) == [.nr])
        monitor.followsNetworks = false
        #expect(monitor.networks.isEmpty)
        change(manager, ["AccessTechnologies": .uint32(1 << 14)])
        world.settle()
        #expect(told.count == 2)
        monitor.followsNetworks = true
        announce(manager, 1 << 5)
        world.runUntil { told.count == 3 }
        manager.mock.end()
        world.runUntil { told.count == 4 }
        #expect(told[3].isEmpty)
        monitor.close()
    }

    @Test("A property that is only said to have changed is asked for")
    func outdated() throws {
        let world = try World()
        try world.startBus()
        let manager = try MockModemManager(world)
        let monitor = CellularMonitor(logger: world.logger, systemBus: world.service())
        monitor.followsNetworks = true
        var told: [[ModemNetwork]] = []
        monitor.onNetworks = { told.append($0) }
        monitor.start()
        world.runUntil { monitor.status.isServicePresent }
        world.settle()
        announce(manager, 1 << 14)
        world.runUntil { told.count == 1 }
        change(manager, [:], ["SignalQuality"])
        world.settle()
        #expect(told.count == 1)
        // The mock has no modem to say.
        change(manager, [:], ["AccessTechnologies"])
        world.runUntil { told.count == 2 }
        #expect(told[1].isEmpty)
    }

    @Test("All who ask at once get one answer; nobody gets one of a ModemManager that has gone, or none")
    func asked() throws {
        let world = try World()
        try world.startBus()
        let monitor = CellularMonitor(logger: world.logger, systemBus: world.service(), timeout: .milliseconds(300))
        var answers: [Result<[ModemNetwork], DBusError>] = []
        monitor.readNetworks { answers.append($0) }
        #expect(answers == [.success([])])
        let manager = try MockModemManager(world)
        monitor.start()
        world.runUntil { monitor.status.isServicePresent }
        world.settle()
        for _ in 0..<5 { monitor.readNetworks { answers.append($0) } }
        world.runUntil { answers.count == 6 }
        #expect(answers.allSatisfy { $0 == .success([]) })
        manager.mock.define(
            "GetManagedObjects", "org.freedesktop.DBus.ObjectManager", takes: "", gives: "a{oa{sa{sv}}}",
            "import time; time.sleep(1); ret = dbus.Dictionary({}, signature='oa{sa{sv}}')")
        monitor.readNetworks { answers.append($0) }
        world.runUntil { answers.count == 7 }
        guard case .failure(let error) = answers[6] else {
            Issue.record("an answer of nobody")
            return
        }
        #expect(error.name == DBusError.noReply)
        monitor.readNetworks { answers.append($0) }
        manager.mock.end()
        world.runUntil { answers.count == 8 }
    }
}
