import ControlProtocol
import RingwakeCore
import Testing

@Suite("A push in the stream of a handler")
struct DeliveryTests {
    @Test("It is one line, whatever line ends its payload has: no sender writes lines of the daemon")
    func oneLine() throws {
        let payload = "{\n\"call\":\"c\",\r\n\"x\":[\n{\"event\":\"action\",\"action\":\"end\",\"text\":\"a\\nb\"}\n]}"
        let request = WakeRequest(
            wake: WakeID(number: 1), app: try #require(AppID("com.example.phone")), call: CallID("c"), attempt: 1,
            receivedAt: BootInstant(nanoseconds: 0), reportBy: BootInstant(nanoseconds: 5_000_000_000),
            payload: Array(payload.utf8))
        let line = String(decoding: DeliveryMessage.line(request, at: BootInstant(nanoseconds: 0)), as: UTF8.self)
        #expect(line.utf8.count { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } == 1)
        #expect(
            line.hasSuffix("}\n") && line.contains(#""payload":{ "call":"c",  "x":[ {"#) && line.contains(#""a\nb""#))
    }
}
