@testable import ControlProtocol

/// What apps and the device bring into the messages: ways to wake, strikes, state, services of the device.
enum DeviceSamples {
    static let all: [(path: String, message: any Encodable & Sendable)] = [
        ("AppMessage/struck-out", struckOut), ("AppMessage/connected", connected),
        ("AppStateMessage/kept", AppStateMessage(app: "com.example.phone", bytes: 512)),
        ("AppResetMessage/two", AppResetMessage(app: "com.example.phone", calls: 2, handlers: 1, bytes: 2048)),
        ("AppMessage/saved", saved),
        ("StatusMessage/device", status),
    ]

    static let struckOut = AppMessage(
        app: "com.example.phone", topic: "com.example.phone.voip", way: "transient", wake: "/usr/bin/phone-handler",
        exec: ["/usr/bin/phone-handler"], instances: "call", payload: "flexisip",
        strikes: StrikesMessage(
            count: 2, limit: 2, windowMs: 3_600_000, struckOut: true,
            recent: [
                StrikeMessage(agoMs: 61_000, failure: "didNotReport", call: "c1"),
                StrikeMessage(agoMs: 1000, failure: "didNotClaim", call: "c2"),
            ]),
        level: 17, teams: ["TEAM123456", "TEAM654321"], state: "registered",
        tokens: ["production": String(repeating: "0f", count: 32)],
        file: "/etc/ringwake/apps.d/com.example.phone.toml")

    private static let connected = AppMessage(
        app: "com.example.phone", topic: "com.example.phone.voip", way: "dbus", wake: "org.example.Phone (session)",
        exec: [], connected: 1,
        kits: [KitMessage(PeerVersion(version: "0.0.9", features: ["actions", "teleport"]))],
        strikes: StrikesMessage(limit: 5, windowMs: 3_600_000), state: "registered",
        tokens: [:], file: "/etc/ringwake/apps.d/com.example.phone.toml")

    private static let saved: AppMessage = {
        var app = AppMessage(
            app: "com.example.phone", topic: "com.example.phone.voip", exec: ["/usr/bin/phone"],
            file: "/etc/ringwake/apps.d/com.example.phone.toml")
        app.vendor = "com.example.*"
        app.vendorIdentifier = "7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11"
        app.savedState = SavedStateMessage(
            bytes: 512, crashes: 1, droppedAt: "2026-11-21T18:58:52.123Z", droppedBy: "crashed")
        return app
    }()

    static let status: StatusMessage = {
        var status = MessageSamples.status(
            .init(file: "/var/lib/ringwake/store.db", state: "working", pushes: 8, calls: 7, bytes: 40_960))
        status.role = "device"
        status.struckOut = ["com.example.phone"]
        status.doNotDisturb = .init(state: "scheduled", active: true)
        status.awake = .init(needed: true, by: "kernel", why: "logind is not there")
        status.cellular = .init(state: "watching", active: true)
        status.ring = .init(
            ringing: 1, why: "the ring command exited with status 1",
            problems: ["'ring.command': /usr/bin/play: there is no such file; install it, or correct the path"])
        status.audio = .init(backend: "program", state: "connected", sessions: 1, call: true)
        status.restoration = .init(restored: 3, setAside: 1, why: "it is of a newer version, 9")
        status.journal.gaveWay = 512
        status.journal.damagedRecords = 2
        status.clock = .init(
            state: "behind", why: "the newest push is of 2027-11-23T22:00:00Z; every push is answered 503 until then",
            until: "2027-11-23T21:59:00Z")
        status.damage = [
            .init(
                why: "/var/lib/ringwake/tokens.json was damaged (it is empty); its second copy is used",
                files: ["/var/lib/ringwake/damaged/1-tokens.json", "/var/lib/ringwake/damaged/1.why"])
        ]
        status.identity = .init(state: "copied", why: "the identity was made on another machine")
        status.protection = .init(
            state: "locked", why: "run 'ringwake protection unlock'", protectedDataAvailable: false)
        status.buses = [
            "system": .init(state: "connected"),
            "session": .init(state: "unavailable", why: "there is no $DBUS_SESSION_BUS_ADDRESS"),
        ]
        return status
    }()
}
