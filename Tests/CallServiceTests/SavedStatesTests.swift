import RingwakeCore
import Testing

@testable import CallService

@Suite("What apps store: it is dropped when it crashes its handler twice in a row, and when the app is reset")
final class SavedStatesTests {
    private let phone: AppID
    private var service: CallServiceStateMachine
    private var now = BootInstant(nanoseconds: 1_000_000_000)
    private var lastRequest: UInt64 = 0
    private let target = "/v1/apps/com.example.phone/"

    init() throws {
        phone = try #require(AppID("com.example.phone"))
        service = CallServiceStateMachine(
            ServiceConfiguration(apps: [phone: .init(policy: AppPolicy(), keepsState: true)]))
        _ = store(ask("PUT", "state", "x"))
    }

    private func handle(_ event: ServiceEvent) -> [ServiceEffect] {
        let host = HostQueries(
            wallMilliseconds: { 7 }, moment: { LocalMoment(weekday: 3, minuteOfDay: 720, wallMilliseconds: 7) },
            verdict: { _ in nil }, makeSecret: { "secret \(UInt64.random(in: 0 ... .max))" }, hash: { Array($0.utf8) })
        return service.handle(event, at: now, asking: host)
    }

    private func ask(_ method: String, _ part: String, _ body: String = "", secret: String? = nil) -> [ServiceEffect] {
        lastRequest += 1
        return handle(
            .request(
                ServiceRequest(
                    RequestID(number: lastRequest), method, part.hasPrefix("/") ? part : target + part,
                    body: Array(body.utf8), authorization: secret.map { "Bearer \($0)" },
                    peer: ControlPeer(secret == nil ? .owner : .stranger))))
    }

    private func status(_ effects: [ServiceEffect]) -> Int? {
        for effect in effects {
            if case .respond(_, let status, _) = effect { return status }
            if case .respondBytes = effect { return 200 }
        }
        return nil
    }

    /// Runs what the journal would: all of it succeeds.
    @discardableResult
    private func store(_ effects: [ServiceEffect]) -> [ServiceEffect] {
        effects.flatMap { effect -> [ServiceEffect] in
            switch effect {
            case .append(_, _, let call?, _, _, _):
                handle(.calls(.pushJournaled(call.key, number: call.number, isKnown: false)))
            case .appendRing(let call): handle(.calls(.ringJournaled(call.key, number: call.number, isKnown: false)))
            case .barrier(let then): handle(.resumed(then))
            case .storeState(_, _, let then):
                { done in done + self.store(done) }(handle(then(.success(()))))
            default: []
            }
        }
    }

    private func started(_ effects: [ServiceEffect]) -> (wake: WakeID, secret: String)? {
        for case .start(let request, let secret) in effects { return (request.wake, secret) }
        return nil
    }

    /// A handler that was started for a push.
    private func wake(_ id: String) throws -> (wake: WakeID, secret: String) {
        lastRequest += 1
        let push = VerifiedPush(
            pushID: id, app: phone,
            provenance: Provenance(sender: "TEAM123456", door: .apns(.production, .voip(of: phone))),
            priority: .immediate, expiration: nil, collapseID: nil, payload: Array("{}".utf8), receivedAt: now,
            verifiedAt: now)
        let effects = handle(.push(push, PushFacts(), RequestID(number: lastRequest)))
        store(effects)
        let (wake, secret) = try #require(started(effects))
        _ = handle(.calls(.handlerStarted(wake, pid: 100)))
        return (wake, secret)
    }

    /// A handler reads the state, does something, and ends.
    private func life(
        _ id: String, _ exit: HandlerExit = .signalled(11), reads: Bool = true, _ body: (String) -> Void = { _ in }
    ) throws -> [ServiceEffect] {
        let (wake, secret) = try wake(id)
        if reads { _ = ask("GET", "state", secret: secret) }
        body(secret)
        return handle(.calls(.handlerExited(wake, exit)))
    }

    private var crashes: Int { service.states.record(of: phone).crashes }
    private var isKept: Bool { service.states[phone] != nil }

    private func stored(_ effects: [ServiceEffect]) -> [Int] {
        effects.compactMap { if case .storeRestoration(let record, phone) = $0 { record.crashes } else { nil } }
    }

    private func dropped(_ effects: [ServiceEffect]) -> [SavedStates.Drop?] {
        effects.compactMap { if case .dropState(phone, let record) = $0 { record.drop } else { nil } }
    }

    @Test("The first crash is stored, the second in a row drops it, and a handler that starts then finds none")
    func crashesTwice() throws {
        _ = ask("GET", "/v1/events")
        #expect(stored(try life("c1")) == [1] && isKept)
        let second = try life("c2", .exited(1))
        #expect(dropped(second) == [.init(.crashed, at: 7)] && !isKept && crashes == 0)
        let lines = second.compactMap {
            if case .send(_, let line, _) = $0 { String(decoding: line, as: UTF8.self) } else { nil }
        }
        #expect(lines.contains { $0.contains(#""event":"stateDropped""#) && $0.contains(#""reason":"crashed""#) })
        let (_, secret) = try wake("c3")
        #expect(status(ask("GET", "state", secret: secret)) == 404)
    }

    @Test("The count of the last run goes on")
    func countsOverRestarts() throws {
        let states = SavedStates(contents: [phone: [1]], records: [phone: .init(crashes: 1)])
        _ = handle(.restored(RestoredState(states: states)))
        #expect(dropped(try life("c1")).count == 1)
    }

    @Test("A handler that says that it has restored, or that it works, has")
    func restored() throws {
        _ = try life("c1")
        var answer: Int?
        let second = try life("c2") { secret in answer = status(ask("POST", "restored", secret: secret)) }
        #expect(answer == 200 && stored(second).isEmpty && isKept && crashes == 0)
        _ = try life("c3")
        _ = try life("c4") { secret in _ = ask("POST", "/v1/calls/c4/report", secret: secret) }
        #expect(isKept && crashes == 0)
    }

    @Test("A handler that claims a call may have to restore what it needs for it: that is no success")
    func claimed() throws {
        let (first, secret) = try wake("c1")
        store(ask("POST", "/v1/calls/c1/report", #"{"ring":true}"#, secret: secret))
        var next = handle(.calls(.handlerExited(first, .signalled(9))))
        for count in 1...2 {
            let (wake, secret) = try #require(started(next))
            _ = handle(.calls(.handlerStarted(wake, pid: 100)))
            _ = ask("GET", "state", secret: secret)
            #expect(status(ask("POST", "/v1/calls/c1/claim", secret: secret)) == 200)
            #expect(service.states.record(of: phone).crashes == count - 1)
            next = handle(.calls(.handlerExited(wake, .signalled(11))))
        }
        #expect(dropped(next).count == 1 && !isKept)
    }

    @Test("The success is stored, once")
    func successIsStored() throws {
        _ = try life("c1")
        let (_, secret) = try wake("c2")
        _ = ask("GET", "state", secret: secret)
        #expect(stored(ask("POST", "restored", secret: secret)) == [0])
        #expect(stored(ask("POST", "restored", secret: secret)).isEmpty)
    }

    @Test(
        "What is no crash counts nothing: no state was read, the end is normal or unknown, or the handler was stopped")
    func noCrash() throws {
        _ = try life("c0")
        #expect(stored(try life("c1", reads: false)).isEmpty && crashes == 1)
        #expect(stored(try life("c2", .left("its unit was stopped"))).isEmpty && crashes == 1)
        let (wake, secret) = try wake("c3")
        _ = ask("GET", "state", secret: secret)
        // It doesn't report its call in time.
        now = now.advanced(by: .seconds(6))
        let late = handle(.calls(.deadlineReached))
        #expect(late.contains { if case .stop(wake) = $0 { true } else { false } })
        _ = handle(.calls(.handlerExited(wake, .signalled(15))))
        #expect(isKept && crashes == 1)
        #expect(stored(try life("c4", .exited(0))) == [0])
    }

    @Test("A reset drops it at once, ends calls and handlers, and is answered when the disk has it")
    func reset() throws {
        let (wake, secret) = try wake("c1")
        let effects = ask("POST", "reset")
        #expect(dropped(effects) == [.init(.reset, at: 7)] && !isKept)
        #expect(effects.contains { if case .stop(wake) = $0 { true } else { false } })
        #expect(status(effects) == nil)
        #expect(service.coordinator.active.isEmpty)
        #expect(status(store(effects)) == 200)
        // A handler that is being stopped must not bring it back.
        #expect(status(ask("PUT", "state", "old", secret: secret)) == 409)
        _ = handle(.calls(.handlerExited(wake, .signalled(15))))
        #expect(status(store(ask("PUT", "state", "new"))) == 200 && isKept)
    }

    @Test("A reset that the disk refuses is an error; a handler and a member may not ask for one")
    func refusedReset() throws {
        let (_, secret) = try wake("c1")
        #expect(status(ask("POST", "reset", secret: secret)) == 403)
        #expect(status(ask("POST", "/v1/apps/com.example.other/reset")) == 404)
        for effect in ask("POST", "reset") {
            guard case .storeState(_, _, let then) = effect else { continue }
            #expect(status(handle(then(.failure(RingwakeError(.system, "disk full"))))) == 500)
        }
    }

    @Test("The owner reads it without restoring it, and cannot say that it is restored")
    func owner() throws {
        #expect(status(ask("GET", "state")) == 200)
        #expect(status(ask("POST", "restored")) == 403)
        #expect(status(ask("GET", "restored")) == 400)
    }
}
