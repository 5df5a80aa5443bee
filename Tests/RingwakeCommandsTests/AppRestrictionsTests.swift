import ControlProtocol
import Testing

@testable import RingwakeCommands

@Suite("ringwake app restrictions")
struct AppRestrictionsTests {
    private static let message =
        #"{"schema":1,"doNotDisturb":{"active":true,"until":"2026-11-22T06:00:00.000Z"},"#
        + #""rating":{"name":"12+","number":300},"explicitContentAllowed":false,"videoCallsAllowed":true}"#

    @Test("What is restricted is shown for people and as JSON")
    func shown() {
        let daemon = FakeDaemon { _ in .json(Self.message) }
        let ran = ringwake(["app", "restrictions", "com.example.phone"], at: daemon)
        #expect(daemon.requestLines == ["GET /v1/apps/com.example.phone/restrictions HTTP/1.1"])
        #expect(
            ran.output == """
                do not disturb    on until 2026-11-22 06:00:00Z
                rating            12+ (300)
                explicit content  not allowed
                video calls       allowed

                """)
        let json = ringwake(["app", "restrictions", "com.example.phone", "--json"], at: daemon)
        #expect(json.status == 0 && json.output.contains(#""number" : 300"#))
    }

    @Test("Without an app it says what to give")
    func noApp() {
        let ran = ringwake(["app", "restrictions"], at: FakeDaemon { _ in .json(Self.message) })
        #expect(ran.status == 2)
    }

    @Test("An event is one line with what is restricted")
    func event() {
        let some = RestrictionsMessage(
            doNotDisturb: .init(active: true), rating: .init(name: "4+\u{1B}", number: 100),
            explicitContentAllowed: false, videoCallsAllowed: false)
        let style = TextStyle(isEnabled: false)
        let line = EventText.line(of: .restrictions(.init(app: "a.b", restrictions: some)), style: style)
        #expect(line.hasSuffix("a.b  do not disturb on, rating 4+? (100), no explicit content, no video calls"))
        let none = EventText.line(of: .restrictions(.init(app: nil, restrictions: .init())), style: style)
        #expect(none.hasSuffix("nothing is restricted"))
    }
}
