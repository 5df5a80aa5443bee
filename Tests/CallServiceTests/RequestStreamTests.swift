import ControlProtocol
import RingwakeCore
import Testing

@testable import CallService

@Suite("The stream of senders' requests")
final class RequestStreamTests {
    private let phone: AppID
    private var service: CallServiceStateMachine
    private var last = RequestID(number: 0)

    init() throws {
        phone = try #require(AppID("com.example.phone"))
        service = CallServiceStateMachine(
            ServiceConfiguration(apps: [phone: .init(policy: AppPolicy())], socketPath: "/run/s"))
    }

    private func handle(_ event: ServiceEvent) -> [ServiceEffect] {
        let host = HostQueries(
            wallMilliseconds: { 0 }, moment: { LocalMoment(weekday: 3, minuteOfDay: 720, wallMilliseconds: 0) },
            verdict: { _ in nil }, makeSecret: { "secret" }, hash: { Array($0.utf8) })
        return service.handle(event, at: BootInstant(nanoseconds: 1), asking: host)
    }

    /// The status of a refusal; nil if a stream begins.
    private func ask(_ query: String, as standing: ControlPeer.Standing = .owner) -> Int? {
        last = RequestID(number: last.number + 1)
        let request = ServiceRequest(
            last, "GET", "/v1/events" + query, body: [], authorization: nil, peer: ControlPeer(standing))
        for case .respond(last, let status, _) in handle(.request(request)) { return status }
        return nil
    }

    private func publish(_ app: AppID?) -> [ServiceEffect] {
        let request = EventMessage.PushRequest(
            at: "2026-01-01T00:00:00.000Z", peer: "192.0.2.1:1", environment: "production", app: app?.rawValue,
            method: "POST", path: "/3/device/00", headers: [], pushId: "A-1", status: 200)
        return handle(.published(.pushRequest(request), .requests(app)))
    }

    @Test("It is for the owner, and takes no filter but an app")
    func rights() {
        #expect(ask("?pushes=true", as: .member) == 403)
        #expect(ask("?pushes=true&call=c1") == 400)
        #expect(ask("?pushes=true&since=1") == 400)
        #expect(!service.subscriptions.readsRequests)
        #expect(ask("?pushes=true") == nil)
        #expect(service.subscriptions.readsRequests)
    }

    @Test("It has the requests and nothing else, other streams have none, and it is known to exist while it does")
    func events() {
        _ = ask("?pushes=true")
        let all = last
        _ = ask("?pushes=true&app=com.example.phone")
        let phones = last
        _ = ask("")
        let events = last
        let known = publish(phone)
        #expect(known.lines(to: all.number).contains("pushRequest"))
        #expect(known.lines(to: phones.number).contains("pushRequest"))
        #expect(known.lines(to: events.number).isEmpty)
        let unknown = publish(nil)
        #expect(unknown.lines(to: all.number).contains("pushRequest") && unknown.lines(to: phones.number).isEmpty)
        let cellular = handle(.cellularChanged(isActive: true))
        #expect(cellular.lines(to: all.number).isEmpty && cellular.lines(to: phones.number).isEmpty)
        #expect(!cellular.lines(to: events.number).isEmpty)
        #expect(service.subscriptions.namedApps.isEmpty)
        _ = handle(.left(all))
        #expect(service.subscriptions.readsRequests)
        _ = handle(.left(phones))
        #expect(!service.subscriptions.readsRequests)
    }
}
