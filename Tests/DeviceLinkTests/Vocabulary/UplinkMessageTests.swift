import DeviceLink
import MQTT5
import RingwakeCore
import Testing

@Suite struct UplinkMessageTests {
    @Test("Each message survives its JSON")
    func roundTrip() throws {
        let messages: [UplinkMessage] = [
            .pair(.init(code: "AB", name: "H\"ö", sealing: "AA==", signature: "BB==")),
            .pair(.init(code: "AB", name: nil, sealing: nil, signature: nil)),
            .registrations(
                LinkRegistrations(revision: 1 << 60, registrations: [.test(.test(1), slot: .first)])),
            .unpair,
        ]
        for message in messages { #expect(try UplinkMessage(json: message.json) == message) }
    }

    @Test(
        "What is no message is refused in words, and as 0x99",
        arguments: [
            "", "[]", "{", "{}", #"{"op":1}"#, #"{"op":"dance"}"#, #"{"op":"pair"}"#,
            #"{"op":"registrations","revision":-1,"registrations":[]}"#,
            #"{"op":"registrations","revision":1,"registrations":[{"slot":"1"}]}"#,
            #"{"op":"registrations","revision":18446744073709551616,"registrations":[]}"#,
        ])
    func defects(json: String) {
        let defect = #expect(throws: UplinkMessage.Defect.self) { try UplinkMessage(json: Array(json.utf8)) }
        #expect(defect?.text.isEmpty == false && defect?.reason == .payloadFormatInvalid)
    }
}
