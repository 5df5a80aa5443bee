import ControlProtocol
import Testing

@testable import RingwakeCommands

@Suite("What became of pushes and calls")
struct PushViewTests {
    @Test("push show says state, sender and times")
    func showPush() {
        let daemon = FakeDaemon { _ in .json(Sample.push("missed", reason: "unanswered")) }
        let ran = ringwake(["push", "show", "A-1", "--app", "com.example.phone"], at: daemon)
        #expect(daemon.requestLines == ["GET /v1/pushes/A-1?app=com.example.phone HTTP/1.1"])
        #expect(
            ran.output == """
                push A-1
                  app       com.example.phone
                  state     missed (nobody answered)
                  call      C1
                  sender    team TEAM123456, production
                  priority  10
                  received  2026-11-21T23:59:58.900Z

                  stage      since push      step  time (UTC)
                  received         0 us            23:59:58.900
                  journaled     2.10 ms  +2.10 ms  23:59:58.902

                """)
    }

    @Test("push list has a line for each push, says what is unlike the others, and how to go on")
    func listPushes() {
        let pushes = [Sample.push("ringing"), Sample.push("expired", reason: "expired", outcome: "expired")]
        let daemon = FakeDaemon { _ in
            .json(#"{"schema":1,"pushes":["# + pushes.joined(separator: ",") + #"],"next":17}"#)
        }
        let ran = ringwake(
            ["push", "list", "--limit", "2", "--before", "19"], at: daemon,
            environment: ["RINGWAKE_APP": "com.example.phone"])
        #expect(daemon.requestLines == ["GET /v1/pushes?app=com.example.phone&limit=2&before=19 HTTP/1.1"])
        #expect(
            ran.output == """
                time (UTC)            push  app                state    outcome
                2026-11-21 23:59:58Z  A-1   com.example.phone  ringing
                2026-11-21 23:59:58Z  A-1   com.example.phone  expired  expired
                for older entries: --before 17

                """)
    }

    @Test("call list --missed asks for missed calls only and calls them so")
    func missedCalls() {
        let call = Sample.call("ended", reason: "unanswered", missed: true)
        let daemon = FakeDaemon { _ in .json(#"{"schema":1,"calls":["# + call + "]}") }
        let ran = ringwake(["call", "list", "--missed", "--limit", "3"], at: daemon)
        #expect(daemon.requestLines == ["GET /v1/calls?missed=true&limit=3 HTTP/1.1"])
        #expect(
            ran.output
                == "time (UTC)            call  app                state                     caller\n"
                + "2026-11-21 23:59:58Z  C1    com.example.phone  missed (nobody answered)  "
                + "Alice <sip:alice@example.com>\n")
    }

    @Test("call list says when the log is not complete, and why")
    func incompleteLog() {
        let daemon = FakeDaemon { _ in .json(#"{"schema":1,"calls":[],"incomplete":"the disk \u001b is gone"}"#) }
        #expect(
            ringwake(["call", "list"], at: daemon).output
                == "no calls\nthe call log is incomplete: the disk ? is gone\n")
    }

    @Test("lists with nothing in them say so")
    func emptyLists() {
        let daemon = FakeDaemon { line in
            .json(line.contains("pushes") ? #"{"schema":1,"pushes":[]}"# : #"{"schema":1,"calls":[]}"#)
        }
        #expect(ringwake(["push", "list"], at: daemon).output == "no pushes\n")
        #expect(ringwake(["call", "list"], at: daemon).output == "no calls\n")
    }

    @Test("--json gives the message with its schema")
    func json() {
        let daemon = FakeDaemon { line in
            .json(line.contains("A-1") ? Sample.push("woken") : #"{"schema":1,"pushes":[]}"#)
        }
        let show = ringwake(["push", "show", "A-1", "--json"], at: daemon)
        #expect(show.output.contains(#""state" : "woken""#) && show.output.contains(#""schema" : 1"#))
        #expect(ringwake(["push", "list", "--json"], at: daemon).output.contains(#""pushes" : ["#))
    }

    @Test("a trace finds the call by the push, whose payload may name it otherwise")
    func trace() throws {
        let daemon = FakeDaemon { line in
            .json(
                line.contains("/v1/pushes/A-1?app=a.b ")
                    ? Sample.push("ended", call: "C 1") : Sample.call("ended", reason: "remoteEnded"))
        }
        let client = ControlClient(path: daemon.socket, secret: nil)
        let call = try CallTrace(client: client, app: "a.b").follow("A-1", timeout: .seconds(10))
        #expect(call?.call == "C1")
        #expect(daemon.requestLines.last == "GET /v1/calls/C%201?app=a.b HTTP/1.1")
    }

    @Test("a trace of a push that this daemon never heard of ends at its deadline")
    func traceOfNothing() throws {
        let daemon = FakeDaemon { _ in .json(status: 404, #"{"schema":1,"error":"not-found","message":"no"}"#) }
        let client = ControlClient(path: daemon.socket, secret: nil)
        #expect(try CallTrace(client: client, app: "a.b").follow("A-1", timeout: .milliseconds(30)) == nil)
    }

    @Test("texts of strangers cannot steer the terminal")
    func injection() {
        let evil = Sample.push("ended", call: #"\u001b]0;x\u0007"#)
        let daemon = FakeDaemon { line in
            .json(line.contains("A-1") ? evil : #"{"schema":1,"pushes":["# + evil + "]}")
        }
        for arguments in [["push", "show", "A-1"], ["push", "list"]] {
            let output = ringwake(arguments, at: daemon).output
            #expect(!output.isEmpty && !output.unicodeScalars.contains { $0.value == 0x1B || $0.value == 7 })
        }
    }
}
