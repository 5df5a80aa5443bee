import Synchronization
import Testing

@testable import RingwakeKit

@Suite("Client", .timeLimit(.minutes(10)))
struct ClientTests {
    private let daemon = ScriptedDaemon()

    @Test("what happened before anybody listened is told to the first, and then to each")
    func waiting() async throws {
        let client = try daemon.client()
        let registry = PushRegistry(client: client)
        try await daemon.greet(wake("c1"), wake("c2"))
        var events = registry.events.makeAsyncIterator()
        guard case .incomingPush(let one)? = await events.next(), case .incomingPush(let two)? = await events.next()
        else {
            Issue.record("no pushes")
            return
        }
        #expect([one.call, two.call] == ["c1", "c2"])
        var others = registry.events.makeAsyncIterator()
        // It has joined when what is handed over after it has run.
        _ = await client.requests.onThread { _ in }
        daemon.say(wake("c3"))
        guard case .incomingPush(let three)? = await events.next(), case .incomingPush(let same)? = await others.next()
        else {
            Issue.record("no third push")
            return
        }
        #expect([three.call, same.call] == ["c3", "c3"])
    }

    @Test("of more events than wait at most, those go that a later one replaces")
    func overflow() async throws {
        let client = try daemon.client()
        try await daemon.greet()
        daemon.say(wake("c1"))
        for number in 1..<1_030 { daemon.say(wake("c1", kind: "update", payload: #"{"n":\#(number)}"#)) }
        _ = await client.requests.onThread { _ in }
        let told = Mutex<[String]>([])
        PushRegistry(client: client).observeEvents { event in
            if case .incomingPush(let push) = event {
                told.withLock { $0.append(String(decoding: push.payload, as: UTF8.self)) }
            }
        }
        _ = await client.requests.onThread { _ in }
        #expect(told.withLock { $0.count } < 1_024)
        #expect(told.withLock { $0.first } == #"{"a":1}"#, "the push of a call in progress stays")
        #expect(told.withLock { $0.last } == #"{"n":1029}"#)
    }

    @Test("no action of a call in progress is dropped, however many wait; those of ended calls go")
    func actionsStay() async throws {
        let client = try daemon.client()
        let provider = CallProvider(client: client)
        let actions = provider.actions
        try await daemon.greet()
        for number in 1...1_100 as ClosedRange<Int64> {
            let id = "old\(number)"
            daemon.say(wake(id))
            daemon.say(call(id, number, "connected"))
            daemon.say(action(id, "hold"))
            daemon.say(call(id, number, "ended"))
        }
        daemon.say(wake("c1"))
        daemon.say(call("c1", 2_000, "connected"))
        daemon.say(action("c1", "hold"))
        for _ in 1...1_100 { daemon.say(action("c1", "dtmf", digits: "5")) }
        _ = await client.requests.onThread { _ in }
        client.close()
        var kinds: [CallAction.Kind] = []
        var others = 0
        for await action in actions {
            if action.call == "c1" { kinds.append(action.kind) } else { others += 1 }
        }
        #expect(kinds == [.hold] + Array(repeating: .dtmf, count: 1_100))
        #expect(others < 1_024)
    }

    @Test("an observer that was removed is not called again")
    func removedObserver() async throws {
        let client = try daemon.client()
        let provider = CallProvider(client: client)
        let heard = Mutex(0)
        let observation = provider.observeEvents { _ in heard.withLock { $0 += 1 } }
        provider.observeEvents { _ in observation.cancel() }
        provider.observeEvents { _ in heard.withLock { $0 += 10 } }.cancel()
        try await daemon.greet(call("c1", 1, "ringing"), call("c1", 1, "connected"))
        _ = await client.requests.onThread { _ in }
        #expect(heard.withLock { $0 } == 1)
    }

    @Test("what it was started for comes first")
    func initialPush() async throws {
        let push = try IncomingPush(json: Array(push("c0").utf8))
        let client = try daemon.client { $0.initialPush = push }
        try await daemon.greet(wake("c1"))
        var events = PushRegistry(client: client).events.makeAsyncIterator()
        guard case .incomingPush(let first)? = await events.next() else {
            Issue.record("no push")
            return
        }
        #expect(first.call == "c0")
    }

    @Test("what waits is fetched")
    func fetched() async throws {
        let client = try daemon.client()
        var events = PushRegistry(client: client).events.makeAsyncIterator()
        try await daemon.greet()
        daemon.say(#"{"app":"com.example.phone","call":"c1","event":"pushWaiting","kind":"call","schema":1}"#)
        let (number, request) = try await daemon.request("GET /v1/apps/com.example.phone/pushes")
        #expect(request.secret == "given")
        daemon.answer(number, #"{"pushes":[\#(push("c1"))],"schema":1}"#)
        guard case .incomingPush(let fetched)? = await events.next() else {
            Issue.record("no push")
            return
        }
        #expect(fetched.call == "c1")
        let again = try await daemon.request("GET /v1/apps/com.example.phone/pushes")
        daemon.answer(again.number, #"{"pushes":[],"schema":1}"#)
    }

    @Test("credentials are asked for with each connection, and are there to be read")
    func credentials() async throws {
        let client = try daemon.client()
        let registry = PushRegistry(client: client)
        var events = registry.events.makeAsyncIterator()
        try await daemon.greet()
        let (number, _) = try await daemon.request("GET /v1/apps/com.example.phone/credentials")
        daemon.answer(
            number,
            #"{"app":"a","credentials":[{"environment":"development","token":"0a"}],"schema":1,"teams":["T"],"#
                + #""topic":"a.voip"}"#)
        guard case .credentialsUpdated(let told)? = await events.next() else {
            Issue.record("no credentials")
            return
        }
        #expect(told == registry.credentials)
        #expect(told.first?.environment == .development)
        daemon.endStream()
        try await daemon.greet()
        let (second, _) = try await daemon.request("GET /v1/apps/com.example.phone/credentials")
        daemon.refuse(second, 404, "not-found")
        guard case .credentialsInvalidated? = await events.next() else {
            Issue.record("no end of them")
            return
        }
        #expect(registry.credentials == [])
    }

    @Test("a bad line, and a bad answer to the client's own request, break the connection and it comes back")
    func badBytes() async throws {
        let client = try daemon.client()
        var updates = client.connectionUpdates.makeAsyncIterator()
        try await daemon.greet()
        daemon.say("{")
        while case .waiting(let why, _)? = await updates.next() { #expect(why.code == .badAnswer) }
        try await daemon.greet()
        let (number, _) = try await daemon.request("GET /v1/apps/com.example.phone/credentials")
        daemon.answer(number, "[]")
        try await daemon.greet()
        // What is told of a stream that is no more is passed over.
        daemon.tell(.streamLine(1, Array("{".utf8)))
        daemon.tell(.answered(999, ControlAnswer(status: 200, body: [])))
        _ = await client.requests.onThread { _ in }
        #expect(client.connection == .connected)
    }

    @Test("when it is closed every stream ends, and what waits fails")
    func closed() async throws {
        let client = try daemon.client()
        let provider = CallProvider(client: client)
        let (actions, events) = (provider.actions, provider.events)
        async let ring: RingwakeKitError? = {
            do throws(CallError) {
                try await provider.startRinging("c1")
                return nil
            } catch {
                return error.code == .noAnswer ? error.cause : nil
            }
        }()
        try await daemon.greet()
        _ = try await daemon.request("POST")
        client.close()
        client.close()
        #expect(await ring?.code == .closed)
        for await _ in actions {}
        for await _ in events {}
        for await _ in provider.actions {}
        #expect(client.connection == .closed)
        let late = await #expect(throws: CallError.self) { try await provider.startRinging("c1") }
        #expect(late == CallError(.isClosed))
    }

    @Test("it can be closed from within a callback")
    func closedFromWithin() async throws {
        let client = try daemon.client()
        let provider = CallProvider(client: client)
        provider.observeEvents { _ in client.close() }
        let events = provider.events
        try await daemon.greet(call("c1", 1, "ringing"))
        for await _ in events {}
        #expect(client.connection == .closed)
    }

    @Test("it ends with its last reference, and lives while a stream is read")
    func lifetime() async throws {
        var events = CallProvider(client: try daemon.client()).events.makeAsyncIterator()
        try await daemon.greet(call("c1", 1, "ringing"))
        #expect(await events.next() != nil)
        let second = ScriptedDaemon()
        _ = try second.client()
        await #expect(throws: CancellationError.self) { while true { _ = try await second.next() } }
    }

    @Test("no more requests wait than may")
    func tooMany() async throws {
        let client = try daemon.client()
        let provider = CallProvider(client: client)
        let refused = await withTaskGroup { group in
            for _ in 0..<300 {
                group.addTask {
                    do throws(CallError) {
                        try await provider.startRinging("c1")
                        return 0
                    } catch {
                        return error.code == .refused && error.cause?.code == .limitReached ? 1 : 0
                    }
                }
            }
            var refused = 0
            for await one in group {
                refused += one
                if refused == 44 { client.close() }
            }
            return refused
        }
        #expect(refused == 44)
    }

    @Test("a path that no socket can have, and an app without a name, are refused")
    func badConfiguration() {
        for configuration in [
            RingwakeClient.Configuration(app: "a", socketPath: ""),
            RingwakeClient.Configuration(app: "", socketPath: "/s"),
        ] {
            let error = #expect(throws: RingwakeKitError.self) { try RingwakeClient(configuration) }
            #expect(error?.code == .invalidRequest)
        }
    }
}
