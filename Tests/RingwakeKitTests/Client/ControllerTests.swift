import Testing

@testable import RingwakeKit

@Suite("Controller and directory", .timeLimit(.minutes(10)))
struct ControllerTests {
    private let daemon = ScriptedDaemon()

    @Test("steps are asked for in order, without the handler's secret; the first that fails ends it")
    func transaction() async throws {
        let controller = CallController(client: try daemon.client())
        try await daemon.greet()
        async let failure: CallTransactionError? = {
            do throws(CallTransactionError) {
                try await controller.request(CallTransaction(.hold("c1"), .answer("c2", others: .end), .end("c3")))
                return nil
            } catch {
                return error
            }
        }()
        let (first, hold) = try await daemon.request("POST /v1/calls/c1/hold?app=com.example.phone")
        #expect(hold.secret == nil)
        #expect(hold.sender == .user)
        daemon.answer(first, callMessage("connected"))
        let (second, answer) = try await daemon.request("POST /v1/calls/c2/answer")
        #expect(answer.body == Array(#"{"others":"end"}"#.utf8))
        daemon.refuse(second, 409, "conflict")
        daemon.answer(try await daemon.request("GET /v1/calls/c2").number, callMessage("ended", reason: "cancelled"))
        let error = try #require(await failure)
        #expect(error.done == [.hold("c1")])
        #expect(error.failed == .answer("c2", others: .end))
        #expect(error.error == .ended(.cancelled))
    }

    @Test("a user's request whose answer was lost is not made again")
    func lost() async throws {
        let controller = CallController(client: try daemon.client())
        try await daemon.greet()
        async let failure = #expect(throws: CallTransactionError.self) {
            try await controller.request(.playDigits("5", to: "c1"))
        }
        daemon.lose(try await daemon.request("POST").number, wasSent: true)
        #expect(await failure?.error.code == .noAnswer)
    }

    @Test("the calls that run are told, of all apps")
    func calls() async throws {
        let controller = CallController(client: try daemon.client())
        async let calls = controller.calls()
        let (number, _) = try await daemon.request("GET /v1/calls?limit=1")
        let (one, other) = (callMessage("ringing", call: "c2"), callMessage("ended", reason: "failed"))
        daemon.answer(number, #"{"calls":[\#(one),\#(other)],"schema":1}"#)
        #expect(try await calls.map(\.id) == ["c2"])
    }

    /// Answers the next request for the list.
    private func answerList(_ calls: String...) async throws {
        let (number, request) = try await daemon.request("GET /v1/calls?limit=1")
        #expect(request.sender == .user && request.secret == nil)
        daemon.answer(number, #"{"calls":[\#(calls.joined(separator: ","))],"schema":1}"#)
    }

    @Test("the calls of all apps are watched while somebody reads them, over a restart of the daemon")
    func watched() async throws {
        let controller = CallController(client: try daemon.client())
        try await daemon.greet()
        var lists: AsyncThrowingStream<[Call], any Error>.Iterator? = controller.callListUpdates.makeAsyncIterator()
        let (first, request) = try await daemon.stream("/v1/events")
        #expect(request.sender == .user && request.secret == nil)
        daemon.tell(.streamOpened(first))
        try await answerList(callMessage("ringing"), callMessage("ended", reason: "failed"))
        #expect(try await lists?.next()?.map(\.state) == [.ringing])
        daemon.say(call("c1", 1, "ringing", #","muted":false"#).replacing("phone", with: "other"), on: first)
        try await answerList(callMessage("connected"), callMessage("held"))
        #expect(try await lists?.next()?.map(\.state) == [.connected, .held])
        daemon.say(call("c1", 1, "held"), on: first)
        let (late, _) = try await daemon.request("GET /v1/calls?limit=1")
        daemon.endStream(first)
        let (second, _) = try await daemon.stream("/v1/events")
        #expect(second != first)
        daemon.say(call("c1", 1, "ringing"), on: first)
        daemon.tell(.streamOpened(second))
        daemon.answer(late, #"{"calls":[\#(callMessage("held"))],"schema":1}"#)
        try await answerList()
        #expect(try await lists?.next() == [])
        lists = nil
        while true {
            if case .closedStream(second) = try await daemon.next() { break }
        }
    }

    @Test("whoever may not see the calls of all apps is told; what fails otherwise is tried again")
    func notWatched() async throws {
        let controller = CallController(client: try daemon.client())
        async let failure = #expect(throws: RingwakeKitError.self) {
            for try await _ in controller.callListUpdates {}
        }
        let first = try await daemon.stream("/v1/events").number
        daemon.tell(.streamOpened(first))
        daemon.refuse(try await daemon.request("GET /v1/calls").number, 504, "timed-out")
        let second = try await daemon.stream("/v1/events").number
        let refusal = #"{"error":"not-permitted","message":"because","schema":1}"#
        daemon.tell(.streamRefused(second, ControlAnswer(status: 403, body: Array(refusal.utf8))))
        #expect(await failure == RingwakeKitError(.notPermitted, "because"))
    }

    @Test("a client that is closed ends the list")
    func closed() async throws {
        let client = try daemon.client()
        let updates = CallController(client: client).callListUpdates
        daemon.tell(.streamOpened(try await daemon.stream("/v1/events").number))
        try await answerList()
        client.close()
        var last: [Call]?
        for try await calls in updates { last = calls }
        #expect(last == [] || last == nil)
        for try await _ in CallController(client: client).callListUpdates { Issue.record("the client is closed") }
    }

    @Test("a list is replaced piece by piece, and the import is dropped when one is refused")
    func replaced() async throws {
        let directory = CallDirectory(client: try daemon.client())
        let entries = (0..<4_000).map { CallerEntry("+4990\(100_000 + $0)", label: "x") }
        async let failure = #expect(throws: RingwakeKitError.self) {
            try await directory.replaceEntries(of: "spam", kind: .block, with: entries)
        }
        let begun = try await daemon.request("POST /v1/lists/spam/import")
        daemon.answer(begun.number, #"{"entries":0,"id":"17","list":"spam","schema":1}"#)
        let first = try await daemon.request("POST /v1/imports/17")
        #expect(first.request.isJSON == false)
        #expect(first.request.body?.starts(with: "+4990100000\tx\n+4990100001\tx\n".utf8) == true)
        #expect((first.request.body?.count ?? 0) <= 48 << 10)
        daemon.answer(first.number, #"{"entries":9,"id":"17","list":"spam","schema":1}"#)
        daemon.refuse(try await daemon.request("POST /v1/imports/17").number, 429, "limit-reached")
        let dropped = try await daemon.request("DELETE /v1/imports/17")
        daemon.answer(dropped.number, #"{"entries":9,"id":"17","list":"spam","schema":1}"#)
        #expect(await failure?.code == .limitReached)
    }

    @Test("an entry that would be two is refused before anything is said")
    func badEntry() async throws {
        let directory = CallDirectory(client: try daemon.client())
        for entry in [CallerEntry("+49\n+50"), CallerEntry("+49", label: "a\tb")] {
            let error = await #expect(throws: RingwakeKitError.self) {
                try await directory.replaceEntries(of: "spam", kind: .block, with: [entry])
            }
            #expect(error?.code == .invalidRequest)
        }
    }
}
