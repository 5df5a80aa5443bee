import DBus
import RingwakeCore
import Testing

@testable import HandlerActivation

@Suite struct UnitNameTests {
    @Test(
        "An id is escaped as systemd-escape does",
        arguments: [
            ("6f1b", "6f1b"), ("a/b", "a-b"), ("a-b", #"a\x2db"#), (#"a\b"#, #"a\x5cb"#), (".a.b", #"\x2ea.b"#),
            ("a@b:c_d", #"a\x40b:c_d"#), ("ü %i\n", #"\xc3\xbc\x20\x25i\x0a"#), ("/", "-"), ("\u{0}", #"\x00"#),
        ])
    func escaping(id: String, expected: String) {
        #expect(UnitName.unit(of: "phone@.service", for: CallID(id)) == "phone@\(expected).service")
        #expect(UnitName.unit(of: "phone.service", for: CallID(id)) == "phone.service")
    }

    @Test("It is what the real systemd-escape says")
    func realEscape() throws {
        let id = (1...126).map { String(Unicode.Scalar(UInt8($0))) }.joined() + "äß€😀"
        let harness = try Harness()
        let process = try TestProcess(["/usr/bin/systemd-escape", "--", id], output: harness.path("out"))
        #expect(process.waitForEnd() == 0)
        let escaped = try #require(harness.line(in: "out"))
        #expect(UnitName.escaped(Array(id.utf8), upTo: 10_000) == escaped)
    }

    @Test("A long id is cut between two escapes, and told apart from others by a checksum", arguments: 200...300)
    func longIDs(length: Int) {
        let name = "phone@.service"
        for text in ["x", "-", "é"] {
            let id = String(repeating: text, count: length)
            let unit = UnitName.unit(of: name, for: CallID(id))
            #expect(UnitName.isValid(unit) && unit.utf8.count <= 255, "\(unit)")
            #expect(unit == UnitName.unit(of: name, for: CallID(id)), "the same each time")
            #expect(unit != UnitName.unit(of: name, for: CallID(id + "x")) || unit.utf8.count < 200)
            #expect(unit.wholeMatch(of: #/phone@(x|\\x[0-9a-f]{2})*(\.[0-9a-f]+)?\.service/#) != nil, "\(unit)")
        }
    }

    @Test("The name of a transient unit holds app and wake, is valid for the longest app, and new for each time")
    func transient() throws {
        let app = try #require(AppID(String(repeating: "a-", count: 99) + "b"))
        let name = UnitName.transient(app: app, wake: WakeID(number: .max), at: BootInstant(nanoseconds: .max))
        #expect(UnitName.isValid(name))
        #expect(name.hasPrefix("ringwake-a-a-"))
        let phone = try #require(AppID("com.example.phone"))
        let first = UnitName.transient(app: phone, wake: WakeID(number: 3), at: BootInstant(nanoseconds: 36))
        #expect(first == "ringwake-com.example.phone-3-10.service")
    }

    @Test(
        "What does not name a service is refused",
        arguments: [
            "", ".service", "phone", "phone.socket", "@.service", "@x.service", "a/b.service", "a b.service",
            "a@b@c.service", "a\u{0}.service", "ü.service", String(repeating: "x", count: 248) + ".service",
        ])
    func invalid(name: String) throws {
        #expect(!UnitName.isValid(name))
        let app = try #require(AppID("com.example.phone"))
        #expect(throws: RingwakeError.self) { try HandlerWay.unit(name, .user).check(of: app) }
    }

    @Test(
        "Services, templates and instances are names",
        arguments: ["phone.service", "phone@.service", "a@b\\x2d.service"])
    func valid(name: String) throws {
        try HandlerWay.unit(name, .system).check(of: try #require(AppID("com.example.phone")))
    }

    @Test("A unit's object has the path that systemd gives it")
    func objectPath() {
        #expect(
            SystemdBus.path(of: #"a-b@\x2d.service"#)
                == "/org/freedesktop/systemd1/unit/a_2db_40_5cx2d_2eservice")
    }
}

@Suite struct TransientServiceTests {
    private func names(_ manager: SystemdManager, user: UInt32) throws -> [String: DBusValue] {
        let service = TransientService(
            command: ["/bin/true"], request: try makeRequest(call: "a\nb", payload: []), socketPath: "/s",
            runsAs: TransientService.runsAs(manager, user: user, group: 7))
        let fields = (service.properties(input: 0).elements ?? []).compactMap(\.elements)
        return Dictionary(uniqueKeysWithValues: fields.map { ($0[0].text ?? "", $0[1].unwrapped) })
    }

    @Test("A daemon that is not root starts nobody as root: a service of the system's manager runs as the daemon does")
    func runsAsTheDaemon() throws {
        let properties = try names(.system, user: 999)
        #expect(properties["User"]?.text == "999" && properties["Group"]?.text == "7")
        #expect(try names(.system, user: 0)["User"] == nil)
        #expect(try names(.user, user: 999)["User"] == nil)
    }

    @Test("An id with a control character, which systemd refuses, is left out of the environment")
    func environment() throws {
        let variables = try names(.user, user: 999)["Environment"]?.elements?.compactMap(\.text)
        #expect(variables == ["RINGWAKE_SOCKET=/s", "RINGWAKE_APP=com.example.phone"])
    }
}

@Suite struct PeerUnitTests {
    private func unit(_ text: String, _ manager: SystemdManager, user: UInt32 = 1000) -> String? {
        PeerUnits.unit(inGroups: Array(text.utf8), manager: manager, user: user)
    }

    private static let own = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/phone@6f1b.service\n"

    @Test("A process is in the unit whose cgroup it is in, or one below it")
    func found() {
        #expect(unit("0::/system.slice/phone.service\n", .system) == "phone.service")
        #expect(unit("0::/phone.service", .system) == "phone.service")
        #expect(
            unit("0::/system.slice/system-phone.slice/phone@6.service/inner/x.service\n", .system) == "phone@6.service")
        #expect(unit(Self.own, .user) == "phone@6f1b.service")
        #expect(unit("12:pids:/x\n1:name=systemd:/system.slice/phone.service\n0::/\n", .system) == "phone.service")
    }

    @Test("A group that somebody else could have made is none: below a service, or below another user's manager")
    func forged() {
        #expect(unit("0::/user.slice/user-1001.slice/user@1001.service/app.slice/phone@6f1b.service\n", .user) == nil)
        #expect(unit(Self.own, .system) == "user@1000.service")
        #expect(unit(Self.own, .user, user: 0) == nil)
        #expect(unit("0::/user.slice/user-1000.slice/session-1.scope/phone.service\n", .system) == nil)
        #expect(unit("0::/../phone.service\n", .system) == nil)
        #expect(unit("0::/user@1000.service/container.scope/phone.service\n", .user) == nil)
        #expect(
            unit("5:cpu:/system.slice/phone.service\n", .system) == nil, "another hierarchy, which is not systemd's")
        #expect(unit("x0::/phone.service\n3:name=systemd:/\n", .system) == nil)
    }

    @Test(
        "What is no list of groups names no unit",
        arguments: ["", "\n\n", "0", "0:", "0::", "0::/", "::\n", "0::relative"])
    func nonsense(text: String) {
        #expect(unit(text, .system) == nil)
        #expect(unit(text, .user) == nil)
    }
}
