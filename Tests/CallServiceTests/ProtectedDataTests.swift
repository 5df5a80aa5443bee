import ControlProtocol
import RingwakeCore
import Testing

@testable import CallService

@Suite("Protected data, as streams and requests see it")
final class ProtectedDataTests {
    private let phone: AppID
    private var service: CallServiceStateMachine
    private var last = RequestID(number: 0)
    private let now = BootInstant(nanoseconds: 1_000_000_000)

    init() throws {
        phone = try #require(AppID("com.example.phone"))
        service = CallServiceStateMachine(
            ServiceConfiguration(apps: [phone: .init(policy: AppPolicy())], socketPath: "/run/s"))
    }

    private func handle(_ event: ServiceEvent) -> [ServiceEffect] {
        let host = HostQueries(
            wallMilliseconds: { 0 }, moment: { LocalMoment(weekday: 3, minuteOfDay: 720, wallMilliseconds: 0) },
            verdict: { _ in nil }, makeSecret: { "secret" }, hash: { Array($0.utf8) })
        return service.handle(event, at: now, asking: host)
    }

    private func ask(
        _ method: String, _ target: String, as standing: ControlPeer.Standing = .owner, secret: String? = nil
    ) -> [ServiceEffect] {
        last = RequestID(number: last.number + 1)
        return handle(
            .request(
                ServiceRequest(
                    last, method, target, body: [], authorization: secret.map { "Bearer \($0)" },
                    peer: ControlPeer(standing, pid: 7, process: ProcessIdentity(pid: 7, startTime: 0)))))
    }

    /// The status of a refusal; nil if the request is forwarded.
    private func refusal(_ effects: [ServiceEffect]) -> Int? {
        for case .respond(last, let status, _) in effects { return status }
        return effects.contains { if case .forward = $0 { true } else { false } } ? nil : 0
    }

    @Test("Streams of apps and of the device are told; a stream of one call is not")
    func told() {
        _ = ask("GET", "/v1/events")
        let all = last
        _ = ask("GET", "/v1/events?app=com.example.phone")
        let phones = last
        _ = ask("GET", "/v1/events?call=c1")
        let one = last
        let effects = handle(.protectedDataChanged(.willBecomeUnavailable(at: now.advanced(by: .seconds(10)))))
        for stream in [all, phones] {
            #expect(
                effects.lines(to: stream.number)
                    == #"{"deadlineMs":10000,"event":"protectedData","schema":1,"state":"willBecomeUnavailable"}"#
                    + "\n")
        }
        #expect(effects.lines(to: one.number).isEmpty)
    }

    @Test("A stream begins with it, unless protected data are available")
    func beginning() {
        #expect(!ask("GET", "/v1/events").lines(to: last.number).contains("protectedData"))
        _ = handle(.protectedDataChanged(.unavailable))
        #expect(ask("GET", "/v1/events").lines(to: last.number).contains(#""state":"unavailable""#))
        let handler = ask("GET", "/v1/apps/com.example.phone/handler").lines(to: last.number)
        #expect(handler.split(separator: "\n").first?.contains(#""protectedDataAvailable":false"#) == true)
        #expect(handler.contains(#""event":"protectedData""#))
        _ = handle(.protectedDataChanged(.available))
        let later = ask("GET", "/v1/apps/com.example.phone/handler").lines(to: last.number)
        #expect(later.contains(#""event":"handler""#) && !later.contains("rotectedData"))
    }

    @Test("Members may look and lock; what opens or destroys data is the owner's")
    func rights() {
        for standing in [ControlPeer.Standing.owner, .member] {
            #expect(refusal(ask("GET", "/v1/protection", as: standing)) == nil)
            #expect(refusal(ask("POST", "/v1/protection/lock", as: standing)) == nil)
        }
        for verb in ["unlock", "rekey", "delete", "passphrase"] {
            #expect(refusal(ask("POST", "/v1/protection/\(verb)")) == nil)
            #expect(refusal(ask("POST", "/v1/protection/\(verb)", as: .member)) == 403)
        }
        #expect(refusal(ask("GET", "/v1/protection", as: .stranger)) == 403)
        #expect(refusal(ask("POST", "/v1/protection/lock", as: .stranger)) == 403)
        _ = ask("GET", "/v1/apps/com.example.phone/handler")
        #expect(refusal(ask("POST", "/v1/protection/lock", as: .stranger, secret: "secret")) == 403)
    }
}
