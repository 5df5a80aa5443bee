import ControlProtocol
import RingwakeCore
import Testing

@testable import CallService

@Suite("Restrictions, as apps read them and are told of them")
final class RestrictionsTests {
    private let phone: AppID
    private let other: AppID
    private var service: CallServiceStateMachine
    private var last = RequestID(number: 0)
    private var now = BootInstant(nanoseconds: 1_000_000_000)
    /// A Wednesday, 21:30; the wall clock runs beside the boot clock.
    private var wall: Int64 = 1_767_821_400_000
    private var minutes: Int64 = (2 * 24 + 21) * 60 + 30
    private var secrets = 0

    init() throws {
        phone = try #require(AppID("com.example.phone"))
        other = try #require(AppID("com.example.other"))
        service = CallServiceStateMachine()
        _ = handle(.configured(configuration()))
    }

    private func configuration(
        level: Int? = nil, content: ContentRestrictions = ContentRestrictions()
    ) -> ServiceConfiguration {
        let app = ServiceConfiguration.App(policy: AppPolicy())
        return ServiceConfiguration(apps: [phone: app, other: app], allowedLevel: level, content: content)
    }

    private func handle(_ event: ServiceEvent) -> [ServiceEffect] {
        secrets += 1
        let (wall, minutes, secrets) = (wall, minutes, secrets)
        let host = HostQueries(
            wallMilliseconds: { wall },
            moment: {
                LocalMoment(
                    weekday: Int(minutes / 1440 % 7) + 1, minuteOfDay: Int(minutes % 1440), wallMilliseconds: wall)
            },
            verdict: { caller in
                guard caller == CallerHandle("+49900123456", rules: .none), let pattern = try? CallerPattern("+49900*")
                else { return nil }
                return ListVerdict(blocked: ListMatch(list: "spam", pattern: pattern, label: nil), identified: nil)
            },
            makeSecret: { "secret\(secrets)" }, hash: { Array($0.utf8) })
        return service.handle(event, at: now, asking: host)
    }

    /// Time passes, on both clocks.
    private func advance(minutes passed: Int64) {
        now = now.advanced(by: .seconds(passed * 60))
        wall += passed * 60_000
        minutes += passed
    }

    private func ask(
        _ method: String, _ target: String, _ body: String = "", as standing: ControlPeer.Standing = .owner,
        secret: String? = nil
    ) -> [ServiceEffect] {
        last = RequestID(number: last.number + 1)
        return handle(
            .request(
                ServiceRequest(
                    last, method, target, body: Array(body.utf8), authorization: secret.map { "Bearer \($0)" },
                    peer: ControlPeer(standing))))
    }

    /// Begins a stream: its number, and its first lines.
    private func stream(_ target: String) -> (number: UInt64, lines: String) {
        let effects = ask("GET", target)
        return (last.number, effects.lines(to: last.number))
    }

    /// Sets the rules, and stores them.
    private func dnd(_ body: String) -> [ServiceEffect] {
        let effects = ask("PUT", "/v1/dnd", body)
        for case .storeDoNotDisturb(_, let then) in effects { return effects + handle(then(.success(()))) }
        return effects
    }

    private func answer(_ effects: [ServiceEffect]) -> (status: Int, body: String)? {
        for case .respond(last, let status, let json) in effects {
            return (status, String(decoding: json, as: UTF8.self))
        }
        return nil
    }

    private func told(_ effects: [ServiceEffect], _ stream: UInt64) -> [String] {
        effects.lines(to: stream).split(separator: "\n").filter { $0.contains(#""event":"restrictions""#) }
            .map(String.init)
    }

    @Test("Each change of do not disturb is told once, and an app that may ring is told nothing")
    func doNotDisturb() throws {
        _ = dnd(#"{"allowApps":["com.example.other"]}"#)
        let (phones, others, all) = (
            stream("/v1/apps/com.example.phone/handler"), stream("/v1/events?app=com.example.other"),
            stream("/v1/events")
        )
        let one = stream("/v1/events?call=c1")
        let on = dnd(#"{"state":"on"}"#)
        #expect(told(on, phones.number).count == 1)
        #expect(told(on, phones.number).first?.contains(#""active":true"#) == true)
        #expect(told(on, others.number).isEmpty && told(on, one.number).isEmpty)
        #expect(told(on, all.number).count == 1 && !told(on, all.number)[0].contains(#""app""#))
        let read = try #require(answer(ask("GET", "/v1/apps/com.example.phone/restrictions")))
        #expect(read.status == 200 && told(on, phones.number)[0].contains(read.body))
        let exempt = try #require(answer(ask("GET", "/v1/apps/com.example.other/restrictions")))
        #expect(exempt.body.contains(#""active":false"#))
        // The exception ends: for that app it begins.
        let disallowed = dnd(#"{"allowApps":[]}"#)
        #expect(told(disallowed, others.number).count == 1 && told(disallowed, phones.number).isEmpty)
        #expect(told(disallowed, all.number).isEmpty)
        let again = dnd(#"{"state":"on"}"#)
        #expect(told(again, phones.number).isEmpty)
    }

    @Test("Rules that could not be stored are taken back, and that is told")
    func reverted() {
        let phones = stream("/v1/apps/com.example.phone/handler")
        let effects = ask("PUT", "/v1/dnd", #"{"state":"on"}"#)
        #expect(told(effects, phones.number).count == 1)
        for case .storeDoNotDisturb(_, let then) in effects {
            let failed = handle(then(.failure(RingwakeError(.system, "the disk is full"))))
            #expect(told(failed, phones.number).first?.contains(#""active":false"#) == true)
        }
    }

    @Test("A schedule's begin and end are told when they come, and only while somebody reads")
    func schedule() throws {
        _ = dnd(#"{"schedule":["daily 22:00-07:00"]}"#)
        #expect(service.screening.nextChange == nil)
        let phones = stream("/v1/apps/com.example.phone/handler")
        let begin = try #require(service.screening.nextChange)
        #expect(now.duration(to: begin) == .seconds(30 * 60) + .milliseconds(1))
        _ = handle(.cellularChanged(isActive: true))
        #expect(service.screening.nextChange == begin, "the deadline stays as it is")
        advance(minutes: 30)
        now = begin
        let began = told(handle(.calls(.deadlineReached)), phones.number)
        #expect(began.count == 1 && began[0].contains(#""active":true,"until":"2026-"#))
        advance(minutes: 9 * 60)
        now = try #require(service.screening.nextChange)
        #expect(told(handle(.calls(.deadlineReached)), phones.number).first?.contains(#""active":false"#) == true)
        _ = handle(.left(RequestID(number: phones.number)))
        #expect(service.screening.nextChange == nil)
    }

    @Test("A step of the wall clock moves the begin, at the next event")
    func clockStep() throws {
        _ = dnd(#"{"schedule":["daily 22:00-07:00"]}"#)
        let phones = stream("/v1/apps/com.example.phone/handler")
        let before = try #require(service.screening.nextChange)
        wall += 10 * 60_000
        minutes += 10
        _ = handle(.cellularChanged(isActive: true))
        let after = try #require(service.screening.nextChange)
        #expect(after.duration(to: before) == .seconds(600))
        // The time zone changes, or daylight saving time: it is night at once.
        minutes += 60
        #expect(told(handle(.cellularChanged(isActive: false)), phones.number).count == 1)
    }

    @Test("A reload tells what it changes, with the rating that the level allows")
    func reload() throws {
        let phones = stream("/v1/apps/com.example.phone/handler")
        #expect(!phones.lines.contains("restrictions"))
        for (level, rating) in [
            (3, #"{"name":"none","number":0}"#), (4, #"{"name":"4+","number":100}"#),
            (11, #"{"name":"9+","number":200}"#), (12, #"{"name":"12+","number":300}"#),
            (21, #"{"name":"17+","number":600}"#),
        ] {
            let effects = told(handle(.configured(configuration(level: level))), phones.number)
            #expect(effects.count == 1 && effects[0].contains(#""rating":"# + rating))
            #expect(told(handle(.configured(configuration(level: level))), phones.number).isEmpty)
        }
        let strict = ContentRestrictions(allowsExplicitContent: false, allowsVideoCalls: false)
        let effects = told(handle(.configured(configuration(content: strict))), phones.number)
        #expect(effects[0].contains(#""explicitContentAllowed":false"#))
        #expect(effects[0].contains(#""videoCallsAllowed":false"#))
        let hello = stream("/v1/apps/com.example.phone/handler").lines.split(separator: "\n")
        #expect(hello.first?.contains(#""restrictions":{"doNotDisturb":{"active":false},"explicit"#) == true)
        #expect(hello.count == 1)
        #expect(told(ask("GET", "/v1/events?app=com.example.phone"), last.number).count == 1)
        let all = told(ask("GET", "/v1/events"), last.number)
        #expect(all.count == 1 && all.first?.contains(#""app""#) == false)
        #expect(told(ask("GET", "/v1/events?call=c1"), last.number).isEmpty)
    }

    @Test("An app reads its own, and so do people; others are refused")
    func rights() throws {
        let target = "/v1/apps/com.example.phone/restrictions"
        let hello = stream("/v1/apps/com.example.other/handler").lines
        let secret = try #require(hello.firstMatch(of: /"secret":"([a-z0-9]+)"/)?.1)
        for standing in [ControlPeer.Standing.owner, .member] {
            #expect(answer(ask("GET", target, as: standing))?.status == 200)
        }
        #expect(answer(ask("GET", target, as: .stranger))?.status == 403)
        #expect(answer(ask("GET", target, secret: String(secret)))?.status == 403)
        let question = target + "/caller?caller=1"
        #expect(answer(ask("GET", question))?.status == 200)
        // The lists are the owner's.
        #expect(answer(ask("GET", question, as: .member))?.status == 403)
        #expect(answer(ask("GET", question, secret: String(secret)))?.status == 403)
        #expect(answer(ask("GET", "/v1/apps/com.example.nobody/restrictions"))?.status == 404)
        #expect(answer(ask("POST", target))?.status == 400)
    }

    @Test("An app may ask ten times at once, and then once a second; each app has its own turns")
    func questions() throws {
        let secret = try #require(
            stream("/v1/apps/com.example.phone/handler").lines.firstMatch(of: /"secret":"([a-z0-9]+)"/)?.1)
        let others = try #require(
            stream("/v1/apps/com.example.other/handler").lines.firstMatch(of: /"secret":"([a-z0-9]+)"/)?.1)
        let target = "/v1/apps/com.example.phone/restrictions/caller?caller="
        #expect(
            answer(ask("GET", target + "%2B49900123456", secret: String(secret)))?.body
                == #"{"blocked":true,"schema":1}"#)
        for _ in 0..<9 {
            #expect(
                answer(ask("GET", target + "alice", secret: String(secret)))?.body == #"{"blocked":false,"schema":1}"#)
        }
        now = now.advanced(by: .milliseconds(300))
        let refused = ask("GET", target + "alice", secret: String(secret))
        #expect(answer(refused) == nil)
        var waits: [Duration] = []
        for case .refuseForNow(last, let wait, let json) in refused {
            waits.append(wait)
            #expect(String(decoding: json, as: UTF8.self).contains(#""error":"limit-reached""#))
        }
        #expect(waits == [.milliseconds(700)])
        let otherTarget = "/v1/apps/com.example.other/restrictions/caller?caller=alice"
        #expect(answer(ask("GET", otherTarget, secret: String(others)))?.status == 200)
        #expect(answer(ask("GET", target + "alice"))?.status == 200, "the owner may read the lists")
        now = now.advanced(by: .milliseconds(700))
        #expect(answer(ask("GET", target + "alice", secret: String(secret)))?.status == 200)
        #expect(answer(ask("GET", target + "alice", secret: String(secret))) == nil)
    }
}
