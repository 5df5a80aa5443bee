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
            hash: { Array($0.utf8) }, process: { ProcessIdentity(pid: $0, startTime: 7) })
        return service.handle(event, at: now, asking: host)
    }

    private func push(
        _ id: String, _ facts: PushFacts = PushFacts(), expiration: VerifiedPush.Expiration? = nil
    ) -> [ServiceEffect] {
        let push = VerifiedPush(
            pushID: id, app: phone,
            provenance: Provenance(sender: "TEAM123456", door: .apns(.production, .voip(of: phone))),
            priority: .immediate, expiration: expiration, collapseID: nil, payload: Array("{}".utf8), receivedAt: now,
            verifiedAt: now)
        lastRequest += 1
        return handle(.push(push, facts, RequestID(number: lastRequest)))
    }

    private func ask(
        _ method: String, _ target: String, _ body: String = "", secret: String? = nil, isOwner: Bool = true,
        pid: Int32? = nil
    ) -> [ServiceEffect] {
        lastRequest += 1
        return handle(
            .request(
                ServiceRequest(
                    RequestID(number: lastRequest), method, target, body: Array(body.utf8),
                    authorization: secret.map { "Bearer \($0)" }, isOwner: isOwner, pid: pid)))
    }

    /// Status and body of the answer to the last request.
    private func answer(_ effects: [ServiceEffect]) -> (status: Int, body: String)? {
        for case .respond(RequestID(number: lastRequest), let status, let json) in effects {
            return (status, String(decoding: json, as: UTF8.self))
        }
        return nil
    }

    private func lines(_ effects: [ServiceEffect], to request: UInt64) -> String {
        effects.reduce(into: "") { text, effect in
            if case .send(RequestID(number: request), let bytes, _) = effect {
                text += String(decoding: bytes, as: UTF8.self)
            }
        }
    }

    /// Runs what the journal would: all of it succeeds.
    private func store(_ effects: [ServiceEffect]) -> [ServiceEffect] {
        effects.flatMap { effect -> [ServiceEffect] in
            switch effect {
            case .append(_, _, let call?, _):
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
        let appended = effects.compactMap { if case .append(_, _, _, let id) = $0 { id } else { nil } }
        #expect(appended == [RequestID(number: lastRequest)])
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

    @Test("Strangers get no calls, a handler the verbs of handlers on its own app, and a bad secret nothing")
    func rights() throws {
        let secret = try wake("c1")
        #expect(answer(ask("GET", "/v1/calls/c1", isOwner: false))?.status == 403)
        #expect(answer(ask("POST", "/v1/calls/c1/end", isOwner: false))?.status == 403)
        #expect(answer(ask("GET", "/v1/calls/c1", secret: secret, isOwner: false))?.status == 200)
        #expect(answer(ask("POST", "/v1/calls/c1/answer", secret: secret))?.status == 403)
        #expect(answer(ask("GET", "/v1/calls/c1", secret: "other"))?.status == 403)
        for target in ["/v1/apps", "/v1/lists", "/v1/dnd"] {
            #expect(answer(ask("GET", target, secret: secret))?.status == 403, "\(target)")
        }
        #expect(answer(ask("POST", "/v1/reload", isOwner: false))?.status == 403)
    }

    @Test("What others answer is forwarded with its caller, and only to those who may ask")
    func forwarded() throws {
        let effects = ask("GET", "/v1/status", isOwner: false)
        guard case .forward(let request)? = effects.first else { return #expect(Bool(false), "\(effects)") }
        #expect(request.caller == .user && request.parts == ["status"])
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

    @Test("A report that confirms is answered when the journal has the ring; an end is answered when it is durable")
    func settles() throws {
        let secret = try wake("c1")
        let reported = ask("POST", "/v1/calls/c1/report", #"{"ring":true}"#, secret: secret)
        #expect(answer(reported) == nil)
        #expect(answer(store(reported))?.body.contains(#""state":"ringing""#) == true)
        let ended = ask("POST", "/v1/calls/c1/decline")
        #expect(answer(ended) == nil)
        #expect(answer(store(ended))?.status == 200)
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
        #expect(!lines(ended, to: stream).contains("ended"))
        #expect(lines(store(ended), to: stream).contains(#""state":"ended""#))
        _ = handle(.left(RequestID(number: stream)))
        #expect(service.subscriptions.namedApps.isEmpty)
    }

    @Test("A self-connected handler is greeted with a secret, gets pushes on its stream, and is gone with it")
    func connected() throws {
        let greeted = ask("GET", "/v1/apps/com.example.phone/handler", pid: 42)
        let stream = lastRequest
        #expect(lines(greeted, to: stream).contains(#""secret":"secret "#))
        #expect(service.handlers.connections == [phone: 1])
        let pushed = push("c1")
        #expect(lines(pushed, to: stream).contains(#""event":"wake""#))
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
        "An end that the user or the other side brings about is answered when it is on the disk",
        arguments: [true, false])
    func durableEnd(isHandler: Bool) throws {
        let secret = try wake("c1")
        _ = store(ask("POST", "/v1/calls/c1/report", #"{"ring":true}"#, secret: secret, isOwner: false))
        let effects =
            isHandler
            ? ask("POST", "/v1/calls/c1/ended", secret: secret, isOwner: false) : ask("POST", "/v1/calls/c1/decline")
        #expect(answer(effects) == nil)
        let stored = store(effects)
        if isHandler { #expect(answer(stored)?.body.contains("ended") == true) }
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
