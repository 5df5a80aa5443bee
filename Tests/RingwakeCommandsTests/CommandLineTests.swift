import ArgumentParser
import ControlProtocol
import RingwakeCore
import Testing

@testable import RingwakeCommands

@Suite("Command line")
struct CommandLineTests {
    @Test("help, version and completion scripts go to standard output with status 0")
    func helpSucceeds() {
        for arguments in [
            ["--help"], ["push", "--help"], ["dnd", "--help"], ["dnd", "schedule", "add", "--help"], ["block"],
            ["push", "send", "--help"], ["--version"], ["app"],
            ["--generate-completion-script", "zsh"],
        ] {
            let ran = ringwake(arguments)
            #expect(ran.status == 0 && !ran.output.isEmpty && ran.errors.isEmpty, "\(arguments)")
        }
    }

    @Test(
        "a command line that makes no sense exits with 2 and says why on standard error",
        arguments: [
            ["bogus"], ["status", "--bogus"], ["push"], ["push", "--token", "a", "--app", "com.example"],
            ["push", "--token", "a", "--key", "k.p8"], ["push", "--token", "a", "--key", "k.p8", "--team", "T"],
            ["push", "--token", "a", "--cert", "c", "--key", "k"], ["push", "--token", "a", "--password-file", "p"],
            ["push", "--token", "a", "--payload", "-", "--data", "{}"], ["push", "--token", "a", "--count", "0"],
            ["push", "--token", "a", "--port", "0"], ["push", "--token", "a", "--port", "70000"],
            ["push", "--token", "a", "--host", "127.0.0.1:2197"], ["push", "--token", "a", "--host", "name:443"],
            ["push", "--token", "a", "--connect-to", "x:443:y"], ["push", "--token", "a", "--expires", "soon"],
            ["push", "--token", "a", "--count", "2", "--trace"], ["watch", "--count", "0"],
            ["watch", "--timeout", "-1s"], ["app", "add", "../etc", "--exec", "/bin/true"],
            ["push", "list", "--limit", "0"], ["push", "list", "--limit", "501"], ["push", "list", "--before", "0"],
            ["push", "show"], ["call", "list", "--limit", "-1"], ["call", "list", "--missed", "yes"],
            ["call", "fulfill"], ["call", "fulfill", "jump"], ["call", "ended", "--reason", "bored"],
            ["call", "update"], ["call", "update", "C1"],
            ["call", "fulfill", "a", "b", "end"], ["reachability", "http://example.org"], ["reachability", "a b"],
            ["reachability", "192.0.2.1,2001:db8::1"], ["reachability", "--path", "any"],
            ["reachability", "--local", "--socket", "/x"], ["reachability", "192.0.2.1:5060"],
            ["reachability"] + Array(repeating: "any", count: 65), ["power", "now"],
            ["call", "answer", "C1", "--end-others", "--hold-others"], ["call", "dtmf"], ["call", "dtmf", "C1", "12x"],
            ["call", "dtmf", "C1", ""], ["call", "dtmf", String(repeating: "1", count: 33)],
            ["app", "add", "com.example"], ["app", "add", "com.example", "--exec", "/bin/true", "--unit", "a.service"],
            ["app", "add", "com.example", "--unit", "a.service", "--way", "unit"],
            ["app", "add", "com.example", "--dbus", "org.example", "--path", "x"],
            ["app", "add", "com.example", "--connected", "--bus", "system"],
            ["app", "add", "com.example", "--handler-socket", "x"],
            ["app", "add", "com.example", "--dbus", "org.example", "--manager", "user"],
            ["app", "add", "com.example", "--exec", "/bin/true", "--level", "-1"],
            ["app", "add", "com.example", "--exec", "/bin/true", "--level", "22"],
            ["app", "show", "com.example", "--team", "T"], ["app", "state", "com.example", "--put", "x", "--clear"],
            ["app", "connect", "com.example", "--count", "0"], ["dnd", "on", "--for", "1h", "--until", "07:00"],
            ["dnd", "on", "--until", "24:00"], ["dnd", "on", "--until", "7"], ["dnd", "on", "--for", "0"],
            ["dnd", "repeat"], ["dnd", "repeat", "2h"], ["dnd", "repeat", "never"], ["dnd", "allow"],
            ["dnd", "schedule", "add"], ["dnd", "schedule", "add", "someday", "1-2"], ["block", "add"],
            ["block", "add", "*"], ["block", "add", "1", "--list", "a/b"], ["block", "add", "1", "--list", "check"],
            ["block", "add", "+491", "--identify"], ["block", "remove"],
            ["block", "remove", "1", "--all", "--list", "a"],
            ["block", "remove", "--all"], ["block", "list", "--all"], ["block", "list", "a", "--limit", "0"],
            ["block", "check"], ["block", "import"], ["block", "import", "/x", "--refresh"],
            ["block", "import", "/x", "--format", "xml"], ["block", "import", "--refresh", "--identify"],
        ])
    func usageErrors(arguments: [String]) {
        let ran = ringwake(arguments)
        #expect(ran.status == 2)
        #expect(ran.output.isEmpty)
        #expect(ran.errors.hasPrefix("ringwake: "))
        #expect(!ran.errors.contains("Error:"))
    }

    @Test("with --json a usage error is one line of JSON on standard error")
    func usageErrorAsJSON() {
        let ran = ringwake(["push", "--json"])
        #expect(ran.status == 2)
        #expect(ran.errors.hasPrefix(#"{"error":"invalid-request","message":""#))
        #expect(ran.errors.hasSuffix("\n") && ran.errors.count { $0 == "\n" } == 1)
    }

    @Test("without a daemon the status is 3, and the message names the socket and how to start one")
    func daemonNotRunning() {
        let ran = ringwake(["status", "--socket", "/nowhere/control.sock"])
        #expect(ran.status == 3)
        #expect(ran.errors.contains("'/nowhere/control.sock'") && ran.errors.contains("start 'ringwaked'"))
        let json = ringwake(["status", "--socket", "/nowhere/control.sock", "--json"])
        #expect(json.status == 3 && json.output.isEmpty)
        #expect(json.errors.hasPrefix(#"{"error":"daemon-not-running""#))
    }

    @Test("a socket path that no address can hold is refused")
    func longSocketPath() {
        #expect(ringwake(["status", "--socket", "/" + String(repeating: "x", count: 200)]).status == 2)
    }

    @Test("every refusal of the daemon becomes the exit status of its code")
    func exitStatusOfEachCode() {
        for code in RingwakeError.Code.all {
            let daemon = FakeDaemon { _ in
                .json(status: code.httpStatus, #"{"schema":1,"error":"\#(code.slug)","message":"it is so; do this"}"#)
            }
            let ran = ringwake(["status"], at: daemon)
            #expect(ran.status == code.exitStatus, "\(code.slug)")
            #expect(ran.errors == "ringwake: it is so; do this\n")
        }
    }

    @Test("arguments after -- and by --arg reach the program in order")
    func programArguments() throws {
        let command = try #require(
            try RingwakeCommand.parseAsRoot([
                "app", "add", "com.example.phone", "--exec", "/bin/true", "--arg", "--first", "--", "--json", "x y",
            ]) as? AppAddCommand)
        #expect(command.wake.arguments == ["--first"])
        #expect(command.wake.remaining == ["--json", "x y"])
        #expect(!command.wantsJSON)
    }

    @Test("durations are read with their units and bounded")
    func durations() {
        for (text, duration) in [
            ("30s", Duration.seconds(30)), ("500ms", .milliseconds(500)), ("2m", .seconds(120)),
            ("2min", .seconds(120)),
            ("0", .zero),
        ] {
            #expect((try? DurationArgument(parsing: text))?.duration == duration, "\(text)")
        }
        let bad = [
            "", "s", "-1s", "1.5s", "1w", "5", "99999999999999999999", "9223372036854775807h", "400d", "٣s", "min",
        ]
        for text in bad {
            #expect(throws: ValidationError.self, "\(text)") { try DurationArgument(parsing: text) }
        }
    }

    @Test(
        "a duration without a unit is refused wherever one is taken, and the error names durations with a unit",
        arguments: [
            ["dnd", "on", "--for", "5"], ["dnd", "repeat", "5"], ["watch", "--timeout", "5"],
            ["push", "--token", "a", "--timeout", "5"], ["push", "--token", "a", "--expires", "5"],
            ["push", "--token", "a", "--trace-timeout", "5"], ["reachability", "--local", "--loss-hold", "5"],
            ["app", "connect", "com.example", "--timeout", "5"],
        ])
    func durationWithoutUnit(arguments: [String]) {
        let ran = ringwake(arguments)
        #expect(ran.status == 2 && ran.errors.contains("5m") && ran.errors.contains("5h"), "\(ran.errors)")
    }

    @Test("--socket and --json may stand before the command")
    func optionsBeforeTheCommand() {
        let before = CommandTree.arranged
        #expect(before(["--socket", "/s", "call", "list", "-x"]) == ["call", "list", "--socket", "/s", "-x"])
        #expect(before(["--socket=/s", "--json", "dnd"]) == ["dnd", "--socket=/s", "--json"])
        #expect(before(["status", "--socket", "/s"]) == ["status", "--socket", "/s"])
        #expect(before(["--socket", "/s", "call"]) == ["call"])
        #expect(before(["--socket"]) == ["--socket"])
        let ran = ringwake(["--socket", "/nowhere/control.sock", "--json", "call", "show", "7b0e"])
        #expect(ran.status == 3 && ran.errors.contains("'/nowhere/control.sock'") && ran.errors.hasPrefix("{"))
        #expect(ringwake(["--socket", "/s", "call"]).output.contains("SUBCOMMANDS"))
    }

    @Test(
        "a mistyped command is named, with the one that was probably meant",
        arguments: [
            (["call", "anwser"], "'anwser' is not a command of 'ringwake call'; did you mean 'answer'?"),
            (["stauts"], "'stauts' is not a command of 'ringwake'; did you mean 'status'?"),
            (["reach", "any"], "'reach' is not a command of 'ringwake'; did you mean 'reachability'?"),
            (["dnd", "onn"], "'onn' is not a command of 'ringwake dnd'; did you mean 'on'?"),
            (["dnd", "schedule", "ad", "daily"], "of 'ringwake dnd schedule'; did you mean 'add'?"),
            (["answer", "7b0e"], "'answer' is not a command of 'ringwake'; did you mean 'ringwake call answer'?"),
            (["anwser"], "'anwser' is not a command of 'ringwake'; did you mean 'ringwake call answer'?"),
            (["nonsense"], "'nonsense' is not a command of 'ringwake'; 'ringwake --help' lists the commands"),
            (["--socket", "/s", "call", "hlod"], "did you mean 'hold'?"),
            (["call", "list", "--mised"], "'--mised'. Did you mean '--missed'?"),
        ])
    func mistypedCommand(arguments: [String], says: String) {
        let ran = ringwake(arguments)
        #expect(ran.status == 2 && ran.output.isEmpty && ran.errors.contains(says), "\(ran.errors)")
        let json = ringwake(arguments + ["--json"])
        #expect(json.status == 2 && json.errors.contains(says), "\(json.errors)")
    }

    @Test("the socket is the option's, then the environment's, then whichever is there")
    func socketPath() {
        let find = { (option: String?, variables: [String: String], user: UInt32, present: [String]) in
            ControlSocketPath.find(
                option: option, environment: { variables[$0] }, userID: user, exists: present.contains)
        }
        let own = "/run/user/7/ringwake/control.sock"
        let system = "/run/ringwake/control.sock"
        let session = ["XDG_RUNTIME_DIR": "/run/user/7"]
        #expect(find("/a", ["RINGWAKE_SOCKET": "/b"], 0, []) == "/a")
        #expect(find(nil, ["RINGWAKE_SOCKET": "/b"], 0, [system]) == "/b")
        #expect(find(nil, session, 0, [system, own]) == system)
        #expect(find(nil, session, 0, [own]) == own)
        #expect(find(nil, session, 0, []) == system)
        #expect(find(nil, session, 7, [system, own]) == own)
        #expect(find(nil, session, 7, [system]) == system)
        #expect(find(nil, [:], 7, []) == own)
    }

    @Test("ids are percent-encoded, so that none leads to another path")
    func targets() {
        #expect(RequestTarget("calls", "a/b?c%d e", "end").text == "/v1/calls/a%2Fb%3Fc%25d%20e/end")
        #expect(RequestTarget("calls", "..").text == "/v1/calls/%2E.")
        #expect(
            RequestTarget("events", query: [("app", nil), ("call", "ü&x")]).text == "/v1/events?call=%C3%BC%26x")
    }
}
