import ControlProtocol
import FoundationEssentials
import Testing

/// Clients in every language read these; a change that breaks one of these tests breaks them.
@Suite("The JSON of the control API")
struct MessageShapeTests {
    private func json(_ message: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(message), as: UTF8.self)
    }

    private func roundTrip<Message: Codable & Equatable>(_ message: Message) throws -> Bool {
        try JSONDecoder().decode(Message.self, from: Data(try json(message).utf8)) == message
    }

    @Test("A call carries its state, its deadline and its timeline; what is unknown is left out")
    func call() throws {
        let ringing = CallMessage(
            call: "c1", app: "com.example.phone", state: "ringing", reason: nil, detail: nil, apnsId: "A-1",
            caller: "sip:alice@example.org", callerName: nil, video: false, attempt: 1, pid: 77, deadlineMs: 45_000,
            timeline: [.init(stage: "received", atUs: 0), .init(stage: "rang", atUs: 1200)])
        #expect(
            try json(ringing) == """
                {"apnsId":"A-1","app":"com.example.phone","attempt":1,"call":"c1","caller":"sip:alice@example.org",\
                "deadlineMs":45000,"pid":77,"schema":1,"state":"ringing",\
                "timeline":[{"atUs":0,"stage":"received"},{"atUs":1200,"stage":"rang"}],"video":false}
                """)
        #expect(try roundTrip(ringing))
        let ended = CallMessage(
            call: "c1", app: "com.example.phone", state: "ended", reason: "handlerFailed", detail: "exited",
            apnsId: "A-1", caller: nil, callerName: "Alice", video: true, attempt: 1, pid: nil, deadlineMs: nil,
            timeline: [])
        #expect(
            try json(CallListMessage(calls: [ended])) == """
                {"calls":[{"apnsId":"A-1","app":"com.example.phone","attempt":1,"call":"c1","callerName":"Alice",\
                "detail":"exited","reason":"handlerFailed","schema":1,"state":"ended","timeline":[],"video":true}],\
                "schema":1}
                """)
    }

    @Test("An event is one object whose kind says which members it has")
    func events() throws {
        let change = EventMessage(
            event: "call", app: "a.b", call: "c", state: "ringing", deadlineMs: 5, caller: "x", atUs: 7)
        #expect(
            try json(change)
                == #"{"app":"a.b","atUs":7,"call":"c","caller":"x","deadlineMs":5,"event":"call","schema":1,"state":"ringing"}"#
        )
        let action = EventMessage(event: "action", app: "a.b", call: "c", action: "answer", deadlineMs: 9)
        #expect(
            try json(action)
                == #"{"action":"answer","app":"a.b","call":"c","deadlineMs":9,"event":"action","schema":1}"#)
        #expect(try json(EventMessage(event: "reload")) == #"{"event":"reload","schema":1}"#)
    }

    @Test("The status names listeners, certificate, counts and wakeups")
    func status() throws {
        let status = StatusMessage(
            version: "1", pid: 2, uptimeMs: 3, configuration: "/c", appsDirectory: "/a", stateDirectory: "/s",
            controlSocket: "/r", listeners: [.init(address: "[::1]:1", environment: "production", connections: 4)],
            serverCertificate: .init(file: "/p", subject: "h", notAfter: 5, daysLeft: -1), apps: 6, activeCalls: 7,
            pushes: .init(accepted: 8, refused: ["BadDeviceToken": 9]),
            wakeups: .init(total: 10, byCause: ["timer": 11]))
        #expect(
            try json(status) == """
                {"activeCalls":7,"apps":6,"appsDirectory":"/a","configuration":"/c","controlSocket":"/r",\
                "listeners":[{"address":"[::1]:1","connections":4,"environment":"production"}],"pid":2,\
                "pushes":{"accepted":8,"refused":{"BadDeviceToken":9}},"schema":1,\
                "serverCertificate":{"daysLeft":-1,"file":"/p","notAfter":5,"subject":"h"},"stateDirectory":"/s",\
                "uptimeMs":3,"version":"1","wakeups":{"byCause":{"timer":11},"total":10}}
                """)
        #expect(try roundTrip(status))
    }

    @Test("Apps, reloads and errors")
    func others() throws {
        let app = AppMessage(
            app: "a.b", topic: "a.b.voip", exec: ["/h", "-v"], state: "registered", tokens: ["development": "00"],
            file: "/f")
        #expect(
            try json(AppListMessage(apps: [app])) == """
                {"apps":[{"app":"a.b","exec":["/h","-v"],"file":"/f","schema":1,"state":"registered",\
                "tokens":{"development":"00"},"topic":"a.b.voip"}],"schema":1}
                """)
        #expect(
            try json(ReloadMessage(apps: ["a.b"], needsRestart: ["listener"]))
                == #"{"apps":["a.b"],"needsRestart":["listener"],"schema":1}"#)
        #expect(
            try json(ErrorMessage(error: "not-found", message: "m"))
                == #"{"error":"not-found","message":"m","schema":1}"#)
    }

    @Test("Every member of a request's body may be left out where it has a default")
    func requests() throws {
        #expect(try JSONDecoder().decode(CallReport.self, from: Data("{}".utf8)) == CallReport())
        #expect(try JSONDecoder().decode(CallEnding.self, from: Data("{}".utf8)) == CallEnding())
        #expect(throws: (any Error).self) { try JSONDecoder().decode(ActionResult.self, from: Data("{}".utf8)) }
    }

    @Test("The verbs of handlers and of users are told apart")
    func verbs() {
        let handlers = CallVerb.allCases.filter(\.isHandlers).map(\.rawValue)
        #expect(handlers == ["report", "ring", "fulfill", "fail", "ended"])
    }
}
