import ControlProtocol
import RingwakeCore
import Testing

@testable import RingwakeCommands

@Suite("Output for people and for programs")
struct TextTests {
    private let plain = TextStyle(isEnabled: false)

    @Test("call show aligns the timeline: since the push, and since the stage before")
    func timeline() {
        let ran = ringwake(
            ["call", "show", "C1"], at: FakeDaemon { _ in .json(Sample.call("ended", reason: "remoteEnded")) })
        #expect(
            ran.output == """
                call C1
                  app       com.example.phone
                  state     ended (caller hung up)
                  caller    Alice <sip:alice@example.com>
                  sender    team TEAM123456, production
                  received  2026-11-21T23:59:58.900Z

                  stage      since push      step  time (UTC)
                  received         0 us            23:59:58.900
                  verified       210 us   +210 us  23:59:58.900
                  woke          1.31 ms  +1.10 ms  23:59:58.901
                  connected      2.10 s   +2.10 s  00:00:01.004

                """)
    }

    @Test("an empty timeline and times at the ends of their range are shown, not trapped on")
    func extremeTimeline() {
        #expect(TimelineText.text(of: [], receivedAt: "soon", style: plain) == "  stage  since push  step\n")
        let hops = [Hop(stage: "a", atUs: .min), Hop(stage: "b", atUs: .max)]
        for receivedAt in ["2026-11-21T23:59:58.900Z", "9999-12-31T23:59:59.999Z", "no time"] {
            let text = TimelineText.text(of: hops, receivedAt: receivedAt, style: plain)
            #expect(text.contains("-9223372036854.77 s"))
        }
    }

    @Test("a caller's name cannot steer the terminal")
    func terminalInjection() {
        let evil = #"\u001b]0;owned\u0007\u202e\u061c"#
        let daemon = FakeDaemon { _ in .json(Sample.call("ringing", callerName: evil)) }
        let ran = ringwake(["call", "show", "C1"], at: daemon)
        #expect(ran.output.contains("?]0;owned???"))
        #expect(!ran.output.unicodeScalars.contains("\u{1B}"))
    }

    @Test("durations have two decimals above a millisecond")
    func durations() {
        let cases: [(Int64, String)] = [
            (0, "0 us"), (999, "999 us"), (1_000, "1.00 ms"), (12_345, "12.34 ms"), (999_999, "999.99 ms"),
            (1_000_000, "1.00 s"), (95_000_000, "95.00 s"), (-5, "-5 us"),
        ]
        for (microseconds, text) in cases {
            #expect(DurationText.short(microseconds: microseconds) == text)
        }
        #expect(DurationText.long(milliseconds: 90_061_000) == "1 d 1 h")
        #expect(DurationText.until(milliseconds: 14_399_450) == "3 h 59 min")
        #expect(DurationText.until(milliseconds: 9_990) == "9.99 s")
        #expect(DurationText.short(milliseconds: .max) == DurationText.short(microseconds: .max))
    }

    @Test("status shows pushes by reason, wakeups by cause and the certificate's days")
    func status() {
        let ran = ringwake(["status"], at: FakeDaemon { _ in .json(Sample.status()) })
        for line in [
            "ringwaked 0.1.0  pid 42, up 1 d 1 h", "  0.0.0.0:8443  development  1 connection",
            "certificate  localhost, 12 days left (/certs/server.pem)", "pushes  3 accepted, 3 refused",
            "  BadTopic        2\n  BadDeviceToken  1", "wakeups  7\n  provider  5\n  control   2",
            "journal working, 3 pushes, 2 calls, 40 KiB (/s/store.db)", "strikes 2\n  com.example.phone  2",
        ] {
            #expect(ran.output.contains(line + "\n") || ran.output.contains(line), "\(line)")
        }
    }

    @Test("status says what the daemon uses of the device, what is wrong with it, and who is struck out")
    func device() {
        let idle = ringwake(["status"], at: FakeDaemon { _ in .json(Sample.status()) }).output
        #expect(
            idle.contains(
                "device\n  do not disturb  off\n  staying awake   by logind\n  cellular calls  off\n"))
        #expect(!idle.contains("no longer starts"))
        let asleep = Sample.status(device: Sample.idleDevice.replacing("\"logind\"", with: "\"none\""))
        #expect(
            ringwake(["status"], at: FakeDaemon { _ in .json(asleep) }).output
                .contains("staying awake   nothing keeps the machine awake\n"))
        let busy = ringwake(["status"], at: FakeDaemon { _ in .json(Sample.status(device: Sample.busyDevice)) }).output
        for line in [
            "do not disturb  scheduled, calls are blocked now",
            "staying awake   by kernel, for a call now: logind is not there",
            "cellular calls  unavailable: ModemManager is not there", "ring            1 now: exited with status 1",
            "session bus     unavailable: no address", "system bus      connected",
            "restored        3, 1 set aside: too new",
            "the daemon no longer starts com.example.phone; "
                + "run 'ringwake app clear-strikes com.example.phone'",
        ] {
            #expect(busy.contains("  \(line)\n"), "\(line) in \(busy)")
        }
    }

    @Test(
        "each event has a line that says what it is about",
        arguments: [
            (
                #""event":"action","app":"a.b","call":"c","action":"dtmf","digits":"12#","deadlineMs":9000"#,
                "action  dtmf 12#    a.b  c  within 9.00 s"
            ),
            (
                #""event":"call","app":"a.b","call":"c","number":1,"atUs":7,"state":"connected","muted":true,"caller":"x","identifiedAs":"y""#,
                "call    connected   a.b  c  x  maybe y  muted"
            ),
            (
                #""event":"call","app":"a.b","call":"c","number":1,"atUs":7,"state":"held","muted":false,"claimMs":5000"#,
                "call    held        a.b  c  handler lost, a handler has 5.00 s to claim the call"
            ),
            (
                #""event":"restricted","app":"a.b","call":"c","restriction":{"kind":"doNotDisturb","detail":"until 07:00"}"#,
                "restricted              a.b  c  (do not disturb)  until 07:00"
            ),
            (
                #""event":"struckOut","app":"a.b","struckOut":true"#,
                "struckOut  no longer started  a.b  run 'ringwake app clear-strikes a.b'"
            ),
            (#""event":"struckOut","app":"a.b","struckOut":false"#, "struckOut  started again  a.b"),
            (#""event":"cellular","active":true"#, "cellular  in a call "),
            (
                #""event":"pushWaiting","app":"a.b","call":"c","kind":"claim""#,
                "pushWaiting  claim       a.b  c"
            ),
        ] as [(String, String)])  // swift-format-ignore
    func events(json: String, line: String) {
        let text = "{\"schema\":1,\(json)}\n"
        let daemon = FakeDaemon { _ in
            .raw(["HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n", text])
        }
        let output = ringwake(["watch", "--count", "1"], at: daemon).output
        let age = json.contains("atUs") ? "+7 us" : "-    "
        #expect(output == "\(age)         \(line)\n")
    }

    @Test("status says since when and why the journal fails")
    func failingJournal() {
        let ran = ringwake(
            ["status"], at: FakeDaemon { _ in .json(Sample.status(journal: Sample.failingJournal)) })
        #expect(
            ran.output.contains(
                "journal failing for 1 min: the disk is full; free some space\n"
                    + "  3 pushes, 2 calls, 4 MiB (/s/store.db)\n"))
    }

    @Test("--json keeps schema and members of each message")
    func jsonShapes() {
        let status = ringwake(["status", "--json"], at: FakeDaemon { _ in .json(Sample.status()) }).output
        #expect(status.contains(#""schema" : 1"#) && status.contains(#""BadTopic" : 2"#))
        let app = ringwake(["app", "show", "com.example.phone", "--json"], at: FakeDaemon { _ in .json(Sample.app) })
        #expect(app.output.contains(#""development" : "00ff""#) && app.output.contains(#""schema" : 1"#))
        let call = ringwake(
            ["call", "answer", "C1", "--json"], at: FakeDaemon { _ in .json(Sample.call("answering")) })
        #expect(call.output.contains(#""state" : "answering""#) && call.output.contains(#""atUs" : 210"#))
    }

    @Test("app show quotes what a shell would split")
    func appText() {
        let ran = ringwake(["app", "show", "com.example.phone"], at: FakeDaemon { _ in .json(Sample.app) })
        #expect(ran.output.contains("  exec      /bin/true 'a b'\n"))
        #expect(ran.output.contains("  token     00ff (development)\n  token     11ee (production)\n"))
    }

    @Test("a handler's report carries only what it was given")
    func reportBody() {
        let daemon = FakeDaemon { _ in .json(Sample.call("ringing")) }
        let ran = ringwake(["call", "report", "C1", "--caller", "sip:a@b", "--ring"], at: daemon)
        #expect(ran.output == "C1: ringing\n")
        #expect(daemon.requests[0].hasSuffix("\r\n\r\n" + #"{"caller":"sip:a@b","ring":true}"# + "\n"))
        _ = ringwake(["call", "fail", "answer"], at: daemon, environment: ["RINGWAKE_CALL": "C9"])
        #expect(daemon.requestLines[1] == "POST /v1/calls/C9/fail HTTP/1.1")
        #expect(daemon.requests[1].hasSuffix(#"{"action":"answer"}"# + "\n"))
    }

    @Test("a handler's command without an id says where to find one")
    func missingCall() {
        let ran = ringwake(["call", "claim"], at: FakeDaemon { _ in .json("{}") })
        #expect(ran.status == 2 && ran.errors.contains("'ringwake call list'"))
    }
}
