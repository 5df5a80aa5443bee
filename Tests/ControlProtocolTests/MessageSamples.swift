@testable import ControlProtocol
import RingwakeCore
import RunLoop

/// One message of each shape that the control API knows, with made-up contents. `Tests/Fixtures/control-api` holds
/// each as its bytes, in a folder named for its schema in `Documentation/control-api.yaml`.
enum MessageSamples {
    /// By the path of the fixture, without `.json`.
    static let all: [(path: String, message: any Encodable & Sendable)] =
        calls + pushes + credentials + statuses + network + apps + requests + CallSamples.all + DeviceSamples.all
        + ScreeningSamples.all + AudioSamples.all + LinkSamples.all + EventSamples.all
        + ProtectionSamples.all

    static let ringing = CallMessage(
        call: "c1", app: "com.example.phone", topic: "com.example.phone.voip", environment: "production",
        team: "TEAM123456", state: "ringing", reason: nil, detail: nil, missed: false, pushId: "A-1",
        caller: "sip:alice@example.org", callerName: "Alice", video: true, attempt: 1, pid: 77, deadlineMs: 45_000,
        receivedAt: "2026-11-21T18:58:52.123Z",
        timeline: [
            Hop(stage: "received", atUs: 0), Hop(stage: "verified", atUs: 210), Hop(stage: "woke", atUs: 1310),
            Hop(stage: "journaled", atUs: 1900), Hop(stage: "rang", atUs: 120_000),
        ])

    static let missed = CallMessage(
        call: "c2", app: "com.example.phone", topic: "com.example.phone.voip", environment: "development",
        team: "TEAM123456", state: "ended", reason: "handlerFailed", detail: "the handler exited with status 1",
        missed: true, pushId: "A-2", caller: nil, callerName: nil, video: false, attempt: 2, pid: nil,
        deadlineMs: nil, receivedAt: "2026-11-21T18:58:52.000Z", timeline: [Hop(stage: "received", atUs: 0)])

    private static let calls: [(String, any Encodable & Sendable)] = [
        ("CallMessage/ringing", ringing), ("CallMessage/missed", missed),
        ("CallListMessage/page", CallListMessage(calls: [ringing, missed], next: 41)),
        (
            "CallListMessage/incomplete",
            CallListMessage(calls: [], incomplete: "the journal cannot be read: Input/output error")
        ),
    ]

    static let started = PushMessage(
        pushId: "A-1", app: "com.example.phone", topic: "com.example.phone.voip", environment: "production",
        team: "TEAM123456", priority: 10, collapseId: "room/1", call: "c1", outcome: "started", state: "missed",
        reason: "unanswered", detail: "nobody was there", attempt: 1, receivedAt: "2026-11-21T18:58:52.123Z",
        timeline: [Hop(stage: "received", atUs: 0), Hop(stage: "ended", atUs: 46_000_000)])

    private static let accepted = PushMessage(
        pushId: "A-2", app: "com.example.phone", topic: "com.example.phone.voip", environment: "development",
        team: "TEAM123456", priority: nil, collapseId: nil, call: "c2", outcome: "started", state: "accepted",
        reason: nil, detail: nil, attempt: 0, receivedAt: "2026-11-21T18:58:52.000Z",
        timeline: [Hop(stage: "received", atUs: 0)])

    private static let pushes: [(String, any Encodable & Sendable)] = [
        ("PushMessage/started", started), ("PushMessage/accepted", accepted),
        ("PushListMessage/page", PushListMessage(pushes: [started], next: 7)),
        ("PushListMessage/empty", PushListMessage(pushes: [])),
    ]

    private static let credentials: [(String, any Encodable & Sendable)] = [
        (
            "CredentialsMessage/both",
            CredentialsMessage(
                app: "com.example.phone", topic: "com.example.phone.voip", teams: ["TEAM123456"],
                credentials: [
                    .init(environment: "development", token: String(repeating: "0a", count: 32)),
                    .init(environment: "production", token: String(repeating: "f1", count: 32)),
                ])
        ),
        (
            "CredentialsMessage/vendor",
            CredentialsMessage(
                app: "com.example.phone", topic: "com.example.phone.voip", teams: [],
                credentials: [.init(environment: "production", token: String(repeating: "f1", count: 32))],
                vendorIdentifier: "7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11")
        ),
        (
            "CredentialsMessage/reached",
            CredentialsMessage(
                app: "com.example.phone", topic: "com.example.phone.voip", teams: ["TEAM123456"],
                credentials: [
                    .init(
                        environment: "development", token: String(repeating: "0a", count: 32),
                        host: "2001:db8::1", port: 2197),
                    .init(
                        environment: "production", token: String(repeating: "f1", count: 32),
                        host: "phone.example.org", port: 443,
                        certificateAuthorities: "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"),
                ])
        ),
        (
            "IdentityMessage/two",
            IdentityMessage(
                device: "0f5e2c1a-7a39-4f0b-9d5e-0f6c2e0f8c11", machine: "same",
                vendors: [
                    .init(
                        team: "TEAM123456", vendorIdentifier: "7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11",
                        apps: ["com.example.door", "com.example.phone"]),
                    .init(
                        prefix: "org.example", vendorIdentifier: "c0ffee00-6a39-4f0b-9d5e-0f6c2e0f8c11",
                        apps: ["org.example.radio"]),
                ])
        ),
        ("IdentityReset/keep", IdentityReset(keepTokens: true)),
    ]

    private static let network: [(String, any Encodable & Sendable)] = [
        ("PathMessage/satisfied", NetworkSamples.path), ("PathMessage/unsatisfied", NetworkSamples.noPath),
        ("TelephonyMessage/two", TelephonyMessage(modems: NetworkSamples.modems)),
        ("TelephonyMessage/none", TelephonyMessage(modems: [])),
        ("TargetMessage/reachable", NetworkSamples.reachable),
        ("TargetMessage/unreachable", NetworkSamples.unreachable),
        (
            "TargetListMessage/two",
            TargetListMessage(targets: [NetworkSamples.reachable, NetworkSamples.unreachable], networkNamespace: 5)
        ),
    ]

    static func status(
        _ journal: StatusMessage.Journal, reachability: ReachabilityMessage = NetworkSamples.working,
        path: PathMessage? = NetworkSamples.path, connection: ConnectionMessage? = NetworkSamples.online
    ) -> StatusMessage {
        var status = StatusMessage(
            version: "0.1.0", pid: 42, uptimeMs: 90_061_000, configuration: "/etc/ringwake/ringwaked.toml",
            appsDirectory: "/etc/ringwake/apps.d", stateDirectory: "/var/lib/ringwake",
            controlSocket: "/run/ringwake/control.sock",
            listeners: [.init(address: "[::]:8443", environment: "production", connections: 4)],
            serverCertificate: .init(
                file: "/etc/ringwake/server.pem", subject: "push.example.net", notAfter: 2_000_000_000,
                daysLeft: -1),
            apps: 6, activeCalls: 7,
            pushes: .init(
                accepted: 8, refused: ["BadDeviceToken": 9],
                lastRefused: .init(reason: "BadDeviceToken", agoMs: 2500, acceptedSince: 1)),
            journal: journal,
            reachability: reachability, path: path, connection: connection, strikes: ["com.example.phone": 2],
            wakeups: .init(total: 10, byCause: ["timer": 6, "journal": 4]))
        status.pushes.clocksBehindMs = ["TEAM123456": 600_000]
        status.problems = [
            CredentialProblem(
                file: "/etc/ringwake/server.pem", .expired, .error, message: "it expired on 2026-11-20T00:00:00Z",
                hint: "renew it")
        ]
        status.facilities = [
            FacilityMessage(
                Facility(name: "boottime-alarm", why: "Operation not permitted", loss: "the machine sleeps on")),
            FacilityMessage(Facility(name: "pidfd", why: nil, loss: "handlers are not followed")),
        ]
        return status
    }

    private static let unusedPort: StatusMessage = {
        var made = Self.status(.init(file: "/s/store.db", state: "working", pushes: 0, calls: 0, bytes: 0))
        made.unusedPorts = [.init(address: "[::]:2197", environment: "production")]
        return made
    }()

    private static let statuses: [(String, any Encodable & Sendable)] = [
        ("StatusMessage/unused-port", unusedPort),
        (
            "PublicStatusMessage/offline",
            PublicStatusMessage(
                version: "0.1.0", uptimeMs: 61_000,
                connection: ConnectionMessage(
                    ConnectionStatus(
                        network: .unusable(reason: "noRoute"), hasNameServer: false, isConstrained: false)),
                networkNamespace: 5)
        ),
        (
            "StatusMessage/working",
            status(.init(file: "/var/lib/ringwake/store.db", state: "working", pushes: 8, calls: 7, bytes: 40_960))
        ),
        (
            "StatusMessage/failing",
            status(
                .init(
                    file: "/var/lib/ringwake/store.db", state: "failing", why: "the disk is full; free some space",
                    sinceMs: 1500, pushes: 8, calls: 7, bytes: 40_960))
        ),
        (
            "StatusMessage/no-netlink",
            status(
                .init(file: "/var/lib/ringwake/store.db", state: "working", pushes: 8, calls: 7, bytes: 40_960),
                reachability: ReachabilityMessage(
                    failed: "reachability is not watched: socket failed: Operation not permitted",
                    wantedFilterLevel: 4),
                path: nil, connection: nil)
        ),
    ]

    private static let app = AppMessage(
        app: "com.example.phone", topic: "com.example.phone.voip", wake: "/usr/bin/phone-handler -v",
        exec: ["/usr/bin/phone-handler", "-v"], teams: ["TEAM123456"], state: "registered",
        tokens: ["development": String(repeating: "0f", count: 32)],
        file: "/etc/ringwake/apps.d/com.example.phone.toml", connection: NetworkSamples.limited)

    private static let delay = PushFaultMessage(
        environment: "development", fault: "delay", delayMs: 2000, after: 1, count: 3, forMs: 60_000)

    private static let faultyApp: AppMessage = {
        var app = Self.app
        app.faults = [delay]
        return app
    }()

    private static let linkedApp: AppMessage = {
        var app = Self.app
        (app.teams, app.gateway, app.onlyGateway) = ([], "push.example.com:8883", true)
        return app
    }()

    private static let reachedApp: AppMessage = {
        var app = Self.app
        app.pushAddresses = ["development": "phone.example.org:2197"]
        return app
    }()

    private static let removedApp = AppMessage(
        app: "com.example.phone", topic: "com.example.phone.voip", wake: "/usr/bin/phone-handler",
        exec: ["/usr/bin/phone-handler"], state: "unregistered", tokens: [:],
        file: "/etc/ringwake/apps.d/com.example.phone.toml")

    private static let apps: [(String, any Encodable & Sendable)] = [
        ("AppMessage/registered", app), ("AppMessage/linked", linkedApp), ("AppMessage/reached", reachedApp),
        ("AppMessage/unregistered", removedApp), ("AppMessage/faults", faultyApp),
        ("PushFaultMessage/reason", PushFaultMessage(fault: "BadDeviceToken")), ("PushFaultMessage/delay", delay),
        ("AppListMessage/one", AppListMessage(apps: [app])),
        ("ReloadMessage/reload", ReloadMessage(apps: ["com.example.phone"], needsRestart: ["listener"])),
        (
            "ReloadMessage/set-aside",
            ReloadMessage(
                apps: ["com.example.phone"], needsRestart: [],
                setAside: [
                    SetAsideMessage(
                        file: "/etc/ringwake/apps.d/com.example.phone.toml", app: "com.example.phone", team: nil,
                        why: "what is wrong", usesFormer: true)
                ], problems: ["'ring.command': /usr/bin/play: there is no such file"])
        ),
        ("StoreCopyLine/progress", StoreCopyLine(percent: 43)),
        (
            "StoreCopyLine/file",
            StoreCopyLine(percent: 100, file: "/var/lib/ringwake/store.copy", bytes: 94_208)
        ),
        (
            "StoreCopyLine/error",
            StoreCopyLine(error: ErrorMessage(error: "system", message: "there is no room for a copy of the store"))
        ),
        (
            "StoreMessage/migration",
            {
                var store = StoreMessage(
                    file: "/var/lib/ringwake/store.db", version: 7, currentVersion: 8, oldestVersion: 7, bytes: 94_208,
                    unusedBytes: 4_096, freeBytes: 1_000_000, rows: ["call": 6, "push": 6])
                store.migration = StoreMessage.Migration(
                    steps: [StoreMessage.Step(from: 7, to: 8, changes: ["push: the column 'language' is added"])],
                    seconds: 0.25, neededBytes: 94_208)
                store.damage = ["what is wrong"]
                return store
            }()
        ),
        (
            "RefusalListMessage/both",
            RefusalListMessage(
                refusals: [
                    RefusalMessage(
                        at: "2026-11-23T12:00:00.000Z", pushId: "7B0E2F2A-6A39-4F0B-9D5E-0F6C2E0F8C11",
                        peer: "192.0.2.7:40000", environment: "production", team: "DEVTEAM001",
                        reason: "InvalidProviderToken", cause: "what is wrong"),
                    RefusalMessage(
                        at: "2026-11-23T12:00:00.000Z", pushId: nil, peer: "192.0.2.7:40000",
                        environment: "development", team: nil, reason: "notTLS", cause: "what is wrong"),
                ])
        ),
        ("ErrorMessage/not-found", ErrorMessage(error: "not-found", message: "no call 'c9'")),
    ]

    private static let requests: [(String, any Encodable & Sendable)] = [
        (
            "CallReport/full",
            CallReport(caller: "sip:alice@example.org", callerName: "Alice", video: true, ring: true)
        ),
        (
            "CallReport/update",
            CallReport(
                caller: "sip:alice@example.org", callerName: "Alice", video: true, supportsHold: false,
                supportsDTMF: false, supportsMerge: true)
        ),
        ("CallReport/empty", CallReport()), ("ActionResult/answer", ActionResult(action: "answer")),
        ("CallEnding/elsewhere", CallEnding(reason: "answeredElsewhere")),
    ]
}
