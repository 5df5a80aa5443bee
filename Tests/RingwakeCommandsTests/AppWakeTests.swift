import Testing

@testable import RingwakeCommands

@Suite("How apps are woken, and their strikes")
struct AppWakeTests {
    @Test(
        "each way to wake is written as the file of the app has it, and nothing else",
        arguments: [
            (
                ["--exec", "/bin/true", "--way", "unit", "--manager", "user"],
                "exec = [\"/bin/true\"]\nway = \"unit\"\nmanager = \"user\"\n"
            ),
            (
                ["--unit", "phone@.service", "--instances", "call"],
                "unit = \"phone@.service\"\ninstances = \"call\"\n"
            ),
            (
                ["--dbus", "org.example.Phone", "--path", "/org/example", "--bus", "system"],
                "dbus = \"org.example.Phone\"\npath = \"/org/example\"\nbus = \"system\"\n"
            ),
            (["--dbus", "org.example.Phone"], "dbus = \"org.example.Phone\"\n"),
            (["--handler-socket", "/run/p h.sock"], "socket = \"/run/p h.sock\"\n"),
            (
                ["--connected", "--ringer", "daemon", "--fallback", "ring", "--when-busy", "reject", "--level", "17"],
                "connected = true\n\n[calls]\nringer = \"daemon\"\nfallback = \"ring\"\nwhen_busy = \"reject\"\n\n"
                    + "[restrictions]\nlevel = 17\n"
            ),
            (
                ["--connected", "--payload", "twilio", "--ringer", "app"],
                "connected = true\n\n[calls]\nringer = \"app\"\n\n[payload]\npreset = \"twilio\"\n"
            ),
        ] as [([String], String)])  // swift-format-ignore
    func ways(options: [String], lines: String) {
        let apps = TemporaryDirectory()
        let path = apps.path
        let daemon = FakeDaemon { line in
            line.hasPrefix("GET /v1/status")
                ? .json(Sample.status(appsDirectory: path))
                : .json(line.hasPrefix("POST") ? Sample.reload : Sample.app)
        }
        let ran = ringwake(["app", "add", "com.example.phone"] + options, at: daemon)
        #expect(ran.status == 0, "\(ran.errors)")
        #expect(apps.read("com.example.phone.toml")?.hasSuffix("\n[wake]\n" + lines) == true)
    }

    private static let struckOut =
        #"{"count":2,"limit":2,"windowMs":3600000,"struckOut":true,"recent":["#
        + #"{"agoMs":61000,"failure":"didNotReport","call":"c1"},{"agoMs":1000,"failure":"bored","call":"c2"}]}"#

    @Test("app show tells how the app is woken, and of each strike what it was for")
    func show() {
        let app = Sample.app(
            way: #""dbus","wake":"org.example.Phone (session)","exec":[]"#, strikes: Self.struckOut)
        let daemon = FakeDaemon { _ in .json(app) }
        let output = ringwake(["app", "show", "com.example.phone"], at: daemon).output
        for line in [
            "wake      dbus org.example.Phone (session)", "handlers  one for all calls", "teams     TEAM123456",
            "strikes   2 of 2 in 1 h 0 min: the daemon no longer starts its handler; "
                + "run 'ringwake app clear-strikes com.example.phone'",
            "          1 min ago: it did not report its call in time (call c1)", "          1 s ago: bored (call c2)",
        ] {
            #expect(output.contains("  \(line)\n"), "\(line) in \(output)")
        }
        #expect(!output.contains("exec"))
        let list = ringwake(["app", "list"], at: FakeDaemon { _ in .json(#"{"schema":1,"apps":[\#(app)]}"#) })
        #expect(
            list.output == """
                app                state       handler
                com.example.phone  struck out  dbus org.example.Phone (session)

                """)
    }

    @Test("clear-strikes deletes the strikes of the app")
    func clearStrikes() {
        let daemon = FakeDaemon { _ in .json(Sample.app) }
        let ran = ringwake(["app", "clear-strikes", "com.example.phone"], at: daemon)
        #expect(ran.status == 0 && ran.output.contains("com.example.phone"))
        #expect(daemon.requestLines == ["DELETE /v1/apps/com.example.phone/strikes HTTP/1.1"])
    }

    @Test("--pn prints the parameters of RFC 8599, for the only team and the only token")
    func contactParameters() {
        let app = Sample.app(teams: #""DEF123GHIJ""#, tokens: #""production":"00fc13adff78512""#)
        let daemon = FakeDaemon { _ in .json(app) }
        let ran = ringwake(["app", "show", "com.example.phone", "--pn"], at: daemon)
        // The form of the example in section 10.
        #expect(
            ran.output
                == "pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=00fc13adff78512\n")
        let json = ringwake(["app", "show", "com.example.phone", "--pn", "--json"], at: daemon).output
        #expect(json.contains(#""pnPrid" : "00fc13adff78512""#) && json.contains(#""environment" : "production""#))
    }

    @Test("--pn does not guess between teams and tokens, and says what to give")
    func contactParametersOfMany() {
        let show = { (app: String, options: [String]) in
            ringwake(["app", "show", "com.example.phone", "--pn"] + options, at: FakeDaemon { _ in .json(app) })
        }
        let many = Sample.app(teams: #""TEAMA","TEAMB""#)
        #expect(show(many, []).status == 1 && show(many, []).errors.contains("--team"))
        #expect(show(many, ["--team", "TEAMB"]).errors.contains("--environment"))
        #expect(
            show(many, ["--team", "TEAMB", "--environment", "development"]).output
                == "pn-provider=apns;pn-param=TEAMB.com.example.phone.voip;pn-prid=00ff\n")
        #expect(show(many, ["--team", "TEAMC"]).status == 5)
        #expect(show(many, ["--team", "A;pn-prid=x"]).status == 2)
        #expect(show(Sample.app(teams: ""), []).errors.contains("no team may push"))
        #expect(show(Sample.app(tokens: ""), []).errors.contains("no token"))
        let one = Sample.app(tokens: #""development":"00ff""#)
        #expect(show(one, ["--environment", "production"]).status == 5)
    }

    @Test("state reads, keeps and drops the app's octets")
    func state() {
        let directory = TemporaryDirectory()
        directory.write("a\tb", to: "state")
        directory.write(String(repeating: "x", count: 65_537), to: "large")
        let daemon = FakeDaemon { line in
            line.hasPrefix("GET")
                ? .json("octets") : .json(#"{"schema":1,"app":"com.example.phone","bytes":3}"#)
        }
        let variables = ["RINGWAKE_APP": "com.example.phone"]
        #expect(ringwake(["app", "state"], at: daemon, environment: variables).output == "octets")
        let put = ringwake(["app", "state", "--put", directory.path + "/state"], at: daemon, environment: variables)
        #expect(put.output == "com.example.phone: 3 bytes stored\n")
        #expect(daemon.requests[1].hasSuffix("\r\n\r\na\tb"))
        #expect(ringwake(["app", "state", "com.example.phone", "--clear"], at: daemon).status == 0)
        #expect(
            daemon.requestLines.map { $0.prefix { $0 != " " } } == ["GET", "PUT", "DELETE"])
        let large = ringwake(["app", "state", "a.b", "--put", directory.path + "/large"], at: daemon)
        #expect(large.status == 1 && large.errors.contains("65537 bytes"))
        #expect(ringwake(["app", "state"], at: daemon).status == 2)
        #expect(daemon.requests.count == 3)
    }

    @Test("connect prints the lines of the handler's stream as they are")
    func connect() {
        let lines = [
            #"{"event":"handler","schema":1,"secret":"s"}"#,
            #"{"event":"wake","push":{"call":"c1","payload":{"a":[1]}},"schema":1}"#,
        ]
        let text = lines.map { $0 + "\n" }.joined()
        let daemon = FakeDaemon { _ in
            .hang(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
        }
        let ran = ringwake(["app", "connect", "com.example.phone", "--count", "2"], at: daemon)
        #expect(ran.status == 0 && ran.output == text)
        #expect(daemon.requestLines == ["GET /v1/apps/com.example.phone/handler HTTP/1.1"])
    }
}
