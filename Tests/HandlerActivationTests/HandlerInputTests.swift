import RingwakeCore
import Testing

@testable import HandlerActivation

@Suite struct HandlerInputTests {
    @Test("The request is one object with the payload's very bytes")
    func exactBytes() throws {
        let request = try makeRequest(call: "6f1b", payload: Array("{ \"caller\" :\"\u{e4}\",\n\t\"n\":1e300}  ".utf8))
        let now = BootInstant(nanoseconds: 1_250_999_999)
        #expect(
            String(decoding: HandlerInput.bytes(of: request, at: now), as: UTF8.self)
                == #"{"schema":1,"kind":"call","app":"com.example.phone","topic":"com.example.phone.voip","call":"6f1b","#
                + #""attempt":2,"age_ms":250,"deadline_ms":4749,"payload":{ "caller" :"ä",\#n\#t"n":1e300}  }"#)
    }

    @Test("A call id may be any string: it comes out as a JSON string that means the same")
    func escaping() {
        let bytes = JSONWriter { $0.add("a", "a\"b\\c/\u{0}\u{1f}\n\u{7f}\u{2028}é😀") }.bytes
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "{\"a\":\"a\\\"b\\\\c/\\u0000\\u001f\\u000a\u{7f}\u{2028}é😀\"}")
    }

    @Test("A push from the future has age 0, and a deadline that has passed leaves 0")
    func clamping() throws {
        let request = try makeRequest(call: "c", payload: [])
        let early = HandlerInput.bytes(of: request, at: BootInstant(nanoseconds: .min))
        #expect(String(decoding: early, as: UTF8.self).contains(#""age_ms":0,"#))
        let late = HandlerInput.bytes(of: request, at: BootInstant(nanoseconds: .max))
        #expect(String(decoding: late, as: UTF8.self).contains(#""deadline_ms":0,"#))
    }
}

/// Arrived at 1 s, to be reported by 6 s after boot; the second attempt.
func makeRequest(call: String, payload: [UInt8]) throws -> WakeRequest {
    let app = try #require(AppID("com.example.phone"))
    return WakeRequest(
        wake: WakeID(number: 1), app: app, call: CallID(call), attempt: 2,
        receivedAt: BootInstant(nanoseconds: 1_000_000_000), reportBy: BootInstant(nanoseconds: 6_000_000_000),
        payload: payload)
}
