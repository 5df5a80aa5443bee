import MQTT5
import Testing

@Test("Reason codes from 0x80 on are errors") func errorCodes() {
    #expect(!MQTTReason.grantedQoS1.isError)
    #expect(MQTTReason.unspecifiedError.isError)
}
