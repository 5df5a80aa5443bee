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
