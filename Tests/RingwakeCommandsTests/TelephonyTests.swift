import ControlProtocol
import Testing

@testable import RingwakeCommands

@Suite("ringwake telephony")
struct TelephonyTests {
    private static let modems = [
        TelephonyMessage.Modem(
            id: "0", operatorName: "Exa\u{1B}mple", mobileCountryCode: "262", mobileNetworkCode: "01",
            registration: "roaming", roaming: true, radioAccessTechnology: "lte"),
        TelephonyMessage.Modem(id: "1", registration: "searching"),
    ]

    @Test("Each modem is a line, and no modem is said")
    func shown() {
        var message = TelephonyMessage(modems: Self.modems)
        let daemon = FakeDaemon { _ in .json(#"{"schema":1,"modems":[]}"#) }
        #expect(ringwake(["telephony"], at: daemon).output == "no modem\n")
        #expect(daemon.requestLines == ["GET /v1/telephony HTTP/1.1"])
        #expect(
            TelephonyText.text(of: message, style: TextStyle(isEnabled: false)) == """
                modem  operator  code   registration  technology
                0      Exa?mple  26201  roaming       lte
                1      -         -      searching     -

                """)
        message.modems = []
        #expect(ringwake(["telephony", "--json"], at: daemon).output.contains(#""modems" : ["#))
    }

    @Test("An event is one line")
    func event() {
        let style = TextStyle(isEnabled: false)
        let line = EventText.line(of: .telephony(.init(modems: Self.modems)), style: style)
        #expect(line.hasSuffix("0 Exa?mple (26201) roaming lte, 1 searching"))
        #expect(EventText.line(of: .telephony(.init(modems: [])), style: style).hasSuffix("no modem"))
    }
}
