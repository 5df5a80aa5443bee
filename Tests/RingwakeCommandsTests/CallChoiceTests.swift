import RingwakeCore
import Testing

@testable import RingwakeCommands

@Suite("The call that a command means")
struct CallChoiceTests {
    private static let alice = "7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11"
    private static let bob = "7b0e9999-0000-4f0b-9d5e-0f6c2e0f8c11"
    private static let carol = "9c1d44e0-0000-4f0b-9d5e-0f6c2e0f8c11"

    private static func call(_ id: String, _ state: String, _ name: String, muted: Bool = false) -> String {
        let more = #""muted":\#(muted),"ringer":"app","pending":[]"#
        return Sample.call(state, reason: state == "ended" ? "localEnded" : nil, callerName: name, more: more)
            .replacing(#""call":"C1""#, with: #""call":"\#(id)""#)
    }

    /// A daemon with these calls. It knows whole ids only, as the real one does.
    private func daemon(_ calls: (id: String, json: String)...) -> FakeDaemon {
        let known = calls
        return FakeDaemon { line in
            if line.contains("/v1/calls?") {
                return .json(#"{"schema":1,"calls":[\#(known.map(\.json).joined(separator: ","))]}"#)
            }
            let id = line.split(separator: "/").dropFirst(3).first?.prefix { $0 != "?" && $0 != " " }
            guard let found = known.first(where: { $0.id == id ?? "" }) else {
                return .json(status: 404, #"{"schema":1,"error":"not-found","message":"no call"}"#)
            }
            return .json(found.json)
        }
    }

    private func ringing() -> FakeDaemon {
        daemon(
            (Self.alice, Self.call(Self.alice, "ringing", "Alice")),
            (Self.carol, Self.call(Self.carol, "held", "Carol")))
    }

    @Test(
        "without an id, each command takes the only call that fits",
        arguments: [
            ("answer", alice), ("decline", alice), ("unhold", carol), ("mute", carol),
        ])
    func only(verb: String, call: String) {
        let daemon = ringing()
        let ran = ringwake(["call", verb], at: daemon)
        #expect(ran.status == 0, "\(ran.errors)")
        #expect(
            daemon.requestLines == [
                "GET /v1/calls?limit=1 HTTP/1.1",
                "POST /v1/calls/\(call)/\(verb)?app=com.example.phone HTTP/1.1",
            ])
    }

    @Test("digits alone go to the connected call")
    func digits() {
        let daemon = daemon((Self.bob, Self.call(Self.bob, "connected", "Bob")))
        #expect(ringwake(["call", "dtmf", "42"], at: daemon).status == 0)
        #expect(daemon.requestLines.last == "POST /v1/calls/\(Self.bob)/dtmf?app=com.example.phone HTTP/1.1")
    }

    @Test("a swap resumes the only held call; the id of the connected call is refused, and nothing is sent")
    func swap() {
        let daemon = daemon(
            (Self.alice, Self.call(Self.alice, "connected", "Alice")),
            (Self.carol, Self.call(Self.carol, "held", "Carol")))
        #expect(ringwake(["call", "swap"], at: daemon).status == 0)
        #expect(daemon.requestLines.last == "POST /v1/calls/\(Self.carol)/unhold?app=com.example.phone HTTP/1.1")
        for id in [Self.alice, "7b0e"] {
            let sent = daemon.requestLines.count
            let ran = ringwake(["call", "swap", id], at: daemon)
            #expect(ran.status == 1 && ran.errors.contains("the call '\(Self.alice)' is connected already"))
            #expect(!daemon.requestLines.dropFirst(sent).contains { $0.hasPrefix("POST") })
        }
    }

    @Test("if several calls fit, the error names them and what to type; nothing is done")
    func several() {
        let daemon = daemon(
            (Self.alice, Self.call(Self.alice, "ringing", "Alice")), (Self.bob, Self.call(Self.bob, "ringing", "Bob")))
        let ran = ringwake(["call", "answer"], at: daemon)
        #expect(ran.status == 1)
        #expect(
            ran.errors
                == "ringwake: several calls are ringing: 7b0e2f2a (Alice <sip:alice@example.com>, ringing), "
                + "7b0e9999 (Bob <sip:alice@example.com>, ringing); give the id of one, such as "
                + "'ringwake call answer 7b0e2f2a'\n")
        #expect(daemon.requestLines.count == 1)
    }

    @Test("if no call fits, the error names those in progress")
    func none() {
        let ran = ringwake(["call", "hold"], at: ringing())
        #expect(ran.status == 5 && ran.errors.contains("no call is connected; in progress: 7b0e2f2a (Alice"))
        let lonely = ringwake(["call", "end"], at: daemon())
        #expect(lonely.status == 5)
        #expect(lonely.errors == "ringwake: no call is in progress; 'ringwake call list' shows the call log\n")
        let ended = ringwake(["call", "end"], at: daemon((Self.bob, Self.call(Self.bob, "ended", "Bob"))))
        #expect(ended.status == 5 && ended.errors == lonely.errors)
    }

    @Test("four characters of an id are enough where they are unique, in upper and lower case")
    func prefix() {
        let daemon = ringing()
        #expect(ringwake(["call", "end", "9C1D"], at: daemon).status == 0)
        #expect(
            daemon.requestLines == [
                "POST /v1/calls/9C1D/end HTTP/1.1", "GET /v1/calls?limit=500 HTTP/1.1",
                "POST /v1/calls/\(Self.carol)/end?app=com.example.phone HTTP/1.1",
            ])
        #expect(ringwake(["call", "show", "7b0e"], at: daemon).output.hasPrefix("call \(Self.alice)\n"))
    }

    @Test("an exact id wins over a prefix")
    func exact() {
        let daemon = daemon(
            ("7b0e", Self.call("7b0e", "ringing", "X")), (Self.alice, Self.call(Self.alice, "ringing", "A")))
        #expect(ringwake(["call", "answer", "7b0e"], at: daemon).output == "7b0e: ringing\n")
        #expect(daemon.requestLines == ["POST /v1/calls/7b0e/answer HTTP/1.1"])
    }

    @Test("characters that several ids begin with, or too few of them, choose none")
    func ambiguous() {
        let daemon = daemon(
            (Self.alice, Self.call(Self.alice, "ringing", "Alice")), (Self.bob, Self.call(Self.bob, "held", "Bob")))
        let ran = ringwake(["call", "answer", "7b0e"], at: daemon)
        #expect(ran.status == 1 && ran.errors.contains("several calls begin with '7b0e': 7b0e2f2a (Alice"))
        #expect(ran.errors.contains("7b0e9999 (Bob <sip:alice@example.com>, held); give more characters"))
        let short = ringwake(["call", "answer", "7b0"], at: daemon)
        #expect(short.status == 5 && short.errors.contains("first 4 or more"), "\(short.errors)")
        #expect(daemon.requestLines.filter { $0.hasPrefix("POST") }.count == 2)
    }

    @Test("an id that is no call's says which calls there are; one that has ended says how")
    func unknown() {
        let daemon = daemon(
            (Self.alice, Self.call(Self.alice, "ringing", "Alice")), (Self.bob, Self.call(Self.bob, "ended", "Bob")))
        let ran = ringwake(["call", "decline", "nobody"], at: daemon)
        #expect(
            ran.status == 5
                && ran.errors == "ringwake: no call. In progress: 7b0e2f2a (Alice <sip:alice@example.com>, ringing)\n")
        let ended = ringwake(["call", "decline", "7b0e9"], at: daemon)
        #expect(
            ended.status == 5 && ended.errors.contains("'\(Self.bob)' has ended (you hung up); in progress: 7b0e2f2a"))
        // For a look, ended calls count too.
        #expect(ringwake(["call", "show", "7b0e9"], at: daemon).output.hasPrefix("call \(Self.bob)\n"))
    }

    @Test("in a handler the environment names the call, and a handler's commands take whole ids only")
    func handlers() {
        let daemon = ringing()
        let environment = ["RINGWAKE_CALL": Self.alice, "RINGWAKE_APP": "com.example.phone"]
        #expect(ringwake(["call", "end"], at: daemon, environment: environment).status == 0)
        #expect(daemon.requestLines == ["POST /v1/calls/\(Self.alice)/end?app=com.example.phone HTTP/1.1"])
        for arguments in [["claim", "7b0e"], ["fulfill", "7b0e", "end"], ["report", "7b0e"], ["ended", "7b0e"]] {
            #expect(ringwake(["call"] + arguments, at: daemon).status == 5)
            #expect(daemon.requestLines.last?.hasPrefix("POST") == true)
        }
    }

    @Test("pushes and apps are found by the beginnings of their ids too")
    func pushesAndApps() {
        let daemon = FakeDaemon { line in
            if line.contains("/v1/pushes?") { return .json(#"{"schema":1,"pushes":[\#(Sample.push("missed"))]}"#) }
            if line.contains("/v1/apps ") { return .json(#"{"schema":1,"apps":[\#(Sample.app)]}"#) }
            if line.contains("/A-1?app=com.example.phone ") { return .json(Sample.push("missed")) }
            if line.contains("/v1/apps/com.example.phone") { return .json(Sample.app) }
            return .json(status: 404, #"{"schema":1,"error":"not-found","message":"nothing"}"#)
        }
        #expect(ringwake(["push", "show", "a-1"], at: daemon).status == 5, "it has three characters")
        #expect(ringwake(["app", "show", "com.ex"], at: daemon).output.hasPrefix("com.example.phone\n"))
        #expect(ringwake(["app", "clear-strikes", "com.ex"], at: daemon).output.contains("com.example.phone has no"))
        // Removing an app is for ever, so it takes the whole id.
        let wrong = ringwake(["app", "show", "org.ex"], at: daemon)
        #expect(wrong.status == 5 && wrong.errors.contains("Apps: com.example.phone"), "\(wrong.errors)")
    }
}
