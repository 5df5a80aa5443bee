import ControlProtocol
import FoundationEssentials
import Testing

@testable import RingwakeCommands

@Suite("ringwake reachability, power, and the network in other commands")
struct ReachabilityCommandTests {
    private func list(_ targets: String...) -> FakeDaemon {
        FakeDaemon { _ in .json(#"{"schema":1,"targets":[\#(targets.joined(separator: ","))]}"#) }
    }

    @Test("A target that can be reached is a line with the way to it, and the status is 0")
    func reachable() {
        let daemon = list(Sample.target())
        let ran = ringwake(["reachability", "SIP.example.org", "192.0.2.9", "192.0.2.9"], at: daemon)
        #expect(
            ran.output == "sip.example.org  reachable via 192.0.2.1 on wlan0 (wifi), from 192.0.2.7  "
                + "[reachable, transientConnection]\n")
        #expect(ran.status == 0 && ran.errors.isEmpty)
        #expect(
            daemon.requestLines == ["GET /v1/reachability?target=sip.example.org&target=192.0.2.9 HTTP/1.1"])
    }

    @Test("One that cannot be reached says why, and the status is 8")
    func unreachable() {
        let ran = ringwake(["reachability"], at: list(Sample.target(), Sample.target("10.9.9.9", reason: "noRoute")))
        #expect(ran.output.hasSuffix("\n10.9.9.9  not reachable: no route leads there\n"))
        #expect(ran.status == 8 && ran.errors.isEmpty)
    }

    @Test("A host name's line ends with its addresses and the time of their look-up, if the daemon tells them")
    func lookedUp() {
        let time = "2026-11-24T18:00:00.000Z"
        for (members, text) in [
            (
                #""addresses":["192.0.2.9","2001:db8::9"],"resolvedAt":"\#(time)""#,
                "  looked up \(time): 192.0.2.9, 2001:db8::9"
            ),
            (#""addresses":[],"resolvedAt":"\#(time)""#, "  looked up \(time)"),
            (#""addresses":["192.0.2.9"],"resolvedAt":null"#, ""), (#""addresses":null,"resolvedAt":null"#, ""),
            (#""addresses":["\u001b[2J"],"resolvedAt":"\u001b[1m""#, "  looked up ?[1m: ?[2J"),
        ] {
            let ran = ringwake(["reachability"], at: list(Sample.target(lookedUp: members)))
            #expect(ran.output.hasSuffix("[reachable, transientConnection]\(text)\n"))
            let lost = ringwake(["reachability"], at: list(Sample.target(reason: "noRoute", lookedUp: members)))
            #expect(lost.output == "sip.example.org  not reachable: no route leads there\(text)\n")
        }
    }

    @Test("A reason that a later daemon gives is shown as it came, and steers no terminal")
    func unknownReason() {
        let ran = ringwake(["reachability"], at: list(Sample.target(reason: #"new\u001bReason"#)))
        #expect(ran.output == "sip.example.org  not reachable: new?Reason\n")
    }

    @Test("JSON is one object a target, one a line, with all members")
    func json() {
        let ran = ringwake(
            ["reachability", "--json"], at: list(Sample.target(), Sample.target("any", reason: "noRoute")))
        let lines = ran.output.split(separator: "\n")
        #expect(lines.count == 2 && ran.status == 8)
        let beginning = #"{"addresses":[],"flags":["reachable","transientConnection"],"gateway":"192.0.2.1","#
        #expect(lines[0].hasPrefix(beginning + #""interface""#))
        #expect(lines[1].contains(#""gateway":null,"interface":null,"interfaceType":null"#))
        #expect(lines[1].contains(#""resolvedAt":null"#))
    }

    @Test("--watch prints each line of the stream; when the daemon goes away the status is 3 and an error says so")
    func watch() {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
        let daemon = FakeDaemon { line in
            if line.contains("status") { return .json(Sample.status()) }
            return .raw([head, Sample.target() + "\n", Sample.target(reason: "noCarrier") + "\n"])
        }
        let ran = ringwake(["reachability", "sip.example.org", "--watch"], at: daemon)
        #expect(ran.output.split(separator: "\n").count == 2)
        #expect(ran.output.hasSuffix("not reachable: the interface has no carrier\n"))
        #expect(ran.status == 3 && ran.errors.hasPrefix("ringwake: the daemon closed the stream"))
        // The first shows whose network the daemon watches.
        #expect(
            daemon.requestLines == [
                "GET /v1/status HTTP/1.1", "GET /v1/reachability?target=sip.example.org&watch=true HTTP/1.1",
            ])
    }

    @Test("--path shows the path alone, and a satisfied one is status 0")
    func path() {
        for arguments in [["reachability", "--path"], ["status", "--path"]] {
            let ran = ringwake(arguments, at: FakeDaemon { _ in .json(Sample.path) })
            #expect(
                ran.output == """
                    path      satisfied, wlan0 (wifi), then wwan0 (cellular)
                    gateways  192.0.2.1
                    sources   192.0.2.7
                    supports  IPv4, DNS
                    is        expensive

                    """)
            #expect(ran.status == 0)
        }
        let ran = ringwake(["reachability", "--path", "--json"], at: FakeDaemon { _ in .json(Sample.path) })
        #expect(ran.output.hasPrefix(#"{"gateways":["192.0.2.1"],"interface":"wlan0""#))
    }

    @Test("--verbose says on standard error how the monitor is doing")
    func verbose() {
        let daemon = FakeDaemon { line in
            .json(line.contains("status") ? Sample.status() : #"{"schema":1,"targets":[\#(Sample.target())]}"#)
        }
        let ran = ringwake(["reachability", "--verbose"], at: daemon)
        #expect(
            ran.errors == "monitor: working, filter level 3 of 4 (Cannot allocate memory), resynchronizations 3, "
                + "overruns 2, foreign messages 1, throttles 4\n")
        #expect(ran.status == 0 && ran.output.split(separator: "\n").count == 1)
    }

    @Test("Without a daemon it looks itself; whoever names a socket means that daemon")
    func withoutDaemon() throws {
        let missing = ["RINGWAKE_SOCKET": "/nowhere/control.sock"]
        let ran = ringwake(["reachability", "127.0.0.1", "--json"], environment: missing)
        #expect(ran.status == 0 && ran.errors.isEmpty)
        let message = try JSONDecoder().decode(TargetMessage.self, from: Data(ran.output.utf8))
        #expect(message.target == "127.0.0.1" && message.flags == ["reachable", "isLocalAddress"])
        let named = ringwake(["reachability", "127.0.0.1", "--socket", "/nowhere/control.sock"])
        #expect(named.status == 3 && named.output.isEmpty)
    }

    @Test("--local asks no daemon, and gives the members that a daemon gives")
    func local() throws {
        let daemon = list(Sample.target())
        let ran = ringwake(["reachability", "127.0.0.1", "::1", "--local", "--json"], at: daemon)
        #expect(daemon.requests.isEmpty)
        let lines = ran.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(try JSONDecoder().decode(TargetMessage.self, from: Data(lines[0].utf8)).interface == "lo")
    }

    @Test("A daemon that refuses is not passed over")
    func refused() {
        let daemon = FakeDaemon { _ in
            .json(status: 500, #"{"schema":1,"error":"system","message":"reachability is not watched: it is so"}"#)
        }
        let ran = ringwake(["reachability", "127.0.0.1"], at: daemon)
        #expect(ran.status == 1 && ran.errors == "ringwake: reachability is not watched: it is so\n")
    }

    @Test("status shows connection and path, and why they are not known")
    func status() {
        let ran = ringwake(["status"], at: FakeDaemon { _ in .json(Sample.status()) })
        #expect(
            ran.output.contains(
                """

                connection  limited: no name server is reachable
                path  satisfied, wlan0 (wifi), then wwan0 (cellular)
                  via   192.0.2.1
                  from  192.0.2.7

                """))
        let failed = ringwake(
            ["status"], at: FakeDaemon { _ in .json(Sample.status(reachability: Sample.failedReachability)) })
        #expect(failed.output.contains("connection  unknown: it is not watched: socket failed\n"))
    }

    @Test("power shows each cause with its rate and what it means, and that there are no timers")
    func power() {
        let ran = ringwake(["power"], at: FakeDaemon { _ in .json(Sample.status()) })
        #expect(
            ran.output == """
                wakeups  7 in 1 d 1 h, 0.3 an hour
                  cause     wakeups  an hour
                  provider        5      0.2  a sender connected, sent a push or disconnected
                  control         2      0.1  a handler, ringwake or another local program sent a request
                filter   level 3, 4 is configured; 'ringwake status' shows why
                timers   none runs while nothing happens

                """)
        let json = ringwake(["power", "--json"], at: FakeDaemon { _ in .json(Sample.status()) }).output
        #expect(json.contains(#""perHour" : 0.28"#) && json.contains(#""optionalTimers" : ["#))
    }

    @Test("Counts and times at the ends of their range are shown, not trapped on")
    func extremePower() {
        let status = Sample.status().replacing(#""total":7"#, with: #""total":18446744073709551615"#)
            .replacing(#""uptimeMs":90061000"#, with: #""uptimeMs":-9223372036854775808"#)
        let ran = ringwake(["power"], at: FakeDaemon { _ in .json(status) })
        #expect(ran.status == 0 && ran.output.contains("18446744073709551615 in 0 s"))
    }

    @Test("watch shows the events of the network")
    func events() throws {
        let plain = TextStyle(isEnabled: false)
        func line(_ json: String) throws -> String {
            EventText.line(of: try JSONDecoder().decode(EventMessage.self, from: Data(json.utf8)), style: plain)
        }
        #expect(
            try line(#"{"app":"a.b","call":"c","event":"path","path":\#(Sample.path),"schema":1}"#)
                == "-             path    satisfied   a.b  c  wlan0 (wifi)  from 192.0.2.7")
        #expect(
            try line(#"{"connection":"offline","connectionReason":"noRoute","event":"connection","schema":1}"#)
                == "-             connection  offline     (noRoute)")
    }
}
