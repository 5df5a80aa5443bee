import Testing

@testable import RingwakeKit

@Suite("Session: its stream")
struct SessionStateMachineTests {
    @Test("it is connected once the daemon has greeted")
    func greeted() throws {
        var bench = SessionBench()
        #expect(said(bench.session.start()) == ["connecting", "open since=- secret=-"])
        #expect(bench.session.isOpen == false)
        #expect(try bench.hear(hello()) == ["connected", "resume", "credentials?"])
        #expect(bench.session.state == .open(secret: nil))
        #expect(bench.session.secret == "given")
    }

    @Test("it knows the daemon's version, and what either side lacks")
    func versions() throws {
        var bench = SessionBench()
        _ = bench.session.start()
        #expect(bench.session.daemon == nil)
        let greeting = hello().dropLast() + #","version":"9.1.0","features":["claim","teleport"]}"#
        _ = try bench.hear(String(greeting))
        #expect(bench.session.daemon?.version == "9.1.0")
        #expect(bench.session.daemon?.unused == ["teleport"])
        #expect(bench.session.daemon?.missing.contains("audio") == true)
        #expect(bench.session.daemon?.missing.contains("claim") == false)
    }

    @Test("a daemon that says no version lacks everything that has a name")
    func noVersion() throws {
        let bench = try SessionBench.open()
        #expect(bench.session.daemon?.version == nil)
        #expect(bench.session.daemon?.missing.isEmpty == false)
    }

    @Test("a line before the greeting breaks the stream")
    func withoutGreeting() throws {
        var bench = SessionBench()
        _ = bench.session.start()
        #expect(try bench.hear(call("c1", 1, "woken")) == ["close", "waiting bad-answer", "retry 100"])
        #expect(bench.session.state == .waiting)
    }

    @Test("a second greeting breaks the stream")
    func greetedTwice() throws {
        var bench = try SessionBench.open()
        #expect(try bench.hear(hello()).prefix(2) == ["close", "waiting bad-answer"])
    }

    @Test("tries double to five seconds; a stream that lasted begins anew")
    func backoff() throws {
        var bench = SessionBench()
        _ = bench.session.start()
        var delays: [String] = []
        for _ in 0..<8 {
            delays += bench.lose().dropFirst()
            _ = bench.session.retryDue()
        }
        #expect(
            delays == [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000].map { "retry \($0)" })
        _ = try bench.hear(hello())
        #expect(bench.lose(after: .seconds(4)).last == "retry 5000")
        _ = bench.session.retryDue()
        _ = try bench.hear(hello())
        #expect(bench.lose(after: .seconds(5)).last == "retry 100")
    }

    @Test("with calls of its own it does not wait longer than these can")
    func backoffInCall() throws {
        var bench = try SessionBench.open(wake("c1"))
        var delays: [String] = []
        for _ in 0..<6 {
            delays += bench.lose().dropFirst()
            _ = bench.session.retryDue()
        }
        #expect(delays == [100, 200, 400, 800, 1_000, 1_000].map { "retry \($0)" })
    }

    @Test("it comes back with the secret that it was given, and without when that is refused")
    func secrets() throws {
        var bench = try SessionBench.open()
        _ = bench.lose()
        #expect(said(bench.session.retryDue()).last == "open since=1 secret=given")
        let refused = RingwakeKitError(.notPermitted, "not in force")
        #expect(said(bench.session.refused(refused)) == ["connecting", "open since=1 secret=-"])
        #expect(said(bench.session.refused(refused)) == ["waiting not-permitted", "retry 200"])
    }

    @Test("one that was started comes back with the secret of its start, each time anew")
    func startSecret() throws {
        var bench = SessionBench(secret: "start")
        #expect(said(bench.session.start()).last == "open since=- secret=start")
        _ = try bench.hear(hello(secret: nil))
        #expect(bench.session.secret == "start")
        _ = bench.lose()
        #expect(said(bench.session.retryDue()).last == "open since=1 secret=start")
        #expect(said(bench.session.refused(RingwakeKitError(.notPermitted, "x"))).last == "open since=1 secret=-")
        _ = bench.lose()
        #expect(said(bench.session.retryDue()).last == "open since=1 secret=start")
    }

    @Test("another refusal than that of the secret is waited out")
    func otherRefusal() {
        var bench = SessionBench(secret: "start")
        _ = bench.session.start()
        let refused = RingwakeKitError(.notFound, "no app")
        #expect(said(bench.session.refused(refused)) == ["waiting not-found", "retry 100"])
    }

    @Test("it asks for the calls whose end it has not heard, else for those that are new")
    func since() throws {
        var bench = try SessionBench.open(call("c1", 4, "ringing"), call("c2", 9, "connected"))
        #expect(try bench.restart().contains("open since=4 secret=given"))
        _ = try bench.hear(call("c1", 4, "ended", #","endReason":"remoteEnded""#))
        #expect(try bench.restart().contains("open since=9 secret=given"))
        _ = try bench.hear(call("c2", 9, "ended", #","endReason":"remoteEnded""#))
        #expect(try bench.restart().contains("open since=10 secret=given"))
    }

    @Test("after the end nothing is done")
    func closed() throws {
        var bench = try SessionBench.open()
        bench.session.close()
        #expect(bench.lose() == [])
        #expect(said(bench.session.retryDue()) == [])
        #expect(try bench.hear(call("c1", 1, "woken")) == [])
    }

    @Test("credentials are told when they are others, and when they are gone")
    func credentials() throws {
        var bench = try SessionBench.open()
        let one = PushCredentials(token: "aa", environment: .production, topic: "t", teams: [])
        #expect(said(bench.session.take(credentials: [one])) == [#"credentials ["aa"]"#])
        #expect(said(bench.session.take(credentials: [one])) == [])
        let told = #"{"app":"com.example.phone","event":"credentials","schema":1,"valid":true}"#
        #expect(try bench.hear(told) == ["credentials?"])
        let gone = #"{"app":"com.example.phone","event":"credentials","schema":1,"valid":false}"#
        #expect(try bench.hear(gone) == ["credentials gone"])
        #expect(try bench.hear(gone) == [])
    }

    @Test("what waits is fetched until nothing is new, by one request at a time")
    func fetching() throws {
        var bench = try SessionBench.open()
        let waiting = #"{"app":"com.example.phone","call":"c1","event":"pushWaiting","kind":"call","schema":1}"#
        #expect(try bench.hear(waiting) == ["fetch"])
        #expect(try bench.hear(waiting) == [])
        let answer = Array(#"{"pushes":[\#(push("c1")), \#(push("c1", kind: "update"))],"schema":1}"#.utf8)
        let pushes = try IncomingPush.fetched(answer)
        #expect(said(bench.session.fetched(pushes)) == ["push call c1 1", "push update c1 1", "fetch"])
        // Until the call is reported all of it comes again.
        #expect(said(bench.session.fetched(pushes)) == [])
    }
}
