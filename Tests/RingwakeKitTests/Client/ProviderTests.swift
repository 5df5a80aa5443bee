import Testing

@testable import RingwakeKit

@Suite("Provider", .timeLimit(.minutes(10)))
struct ProviderTests {
    private let daemon = ScriptedDaemon()

    /// What came of something that was asked of a call.
    private func outcome(_ body: () async throws(CallError) -> Void) async -> CallError? {
        do throws(CallError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test("a report returns once the call rings")
    func reported() async throws {
        let provider = CallProvider(client: try daemon.client())
        async let outcome = outcome { () async throws(CallError) in
            try await provider.reportIncomingCall(with: "c/1", update: .init(caller: "sip:a@b", hasVideo: true))
        }
        try await daemon.greet()
        let (number, request) = try await daemon.request("POST /v1/calls/c%2F1/report?app=com.example.phone")
        #expect(request.secret == "given")
        #expect(request.sender == .handler)
        #expect(request.body == Array(#"{"caller":"sip:a@b","ring":true,"video":true}"#.utf8))
        daemon.answer(number, callMessage("ringing"))
        #expect(await outcome == nil)
    }

    @Test(
        "a report says why the call does not ring",
        arguments: [
            (
                callMessage("ended", reason: "restricted", restriction: "doNotDisturb"),
                CallError.ended(.restricted, filter: (.doNotDisturb, "until 7"))
            ),
            (
                callMessage("ended", reason: "blocked", restriction: "blocked"),
                .ended(.blocked, filter: (.blockList, "until 7"))
            ),
            (callMessage("ending", reason: "busy"), .ended(.busy)),
            (callMessage("ended", reason: "cancelled"), .ended(.cancelled)),
        ])
    func notRinging(_ message: String, _ expected: CallError) async throws {
        let provider = CallProvider(client: try daemon.client())
        async let outcome = outcome { () async throws(CallError) in try await provider.reportIncomingCall(with: "c1") }
        try await daemon.greet(wake("c1"))
        daemon.answer(try await daemon.request("POST").number, message)
        #expect(await outcome == expected)
    }

    @Test("an update that says nothing is not sent")
    func emptyUpdate() async throws {
        let provider = CallProvider(client: try daemon.client())
        try await provider.reportCall(with: "c1", updated: CallUpdate())
        async let outcome = outcome { () async throws(CallError) in
            try await provider.reportCall(with: "c1", updated: CallUpdate(callerName: "Alice"))
        }
        try await daemon.greet()
        let (number, request) = try await daemon.request("POST /v1/calls/c1/update")
        #expect(request.body == Array(#"{"callerName":"Alice"}"#.utf8))
        daemon.answer(number, callMessage("ringing"))
        #expect(await outcome == nil)
    }

    @Test("a refusal is told as what it means")
    func refused() async throws {
        let provider = CallProvider(client: try daemon.client())
        async let first = outcome { () async throws(CallError) in try await provider.reportIncomingCall(with: "c1") }
        try await daemon.greet()
        daemon.refuse(try await daemon.request("POST").number, 404, "not-found")
        #expect(await first == .unknownCall)

        async let second = outcome { () async throws(CallError) in try await provider.startRinging("c1") }
        daemon.refuse(try await daemon.request("POST").number, 403, "not-permitted")
        #expect(await second == .notOwned("because"))

        async let third = outcome { () async throws(CallError) in try await provider.claim("c1") }
        daemon.refuse(try await daemon.request("POST").number, 409, "conflict")
        daemon.answer(try await daemon.request("GET /v1/calls/c1").number, callMessage("connected"))
        #expect(await third == .wrongState(.connected))

        async let fourth = outcome { () async throws(CallError) in try await provider.reportIncomingCall(with: "c1") }
        daemon.answer(try await daemon.request("POST").number, "{", status: 200)
        let bad = await fourth
        #expect(bad?.code == .refused && bad?.cause?.code == .badAnswer)
    }

    @Test("the end of a call that is over is no error")
    func endedBefore() async throws {
        let provider = CallProvider(client: try daemon.client())
        async let outcome = outcome { () async throws(CallError) in
            try await provider.reportCall(with: "c1", endReason: .answeredElsewhere)
        }
        try await daemon.greet()
        let (number, request) = try await daemon.request("POST /v1/calls/c1/ended")
        #expect(request.body == Array(#"{"reason":"answeredElsewhere"}"#.utf8))
        daemon.refuse(number, 409, "conflict")
        daemon.answer(try await daemon.request("GET /v1/calls").number, callMessage("ended", reason: "cancelled"))
        #expect(await outcome == nil)
    }

    @Test("what is said while the daemon is away waits for it; what broke off is said again, and may be done")
    func away() async throws {
        let client = try daemon.client()
        let provider = CallProvider(client: client)
        async let outcome = outcome { () async throws(CallError) in try await provider.reportIncomingCall(with: "c1") }
        try await daemon.greet(wake("c1"))
        let first = try await daemon.request("POST")
        daemon.endStream()
        daemon.lose(first.number, wasSent: true)
        let stream = try await daemon.greet(call("c1", 7, "ringing"))
        #expect(stream.target == "/v1/apps/com.example.phone/handler?since=1")
        #expect(stream.secret == "given")
        let second = try await daemon.request("POST")
        #expect(second.request == first.request)
        daemon.refuse(second.number, 409, "conflict")
        // The first asks whether the call has ended meanwhile, the second why the report was refused.
        for _ in 1...2 {
            daemon.answer(try await daemon.request("GET /v1/calls/c1").number, callMessage("ringing"))
        }
        #expect(await outcome == nil)
    }

    @Test("an answer that is not there in time is told so, and the request is given up")
    func tooLate() async throws {
        let provider = CallProvider(client: try daemon.client { $0.requestTimeout = .milliseconds(50) })
        let before = await outcome { () async throws(CallError) in try await provider.startRinging("c1") }
        #expect(before?.code == .noAnswer && before?.cause?.code == .timedOut)
        try await daemon.greet()
        async let after = outcome { () async throws(CallError) in try await provider.startRinging("c1") }
        let (number, _) = try await daemon.request("POST")
        while true {
            if case .cancelled(number) = try await daemon.next() { break }
        }
        #expect(await after?.description.contains("did not answer") == true)
    }

    @Test("an action is fulfilled once")
    func fulfilled() async throws {
        let provider = CallProvider(client: try daemon.client())
        try await daemon.greet(wake("c1"), call("c1", 1, "answering"), action("c1", "answer"))
        var actions = provider.actions.makeAsyncIterator()
        let answer = try #require(await actions.next())
        #expect(answer.kind == .answer)
        async let first = outcome { () async throws(CallError) in try await answer.fulfill() }
        let (number, request) = try await daemon.request("POST /v1/calls/c1/fulfill")
        #expect(request.body == Array(#"{"action":"answer"}"#.utf8))
        daemon.answer(number, callMessage("connected"))
        #expect(await first == nil)
        async let second = outcome { () async throws(CallError) in try await answer.fail() }
        daemon.answer(try await daemon.request("GET /v1/calls/c1").number, callMessage("connected"))
        #expect(await second == .wrongState(.connected))
    }

    @Test("digits whose answer was lost are not fulfilled again by themselves, and may be by the app")
    func digitsLost() async throws {
        let provider = CallProvider(client: try daemon.client())
        try await daemon.greet(wake("c1"), call("c1", 1, "connected"), action("c1", "dtmf", digits: "5"))
        var actions = provider.actions.makeAsyncIterator()
        let digits = try #require(await actions.next())
        async let first = outcome { () async throws(CallError) in try await digits.fulfill() }
        daemon.lose(try await daemon.request("POST").number, wasSent: true)
        #expect(await first?.code == .noAnswer)
        async let second = outcome { () async throws(CallError) in try await digits.fulfill() }
        daemon.answer(try await daemon.request("POST").number, callMessage("connected"))
        #expect(await second == nil)
    }

    @Test("an answer that was fulfilled, and that the daemon lost, is fulfilled again")
    func fulfilledAgain() async throws {
        let provider = CallProvider(client: try daemon.client())
        try await daemon.greet(wake("c1"), call("c1", 1, "answering"), action("c1", "answer"))
        var actions = provider.actions.makeAsyncIterator()
        let answer = try #require(await actions.next())
        async let first = outcome { () async throws(CallError) in try await answer.fulfill() }
        daemon.answer(try await daemon.request("POST").number, callMessage("connected"))
        #expect(await first == nil)
        daemon.endStream()
        try await daemon.greet(call("c1", 1, "answering"), action("c1", "answer"))
        let (_, request) = try await daemon.request("POST /v1/calls/c1/fulfill")
        #expect(request.body == Array(#"{"action":"answer"}"#.utf8))
    }
}
