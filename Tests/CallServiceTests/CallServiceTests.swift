import ControlProtocol
import RingwakeCore
import Testing

@testable import CallService

@Suite("The call service: events in, effects out")
final class CallServiceTests {
    private let phone: AppID
    private var service: CallServiceStateMachine
    private var now = BootInstant(nanoseconds: 1_000_000_000)
    private var lastRequest: UInt64 = 0
    private var verdict: ListVerdict?

    init() throws {
        phone = try #require(AppID("com.example.phone"))
        service = CallServiceStateMachine(
            ServiceConfiguration(apps: [phone: .init(policy: AppPolicy(), keepsState: true)], socketPath: "/run/s"))
    }

    private func handle(_ event: ServiceEvent) -> [ServiceEffect] {
        let (wall, verdict) = (now.nanoseconds / 1_000_000, verdict)
        let host = HostQueries(
            wallMilliseconds: { wall },
            moment: { LocalMoment(weekday: 3, minuteOfDay: 720, wallMilliseconds: wall) },
            verdict: { _ in verdict }, makeSecret: { "secret \(UInt64.random(in: 0 ... .max))" },
            hash: { Array($0.utf8) })
        return service.handle(event, at: now, asking: host)
    }

    private func push(
        _ id: String, _ facts: PushFacts = PushFacts(), expiration: VerifiedPush.Expiration? = nil,
        collapseID: String? = nil
    ) -> [ServiceEffect] {
        let push = VerifiedPush(
            pushID: id, app: phone,
            provenance: Provenance(sender: "TEAM123456", door: .apns(.production, .voip(of: phone))),
            priority: .immediate, expiration: expiration, collapseID: collapseID, payload: Array("{}".utf8),
            receivedAt: now, verifiedAt: now)
        lastRequest += 1
        return handle(.push(push, facts, RequestID(number: lastRequest)))
    }

    private func ask(
        _ method: String, _ target: String, _ body: String = "", secret: String? = nil,
        as standing: ControlPeer.Standing = .owner, process: ProcessIdentity? = nil, isInHandlerUnit: Bool = false
    ) -> [ServiceEffect] {
        lastRequest += 1
        return handle(
            .request(
                ServiceRequest(
                    RequestID(number: lastRequest), method, target, body: Array(body.utf8),
                    authorization: secret.map { "Bearer \($0)" },
                    peer: ControlPeer(
                        standing, pid: process?.pid, process: process, isInHandlerUnit: isInHandlerUnit))))
    }

    /// Status and body of the answer to the last request.
    private func answer(_ effects: [ServiceEffect]) -> (status: Int, body: String)? {
        for case .respond(RequestID(number: lastRequest), let status, let json) in effects {
            return (status, String(decoding: json, as: UTF8.self))
        }
        return nil
    }

    /// Runs what the journal would: all of it succeeds.
    private func store(_ effects: [ServiceEffect]) -> [ServiceEffect] {
        effects.flatMap { effect -> [ServiceEffect] in
            switch effect {
            case .append(_, _, let call?, _, _, _):
                handle(.calls(.pushJournaled(call.key, number: call.number, isKnown: false)))
            case .appendRing(let call): handle(.calls(.ringJournaled(call.key, number: call.number, isKnown: false)))
            case .barrier(let then): handle(.resumed(then))
            default: []
            }
        }
    }

    /// A push whose handler was started.
    /// - Returns: The handler's secret.
    private func wake(_ id: String) throws -> String {
        let effects = push(id)
        let started = effects.compactMap {
            if case .start(let request, let secret) = $0 { (request, secret) } else { nil }
        }
        let (request, secret) = try #require(started.first)
        _ = store(effects)
        _ = handle(.calls(.handlerStarted(request.wake, pid: 100)))
        return secret
    }

    // MARK: - Pushes

    @Test("A push starts the handler with a secret, and goes to the journal with the number of its request")
    func pushStarts() throws {
        let effects = push("c1")
        #expect(effects.contains { if case .start = $0 { true } else { false } })
        let appended = effects.compactMap { if case .append(_, _, _, _, _, let id) = $0 { id } else { nil } }
        #expect(appended == [RequestID(number: lastRequest)])
    }

    @Test("The sender of a further push learns what became of the call")
    func outcomes() throws {
        let facts = PushFacts(call: CallID("c1"))
        #expect(push("p1", facts).outcomes == [.started])
        #expect(push("p1", facts).outcomes == [.started] && push("p2", facts).outcomes == [.started])
        #expect(push("p3", PushFacts(call: CallID("c1"), cancel: .cancelled)).outcomes == [.cancelled])
        #expect(push("p4", facts).outcomes == [.duplicate] && push("p3", facts).outcomes == [.duplicate])
        let late = PushFacts(call: CallID("c2"), sentAt: BootInstant(nanoseconds: -600_000_000_000))
        #expect(push("q1", late).outcomes == [.expired] && push("q2", late).outcomes == [.expired])
    }

    @Test("The end of a replaced call is stored with the push that replaces it only, and told after the commit")
    func replaced() throws {
        _ = try wake("busy")
        _ = store(push("one", collapseID: "c"))
        _ = ask("GET", "/v1/events")
        let stream = lastRequest
        let effects = push("two", collapseID: "c")
        let appended = effects.compactMap { if case .append(_, _, _, let end?, _, _) = $0 { end } else { nil } }
        #expect(appended.map(\.reason) == [.replaced] && appended.map(\.key.id) == [CallID("one")])
        let written = effects.compactMap { if case .write(let call, _) = $0 { call.key.id } else { nil } }
        #expect(!written.contains(CallID("one")))
        #expect(!effects.lines(to: stream).contains("replaced"))
        #expect(store(effects).lines(to: stream).contains(#""endReason":"replaced""#))
    }

    @Test("A sender's clock is reported, and keeps no call from ringing")
    func senderClock() throws {
        let effects = push("p1", PushFacts(call: CallID("c1"), clockBehind: .seconds(600)))
        let clocks = effects.compactMap { if case .senderClock(_, let behind) = $0 { behind } else { nil } }
        #expect(clocks == [.seconds(600)] && effects.starts == [CallID("c1")])
    }

    @Test(
        "A waiting push whose sender allows one attempt is given when the disk knows of it, and not if its call ended",
        arguments: [false, true])
    func oneAttempt(isCancelled: Bool) throws {
        _ = try wake("c1")
        _ = store(push("c2", expiration: .oneAttempt))
        _ = store(push("p1", PushFacts(call: CallID("c1"), cancel: .cancelled)))
        let exited = handle(.calls(.handlerExited(WakeID(number: 1), .exited(0))))
        #expect(exited.starts.isEmpty)
        let barrier = try #require(exited.lastIndex { if case .barrier = $0 { true } else { false } })
        let written = exited[..<barrier].compactMap { if case .write(let call, .now) = $0 { call } else { nil } }
        #expect(written.contains { $0.key.id == CallID("c2") && $0.state == .woken && $0.attempt == 1 })
        if isCancelled { _ = push("p3", PushFacts(call: CallID("c2"), cancel: .cancelled)) }
        #expect(store(exited).starts == (isCancelled ? [] : [CallID("c2")]))
        #expect(service.coordinator.call(CallKey(app: phone, id: CallID("c2")))?.machine.hasEnded == isCancelled)
        #expect((service.coordinator.lanes[phone]?.handlers ?? [:]).isEmpty == isCancelled)
    }

    @Test("A push of an app that is not configured is refused, and so is one too many")
    func pushRefused() throws {
        _ = handle(.configured(ServiceConfiguration()))
        let effects = push("c1")
        guard case .refuse(_, .unavailable)? = effects.first else { return #expect(Bool(false), "\(effects)") }
        #expect(effects.count == 1)
    }

    @Test("A blocked caller's call is ended before its handler is started")
    func blocked() throws {
        verdict = ListVerdict(
            blocked: ListMatch(list: "spam", pattern: try CallerPattern("+49900*"), label: nil), identified: nil)
        var facts = PushFacts()
        facts.update.caller = "+49900123456"
        let effects = push("c1", facts)
        #expect(!effects.contains { if case .start = $0 { true } else { false } })
        #expect(service.coordinator.finished.first?.machine.state.endReason == .blocked)
    }

    // MARK: - Rights

    @Test("Strangers get no calls, a handler the verbs of calls on its own app, and a bad secret nothing")
    func rights() throws {
        let secret = try wake("c1")
        #expect(answer(ask("GET", "/v1/calls/c1", as: .stranger))?.status == 403)
        #expect(answer(ask("POST", "/v1/calls/c1/end", as: .stranger))?.status == 403)
        #expect(answer(ask("GET", "/v1/calls/c1", secret: secret, as: .stranger))?.status == 200)
        #expect(answer(ask("POST", "/v1/calls/c1/answer", secret: secret))?.status == 409)
        #expect(answer(ask("GET", "/v1/calls/c1", secret: "other"))?.status == 403)
        for target in ["/v1/apps", "/v1/lists", "/v1/dnd"] {
            #expect(answer(ask("GET", target, secret: secret))?.status == 403, "\(target)")
        }
        #expect(answer(ask("POST", "/v1/reload", as: .stranger))?.status == 403)
    }

    @Test("A member of the socket's group handles calls and do not disturb, and administers nothing")
    func members() throws {
        _ = try wake("c1")
        #expect(answer(ask("GET", "/v1/calls/c1", as: .member))?.status == 200)
        #expect(answer(ask("GET", "/v1/dnd", as: .member))?.status == 200)
        #expect(answer(ask("POST", "/v1/calls/c1/end", as: .member))?.status != 403)
        for (method, target) in [
            ("POST", "/v1/reload"), ("GET", "/v1/apps"), ("GET", "/v1/lists"), ("GET", "/v1/refusals"),
            ("DELETE", "/v1/apps/com.example.phone"), ("DELETE", "/v1/apps/com.example.phone/strikes"),
            ("PUT", "/v1/apps/com.example.phone/state"), ("GET", "/v1/apps/com.example.phone/credentials"),
        ] {
            #expect(answer(ask(method, target, as: .member))?.status == 403, "\(target)")
        }
    }

    @Test("A member in the unit of a handler that has ended has no rights, and one with a secret those of the handler")
    func unitOfEndedHandler() throws {
        let secret = try wake("c1")
        #expect(answer(ask("GET", "/v1/dnd", as: .member, isInHandlerUnit: true))?.status == 403)
        #expect(answer(ask("GET", "/v1/calls/c1", as: .member, isInHandlerUnit: true))?.status == 403)
        #expect(answer(ask("GET", "/v1/calls/c1", secret: secret, as: .member, isInHandlerUnit: true))?.status == 200)
    }

    @Test("While the last run is unknown, a handler of it is told to try again, and not that it is none")
    func unknownHandlers() throws {
        _ = handle(.restored(RestoredState(isKnown: false)))
        #expect(answer(ask("GET", "/v1/events", secret: "of the last run"))?.status == 504)
        #expect(answer(ask("GET", "/v1/calls", as: .member, isInHandlerUnit: true))?.status == 504)
        #expect(answer(ask("GET", "/v1/dnd"))?.status == 200)
        _ = handle(.restored(RestoredState()))
        #expect(answer(ask("GET", "/v1/events", secret: "of the last run"))?.status == 403)
    }

    @Test("What others answer is forwarded with its caller, and only to those who may ask")
    func forwarded() throws {
        let effects = ask("GET", "/v1/status", as: .stranger)
        guard case .forward(let request)? = effects.first else { return #expect(Bool(false), "\(effects)") }
        #expect(request.caller == .stranger && request.parts == ["status"])
        #expect(answer(ask("GET", "/v1/nothing"))?.status == 404)
        #expect(answer(ask("GET", "/v2/status"))?.status == 404)
        #expect(answer(ask("GET", "/v1/%zz"))?.status == 400)
    }

    @Test("A secret ends with its handler")
    func secretEnds() throws {
        let secret = try wake("c1")
        let wake = try #require(service.coordinator.lanes[phone]?.handlers.keys.first)
        _ = handle(.calls(.handlerExited(wake, .exited(0))))
        #expect(answer(ask("GET", "/v1/apps/com.example.phone/pushes", secret: secret))?.status == 403)
    }

    // MARK: - Answers that wait

    @Test("A report that confirms is answered when the journal has the ring")
    func settles() throws {
        let secret = try wake("c1")
        let reported = ask("POST", "/v1/calls/c1/report", #"{"ring":true}"#, secret: secret)
        #expect(answer(reported) == nil)
        #expect(answer(store(reported))?.body.contains(#""state":"ringing""#) == true)
    }

    @Test("A client that leaves while it waits is not answered")
    func left() throws {
        let secret = try wake("c1")
        let reported = ask("POST", "/v1/calls/c1/report", #"{"ring":true}"#, secret: secret)
        _ = handle(.left(RequestID(number: lastRequest)))
        #expect(answer(store(reported)) == nil)
        #expect(service.coordinator.call(CallKey(app: phone, id: CallID("c1")))?.machine.state.name == .ringing)
    }

    // MARK: - Streams and connected handlers

    @Test("The end of a call reaches a stream when it is durable, and what came before it first")
    func deferred() throws {
        let secret = try wake("c1")
        _ = store(ask("POST", "/v1/calls/c1/report", #"{"ring":true}"#, secret: secret))
        _ = ask("GET", "/v1/events")
        let stream = lastRequest
        let ended = ask("POST", "/v1/calls/c1/ended", #"{"reason":"remoteEnded"}"#, secret: secret)
        #expect(!ended.lines(to: stream).contains("ended"))
        #expect(store(ended).lines(to: stream).contains(#""state":"ended""#))
        _ = handle(.left(RequestID(number: stream)))
        #expect(service.subscriptions.namedApps.isEmpty)
    }

    @Test("A self-connected handler is greeted with a secret, gets pushes on its stream, and is gone with it")
    func connected() throws {
        let greeted = ask("GET", "/v1/apps/com.example.phone/handler", process: ProcessIdentity(pid: 42, startTime: 7))
        let stream = lastRequest
        #expect(greeted.lines(to: stream).contains(#""secret":"secret "#))
        #expect(service.handlers.connections == [phone: 1])
        let pushed = push("c1")
        #expect(pushed.lines(to: stream).contains(#""event":"wake""#))
        #expect(!pushed.contains { if case .start = $0 { true } else { false } })
        _ = store(pushed)
        let gone = handle(.left(RequestID(number: stream)))
        #expect(service.handlers.connections.isEmpty)
        #expect(gone.contains { if case .note(.appChanged) = $0 { true } else { false } })
    }

    @Test("A started handler that connects again replaces its stream, and keeps its calls")
    func reconnected() throws {
        let secret = try wake("c1")
        _ = ask("GET", "/v1/apps/com.example.phone/handler", secret: secret)
        let first = lastRequest
        let again = ask("GET", "/v1/apps/com.example.phone/handler", secret: secret)
        #expect(again.contains { if case .end(RequestID(number: first)) = $0 { true } else { false } })
        _ = handle(.left(RequestID(number: first)))
        #expect(service.handlers.connections == [phone: 1])
        #expect(service.coordinator.active.count == 1)
    }

    // MARK: - What is stored

    @Test("An app that is missing after a reload has its state when it is back; a removed one has not")
    func stateOutlivesReload() throws {
        let app = try #require(service.configuration.apps[phone])
        guard case .storeState(_, _, let then)? = ask("PUT", "/v1/apps/com.example.phone/state", "x").first else {
            return #expect(Bool(false))
        }
        _ = handle(then(.success(())))
        _ = handle(.configured(ServiceConfiguration()))
        _ = handle(.configured(ServiceConfiguration(apps: [phone: app])))
        #expect(
            ask("GET", "/v1/apps/com.example.phone/state").contains {
                if case .respondBytes = $0 { true } else { false }
            })
        _ = handle(.removed(phone))
        #expect(answer(ask("GET", "/v1/apps/com.example.phone/state"))?.status == 404)
    }

    @Test("State that the disk refuses is not kept; do not disturb that it refuses does not apply")
    func notStored() throws {
        let put = ask("PUT", "/v1/apps/com.example.phone/state", "x")
        guard case .storeState(let state, phone, let then)? = put.first else { return #expect(Bool(false), "\(put)") }
        #expect(state == Array("x".utf8))
        #expect(answer(handle(then(.failure(RingwakeError(.system, "disk full")))))?.status == 500)
        #expect(answer(ask("GET", "/v1/apps/com.example.phone/state"))?.status == 404)
        let first = ask("PUT", "/v1/dnd", #"{"repeatWithinMs":30000}"#)
        guard case .storeDoNotDisturb(_, let firstStored)? = first.first else {
            return #expect(Bool(false), "\(first)")
        }
        _ = handle(firstStored(.success(())))
        let change = ask("PUT", "/v1/dnd", #"{"state":"on"}"#)
        guard case .storeDoNotDisturb(_, let stored)? = change.first else { return #expect(Bool(false), "\(change)") }
        #expect(answer(ask("GET", "/v1/dnd"))?.body.contains(#""state":"on""#) == true, "it applies at once")
        let later = ask("PUT", "/v1/dnd", #"{"repeatWithinMs":60000}"#)
        guard case .storeDoNotDisturb(_, let laterStored)? = later.first else {
            return #expect(Bool(false), "\(later)")
        }
        for then in [stored, laterStored] { _ = handle(then(.failure(RingwakeError(.system, "disk full")))) }
        let rules = answer(ask("GET", "/v1/dnd"))?.body
        #expect(rules?.contains(#""state":"off""#) == true && rules?.contains("30000") == true, "\(rules ?? "")")
    }

    @Test(
        "What keeps a call from ringing again is answered when it is on the disk",
        arguments: [("answer", "answering"), ("decline", "ending"), ("end", "ending"), ("ended", "ended")])
    func durable(verb: String, state: String) throws {
        let secret = try wake("c1")
        _ = store(ask("POST", "/v1/calls/c1/report", #"{"ring":true}"#, secret: secret, as: .stranger))
        let target = "/v1/calls/c1/\(verb)"
        let effects = verb == "ended" ? ask("POST", target, secret: secret, as: .stranger) : ask("POST", target)
        #expect(answer(effects) == nil)
        #expect(answer(store(effects))?.body.contains(#""state":"\#(state)""#) == true)
    }

    @Test(
        "The end of a call's audio is published before the end of the call, which doesn't wait for it without bound",
        arguments: [true, false])
    func audioEndsFirst(isServerThere: Bool) throws {
        let secret = try wake("c1")
        _ = store(ask("POST", "/v1/calls/c1/report", #"{"ring":true}"#, secret: secret))
        _ = store(ask("POST", "/v1/calls/c1/answer"))
        _ = store(ask("POST", "/v1/calls/c1/fulfill", #"{"action":"answer"}"#, secret: secret))
        let key = CallKey(app: phone, id: CallID("c1"))
        _ = handle(.calls(.audioChanged(key, .activated(AudioRoute()))))
        _ = ask("GET", "/v1/events")
        let reader = lastRequest
        let ended = store(ask("POST", "/v1/calls/c1/ended", secret: secret))
        #expect(ended.lines(to: reader).isEmpty, "its audio is active")
        #expect(service.coordinator.call(key)?.machine.hasEnded == true)
        let begun = ask("GET", isServerThere ? "/v1/events?call=c1" : "/v1/events?since=1")
        let latecomer = lastRequest
        let limit = try #require(service.nextDeadline)
        #expect(now.duration(to: limit) == .seconds(1))
        if !isServerThere { now = limit }
        let published = handle(.calls(isServerThere ? .audioChanged(key, .deactivated) : .deadlineReached))
        let events = published.lines(to: reader).split(separator: "\n")
        #expect(events.count == 2 && events.first?.contains("audioDeactivated") == true, "\(events)")
        #expect(events.last?.contains(#""state":"ended""#) == true, "\(events)")
        #expect((begun + published).lines(to: latecomer) == published.lines(to: reader), "it gets each once, too")
        #expect(handle(.calls(.audioChanged(key, .deactivated))).lines(to: reader).isEmpty, "it ends once")
    }

    @Test("A misspelt parameter is refused on every route of the lists")
    func misspelt() throws {
        for (method, target) in [
            ("GET", "lists"), ("GET", "lists/a"), ("PUT", "lists/a"), ("DELETE", "lists/a"),
            ("POST", "lists/a/entries"),
            ("POST", "lists/a/import"), ("POST", "imports/1"), ("DELETE", "imports/1"), ("POST", "imports/1/finish"),
        ] {
            #expect(answer(ask(method, "/v1/\(target)?lmit=3", "{}"))?.status == 400, "\(method) \(target)")
        }
    }
}

extension [ServiceEffect] {
    /// The calls that handlers are started for.
    fileprivate var starts: [CallID] {
        compactMap { if case .start(let request, _) = $0 { request.call } else { nil } }
    }
}
