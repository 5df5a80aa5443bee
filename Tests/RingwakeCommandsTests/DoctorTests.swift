import ControlProtocol
import FoundationEssentials
import RingwakeCore
import RunLoop
import Testing

@testable import RingwakeCommands

@Suite("The doctor's judgement")
struct DoctorTests {
    private func facts(_ change: (inout DoctorFacts) -> Void = { _ in }) throws -> DoctorFacts {
        var facts = DoctorFacts(now: 2_000_000_000, userID: 1000, file: "/c.toml")
        facts.status = try status()
        facts.configuration = configuration
        facts.ports = [
            PortLook(address: "0.0.0.0:8443", environment: "development", isLoopback: false, agreed: "TLSv1.3, h2")
        ]
        facts.store = StoreLook(directory: "/s", freeBytes: 1 << 40)
        change(&facts)
        return facts
    }

    private func status() throws -> StatusMessage {
        var status = try JSONDecoder().decode(StatusMessage.self, from: Data(Sample.status().utf8))
        status.connection?.status = "online"
        return status
    }

    private var configuration: ConfigurationMessage {
        var message = ConfigurationMessage(
            file: "/c.toml", stateDirectory: "/s", appsDirectory: "/a", teamsDirectory: "/t", controlSocket: "/x.sock",
            server: .init(certificate: "/c.pem", key: "/k.pem", providerCas: []),
            listeners: [.init(address: "0.0.0.0:8443", environment: "development")],
            teams: [
                .init(id: "TEAM123456", file: "/c.toml", topics: nil, keys: [.init(id: "K", file: nil, publicKey: "")])
            ],
            apps: ["com.example.phone"])
        message.handlers = [.init(app: "com.example.phone", way: "unit", target: "phone.service")]
        return message
    }

    private func report(_ change: (inout DoctorFacts) -> Void = { _ in }) throws -> DoctorReport {
        Doctor.examine(try facts(change))
    }

    private func bad(_ change: (inout DoctorFacts) -> Void) throws -> [String] {
        try report(change).findings.filter { $0.state != .ok }.map { "\($0.state) \($0.check): \($0.message)" }
    }

    @Test("A device that rings has no line but ok, and the exit status 0")
    func healthy() throws {
        let report = try report()
        #expect(report.findings.filter { $0.state != .ok } == [])
        #expect(report.state == .ok)
        #expect(report.exitStatus == .success)
        #expect(report.text(style: TextStyle(isEnabled: false)).hasPrefix("ok       configuration  /c.toml\n"))
    }

    @Test("The first problem decides the exit status, else a warning; a note doesn't")
    func exitStatus() throws {
        #expect(try report { $0.isClockKept = false }.exitStatus == .success)
        #expect(try report { $0.store?.freeBytes = 32 << 20 }.exitStatus == ExitStatus(code: 1))
        let notRunning = try report {
            $0.status = nil
            $0.statusError = RingwakeError(.daemonNotRunning, "no daemon runs")
        }
        #expect(notRunning.exitStatus == ExitStatus(code: 3))
        let wrong = try report {
            $0.status = nil
            $0.statusError = RingwakeError(.daemonNotRunning, "no daemon runs")
            $0.configuration?.startFailure = "line 3 is wrong"
            $0.configurationError = RingwakeError(.badConfiguration, "line 3 is wrong")
        }
        #expect(wrong.exitStatus == ExitStatus(code: 9))
        let aside = try report {
            $0.configuration?.setAside = [
                SetAsideMessage(file: "/a/b.toml", app: "b", team: nil, why: "line 4 is wrong", usesFormer: false)
            ]
            $0.configurationError = RingwakeError(.badConfiguration, "line 4 is wrong")
        }
        #expect(aside.exitStatus == ExitStatus(code: 9))
        #expect(aside.text(style: TextStyle(isEnabled: false)).contains("its handler is not started: line 4 is wrong"))
        let forbidden = try report {
            $0.status = nil
            $0.statusError = RingwakeError(.notPermitted, "this user may not use the socket")
        }
        #expect(forbidden.exitStatus == ExitStatus(code: 4))
    }

    @Test("Each fault has its line")
    func faults() throws {
        #expect(
            try bad {
                $0.now = 1_000_000_000; $0.builtAt = 1_900_000_000
            }
                == [
                    "problem clock: it is before the day when this program was built, so certificates and tokens look invalid"
                ])
        #expect(
            try bad {
                $0.configuration?.handlers = [.init(app: "com.example.phone", way: "dbus", target: "org.example.Phone")]
                $0.knownNames["org.example.Phone"] = false
            }.first?.contains("nobody owns org.example.Phone") == true)
        #expect(try bad { $0.store?.isReadOnly = true } == ["problem store: /s is on a read-only file system"])
        #expect(try bad { $0.store?.freeBytes = 1000 << 10 } == ["problem store: 1000 KiB are free in /s"])
        #expect(try bad { $0.status?.connection?.status = "offline" }.first?.contains("is offline") == true)
        #expect(
            try bad { $0.facilities = [.init(Facility(name: "pidfd", why: "Bad system call", loss: "x"))] }
                == ["note kernel: no pidfd (Bad system call)"])
        #expect(
            try bad { $0.facilities = [.init(Facility(name: "memfd", why: "no", loss: "x"))] }
                == ["note kernel: no memfd (no)"])
        #expect(
            try bad {
                $0.status?.doNotDisturb.state = "on"; $0.status?.doNotDisturb.active = true
            }
                == ["warning dnd: do not disturb is on (on), so calls do not ring now"])
        #expect(
            try bad { $0.status?.version = "9.9.9" } == ["note daemon: this is ringwake \(ProductVersion.current)"])
        #expect(
            try bad {
                $0.status?.journal.state = "failing"; $0.status?.journal.why = "the disk is full"
            }
                == ["problem store: pushes cannot be stored: the disk is full"])
    }

    @Test("A port that systemd holds on a device is said with what ends it")
    func unusedPort() throws {
        let report = try report {
            $0.status?.unusedPorts = [.init(address: "[::]:2197", environment: "production")]
            $0.ports = []
        }
        let finding = try #require(report.findings.first { $0.check == "ports" })
        #expect(finding.state == .warning && finding.message.hasPrefix("systemd holds [::]:2197 (production)"))
        #expect(finding.hint == "run 'systemctl disable --now ringwaked-production.socket'")
        let status = try #require(try facts { $0.status?.unusedPorts = [.init(address: "a", environment: "b")] }.status)
        #expect(StatusText.text(of: status, style: .init(isEnabled: false)).contains("not used: systemd holds a (b)"))
    }

    @Test("A gateway has one line: what is true, or what keeps devices and senders away")
    func gateway() throws {
        func line(_ change: (inout StatusMessage) -> Void) throws -> Finding {
            var status = try status()
            status.gateway = GatewayMessage(
                address: "0.0.0.0:8883", onPushPorts: false, admission: "invite", devices: 3, online: 2, waiting: 0,
                invitations: 0, linked: 0, unlinked: 0, refused: 0, acknowledged: 0, dropped: 0)
            status.gateway?.publicAddress = "push.example.com:8883"
            status.role = "gateway"
            change(&status)
            let found = try report { $0.status = status }.findings.filter { $0.check == "gateway" }
            #expect(found.count == 1)
            return try #require(found.first)
        }
        let fine = try line { _ in }
        #expect(fine.state == .ok)
        #expect(
            fine.message
                == "devices link to 0.0.0.0:8883, which they know as push.example.com:8883; 3 devices, 2 online")
        let onPushPorts = try line {
            $0.gateway?.address = nil
            $0.gateway?.onPushPorts = true
        }
        #expect(onPushPorts.state == .ok && onPushPorts.message.hasPrefix("devices link to the ports for pushes, "))
        let closed = try line { $0.gateway?.address = nil }
        #expect(closed.state == .problem && closed.message.hasPrefix("the port for links is not open"))
        let drained = try line { $0.gateway?.drainedMs = 90_000 }
        #expect(drained.state == .warning && drained.hint == "run 'ringwake gateway drain --off'")
        let unreachable = try line { $0.listeners = [] }
        #expect(unreachable.state == .problem && unreachable.message.hasPrefix("no port for pushes is open"))
        #expect(try line { $0.gateway = nil }.hint == "restart the daemon, and see its log")
        let failing = try line { ($0.gateway, $0.journal.state) = (nil, "failing") }
        #expect(failing.state == .problem && failing.hint == "see 'store' below")
    }

    @Test("A gateway is told nothing of ringing, and a device nothing of provider tokens")
    func roles() throws {
        func text(role: String) throws -> String {
            try report {
                $0.status?.role = role
                $0.status?.listeners = []
                $0.ports = []
                $0.configuration?.teams = []
                $0.status?.pushes.clocksBehindMs = ["TEAM123456": 90_000]
                ($0.isClockKept, $0.canStayAwake, $0.systemBusProblem) = (false, false, "no bus")
                $0.status?.connection = nil
                $0.status?.problems = [
                    .init(file: "/c.pem", .wrongNames, .warning, message: "no", hint: "run 'ringwake setup --host'")
                ]
            }.text(style: TextStyle(isEnabled: false))
        }
        let (gateway, device, both) = (try text(role: "gateway"), try text(role: "device"), try text(role: "both"))
        for words in ["call rings", "calls ring", "ringwake setup"] {
            #expect(!gateway.contains(words) && both.contains(words), "\(words)")
        }
        #expect(!device.contains("token") && both.contains("token") && gateway.contains("token"))
    }

    @Test("A client reset that waits for a person is a problem with its command")
    func waitingReset() throws {
        var link = LinkMessage(state: .linked)
        (link.gateway, link.problem) = ("push.example.com:8883", "registrations differ")
        link.reset = .init(code: "gateway-ahead", why: "why", mode: "manual", result: "waiting", at: "", copies: nil)
        let report = try report { $0.status?.link = link }
        let finding = try #require(report.findings.first { $0.check == "link" })
        #expect(finding.state == .problem && finding.hint?.hasPrefix("run 'ringwake link reset --now'") == true)
        let shown = LinkText.text(of: link, style: .init(isEnabled: false))
        #expect(shown.contains("waiting: why; run 'ringwake link reset --now'\n"))
    }

    @Test("A pin may be a CA's key: the device isn't told which")
    func pin() {
        var link = LinkMessage(state: .linked)
        (link.gateway, link.trust) = ("push.example.com:8883", "pin")
        #expect(LinkText.text(of: link, style: .init(isEnabled: false)).contains("trust    the pinned key or CA\n"))
    }

    @Test("The audio server counts where the daemon uses one")
    func audio() throws {
        #expect(try bad { $0.missingAudioSocket = "/run/user/1/pulse/native" }.count == 1)
        #expect(try bad { $0.audio = AudioStatusMessage(backend: "none", state: "off") } == [])
        #expect(
            try bad {
                $0.audio = AudioStatusMessage(backend: "program", state: "lost")
                $0.audio?.why = "it has ended"
            } == ["warning audio: the audio server is lost: it has ended"])
    }

    @Test("A missing bus matters to handlers that are woken over it")
    func bus() throws {
        #expect(
            try bad { $0.systemBusProblem = "nothing there" } == [
                "note bus: the system bus cannot be used: nothing there"
            ])
        let needed = try bad {
            $0.systemBusProblem = "nothing there"
            $0.configuration?.handlers[0].manager = "system"
        }
        #expect(needed.count == 1 && needed[0].hasPrefix("problem bus:"))
    }

    @Test("A handler that the system's daemon starts itself is in the daemon's sandbox")
    func sandbox() throws {
        let found = try bad {
            $0.file = "/etc/ringwake/ringwaked.toml"
            $0.status?.configuration = $0.file
            $0.unit = UnitLook(load: "loaded", active: "active", result: "success", exitStatus: "0")
            $0.configuration?.handlers[0].way = "exec"
        }
        #expect(found.count == 1 && found[0].hasPrefix("note handlers: the handler of com.example.phone runs in the"))
    }

    @Test("A handler's unit that systemd cannot start is named")
    func units() throws {
        func found(_ values: [String: String]) throws -> String? {
            let look = HandlerUnitLook(["LoadState": "loaded"].merging(values) { $1 })
            return try bad { $0.handlerUnits["phone.service"] = look }.first
        }
        func start(_ path: String) -> [String: String] {
            ["ExecStart": "{ path=\(path) ; argv[]=\(path) -a ; ignore_errors=no ; pid=0 }"]
        }
        for (values, text) in [
            (["LoadState": "not-found"], "systemd knows no unit phone.service"),
            (["LoadState": "masked"], "phone.service is masked"),
            (["LoadState": "bad-setting", "FragmentPath": "/p.service"], "(bad-setting): /p.service"),
            (["User": "no-such-user"], "there is no user no-such-user (User= in"),
            (["Group": "no-such-group"], "there is no group no-such-group (Group= in"),
            (start("/no/such/program"), "there is no program /no/such/program (ExecStart= in"),
            (start("/etc/passwd"), "/etc/passwd is not an executable file (ExecStart= in"),
        ] {
            #expect(try found(values)?.contains(text) == true, "\(values)")
        }
        let instance = HandlerUnitLook.instance
        for values in [
            start("/bin/sh"), start("sh"), start("/usr/bin/\(instance)-handler"), ["User": "0"], ["User": instance],
            ["User": "no-such-user", "DynamicUser": "yes"], start("/no/such").merging(["RootDirectory": "/srv"]) { $1 },
        ] {
            #expect(try found(values) == nil, "\(values)")
        }
    }

    @Test(
        "The names of units that the daemon may start are those of polkit's rule",
        arguments: [
            "ringwake-handler-phone@.service", "ringwake-handler-a.b_C-9@.service", "ringwake-handler-@.service",
            "ringwake-handler-phone.service", "phone@.service", "ringwake-handler-a:b@.service", "ringwaked.service",
        ])
    func unitNames(name: String) throws {
        let rules = try String(contentsOfFile: "deploy/polkit/50-ringwake.rules", encoding: .utf8)
        let line = try #require(rules.split(separator: "\n").first { $0.contains(".test(unit)") })
        let first = try #require(line.firstIndex(of: "^"))
        let last = try #require(line.firstIndex(of: "$"))
        // The rule sees the unit's instance.
        let unit = name.replacing("@.", with: "@call.")
        #expect(try HandlerUnitName.isAllowed(name) == (Regex(String(line[first...last])).wholeMatch(in: unit) != nil))
    }

    @Test("A daemon with another configuration is named")
    func otherConfiguration() throws {
        let found = try bad { $0.file = "/d.toml" }
        #expect(found == ["warning configuration: the running daemon uses another one: /c.toml"])
    }

    @Test("Problems of certificates are listed once, errors first")
    func certificates() throws {
        let soon = CredentialProblem(file: "/c.pem", .endsSoon, .warning, message: "soon", hint: "renew")
        let unreadable = CredentialProblem(file: "/k.pem", .unreadable, .error, message: "no", hint: "chmod")
        let found = try bad {
            $0.status?.problems = [soon]
            $0.configuration?.problems = [soon, unreadable]
        }
        #expect(found == ["problem certificates: /k.pem: no", "warning certificates: /c.pem: soon"])
    }

    @Test("What others wrote cannot control the terminal")
    func plain() {
        let report = DoctorReport([.problem("daemon", "a\u{1B}[31mb", hint: "c\u{202E}d")])
        #expect(report.text(style: TextStyle(isEnabled: false)) == "problem  daemon  a?[31mb\n                 c?d\n")
    }

    @Test("status shows the problems of certificates, and what the kernel offers")
    func shown() {
        let problem =
            #"{"file":"/c.pem","problem":"expired","severity":"error","message":"it expired","hint":"renew it"}"#
        let facility = #"{"name":"pidfd","available":false,"why":"Bad system call","loss":"nobody is followed"}"#
        let daemon = FakeDaemon { _ in .json(Sample.status(problems: problem, facilities: facility)) }
        #expect(ringwake(["status"], at: daemon).output.contains("\n  error: /c.pem: it expired; renew it\n"))
        let features = ringwake(["status", "--features"], at: daemon).output
        #expect(features.hasPrefix("pidfd   missing (Bad system call): nobody is followed\n"))
        #expect(features.contains("\nlogind  "))
        #expect(ringwake(["status", "--features", "--path"], at: daemon).status == 2)
    }
}
