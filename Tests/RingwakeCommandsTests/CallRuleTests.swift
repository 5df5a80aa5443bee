import Testing

@testable import RingwakeCommands

@Suite("Holding, muting, digits and claims")
struct CallRuleTests {
    private func body(of request: String) -> String {
        request.range(of: "\r\n\r\n").map { String(request[$0.upperBound...]) } ?? ""
    }

    @Test(
        "each verb of a call goes to its own path",
        arguments: ["hold", "unhold", "mute", "unmute", "claim", "decline", "end", "answer", "ring"])
    func verbs(verb: String) {
        let daemon = FakeDaemon { _ in .json(Sample.call("connected")) }
        let ran = ringwake(["call", verb, "C1", "--app", "com.example.phone"], at: daemon)
        #expect(ran.status == 0 && ran.output == "C1: connected\n")
        #expect(daemon.requestLines == ["POST /v1/calls/C1/\(verb)?app=com.example.phone HTTP/1.1"])
        #expect(body(of: daemon.requests[0]).isEmpty)
    }

    @Test("what becomes of the other calls is said only where it was given")
    func others() {
        let daemon = FakeDaemon { _ in .json(Sample.call("answering")) }
        _ = ringwake(["call", "answer", "C1", "--end-others"], at: daemon)
        _ = ringwake(["call", "unhold", "C1", "--hold-others"], at: daemon)
        #expect(daemon.requests.map(body) == [#"{"others":"end"}"# + "\n", #"{"others":"hold"}"# + "\n"])
    }

    @Test("digits are sent as they are, for the call that is named or that the handler has")
    func digits() {
        let daemon = FakeDaemon { _ in .json(Sample.call("connected")) }
        #expect(ringwake(["call", "dtmf", "C1", "0123456789*#ABCD,"], at: daemon).status == 0)
        #expect(ringwake(["call", "dtmf", "42"], at: daemon, environment: ["RINGWAKE_CALL": "C 2"]).status == 0)
        #expect(
            daemon.requestLines == ["POST /v1/calls/C1/dtmf HTTP/1.1", "POST /v1/calls/C%202/dtmf HTTP/1.1"])
        #expect(daemon.requests.map(body) == [#"{"digits":"0123456789*#ABCD,"}"# + "\n", #"{"digits":"42"}"# + "\n"])
    }

    @Test("a handler fulfills and fails every action that it can be asked for")
    func actions() {
        let daemon = FakeDaemon { _ in .json(Sample.call("held")) }
        for action in ["answer", "end", "hold", "unhold", "mute", "unmute", "dtmf"] {
            #expect(ringwake(["call", "fulfill", "C1", action], at: daemon).status == 0)
            #expect(ringwake(["call", "fail", action], at: daemon, environment: ["RINGWAKE_CALL": "C1"]).status == 0)
            #expect(daemon.requests.suffix(2).allSatisfy { body(of: $0) == #"{"action":"\#(action)"}"# + "\n" })
        }
    }

    private static let busy =
        #""muted":true,"ringer":"daemon","identifiedAs":"Dr. Bauer","claimMs":4200,"deadlineMs":9000,"#
        + #""pending":[{"action":"unhold","deadlineMs":9000},{"action":"dtmf","digits":"12#","deadlineMs":9500}]"#
    private static let restricted =
        #""muted":false,"ringer":"app","pending":[],"detail":"until 07:00","#
        + #""restriction":{"kind":"doNotDisturb","detail":"do not disturb until 07:00"}"#

    @Test("call show tells of muting, what is pending, a lost handler, and who the caller may be")
    func show() {
        let ran = ringwake(
            ["call", "show", "C1"], at: FakeDaemon { _ in .json(Sample.call("held", more: Self.busy)) })
        for line in [
            "caller    Alice <sip:alice@example.com>, maybe Dr. Bauer", "muted     yes",
            "pending   unhold, within 9.00 s", "pending   dtmf 12#, within 9.50 s", "ringer    daemon",
            "handler   lost; a handler has 4.20 s to claim the call",
        ] {
            #expect(ran.output.contains("  \(line)\n"), "\(line) in \(ran.output)")
        }
    }

    @Test("what was asked for and is not done yet is said at once")
    func pending() {
        let daemon = FakeDaemon { _ in .json(Sample.call("held", more: Self.busy)) }
        #expect(ringwake(["call", "unhold", "C1"], at: daemon).output == "C1: held, pending: unhold, dtmf\n")
    }

    @Test("call list tells of them in its line, and of what kept a call out")
    func list() {
        let calls = [
            Sample.call("held", more: Self.busy), Sample.call("ended", reason: "restricted", more: Self.restricted),
        ]
        let daemon = FakeDaemon { _ in .json(#"{"schema":1,"calls":["# + calls.joined(separator: ",") + "]}") }
        let output = ringwake(["call", "list"], at: daemon).output
        #expect(
            output == """
                time (UTC)            call  app                state                       caller
                2026-11-21 23:59:58Z  C1    com.example.phone  held                        \
                Alice <sip:alice@example.com>, maybe Dr. Bauer  muted  handler lost  pending: unhold, dtmf
                2026-11-21 23:59:58Z  C1    com.example.phone  ended (kept out by a rule)  \
                Alice <sip:alice@example.com>  blocked by do not disturb

                """)
        let show = ringwake(["call", "show", "C1"], at: FakeDaemon { _ in .json(calls[1]) }).output
        #expect(show.contains("  blocked by  do not disturb\n              do not disturb until 07:00\n"))
    }

    @Test(
        "push show says what to do about a push that woke nobody",
        arguments: [
            ("withheld", nil, nil, "'ringwake app clear-strikes com.example.phone'"),
            ("restricted", "restricted", #"{"kind":"doNotDisturb","detail":"d"}"#, "'ringwake dnd'"),
            ("restricted", "blocked", #"{"kind":"blocked","detail":"d"}"#, "'ringwake block check CALLER'"),
            ("restricted", "restricted", #"{"kind":"appLimit","detail":"d"}"#, "[restrictions]"),
            ("restricted", "blocked", nil, "'ringwake block remove'"),
            ("restricted", "restricted", nil, "'ringwake dnd'"),
        ] as [(String, String?, String?, String)])
    func remedies(state: String, reason: String?, restriction: String?, remedy: String) {
        let push = Sample.push(state, reason: reason, outcome: state, restriction: restriction)
        let ran = ringwake(["push", "show", "A-1"], at: FakeDaemon { _ in .json(push) })
        #expect(ran.output.contains("to do") && ran.output.contains(remedy), "\(ran.output)")
        let usual = ringwake(["push", "show", "A-1"], at: FakeDaemon { _ in .json(Sample.push("missed")) })
        #expect(!usual.output.contains("to do"))
    }
}
