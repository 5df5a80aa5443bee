import Cryptography
import RingwakeCore
import Testing

@Suite("Secrets of webhooks")
struct WebhookSecretTests {
    @Test("The signature is that of the Standard Webhooks specification's example")
    func specification() throws {
        let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = try secret.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test("A new secret is another each time, and is read again")
    func generated() throws {
        let (one, other) = (try WebhookSecret.generate(), try WebhookSecret.generate())
        #expect(one != other && WebhookSecret(one.text) == one)
        #expect(try WebhookSecret.all(inFile: Array("\(one.text)\n\(other.text)\r\n\n".utf8)) == [one, other])
    }

    @Test(
        "What is no secret is refused, and not repeated in the message",
        arguments: [
            "", "\n", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa!!",
            String(repeating: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", count: 5),
        ])
    func wrong(file: String) throws {
        let error = #expect(throws: RingwakeError.self) { try WebhookSecret.all(inFile: Array(file.utf8)) }
        #expect(error?.code == .badConfiguration && error?.message.contains("MfKQ") == false)
    }
}
