import Cryptography
import RingwakeCore
import Testing

@Suite struct CertificateRequestTests {
    @Test("openssl verifies a request, and finds subject, key and digest in it", arguments: PrivateKey.Kind.allCases)
    func openSSLReads(kind: PrivateKey.Kind) throws {
        let key = try PrivateKey.generate(kind)
        let request = try CertificateRequest.pem(
            subject: .init(
                userID: "com.example.phone.voip", commonName: "VoIP Services: com.example.phone",
                organizationalUnit: "TEAM123456"), key: key)
        let shown = try Tool.run(
            "openssl", ["req", "-verify", "-noout", "-text", "-nameopt", "RFC2253"], input: request)
        #expect(shown.status == 0 && shown.errors.contains("verify OK"), "\(shown.errors)")
        #expect(shown.text.contains("OU=TEAM123456,CN=VoIP Services: com.example.phone,UID=com.example.phone.voip"))
        #expect(shown.text.contains(kind == .p256 ? "ecdsa-with-SHA256" : "sha256WithRSAEncryption"))
        #expect(shown.text.contains(kind == .p256 ? "P-256" : "(2048 bit)"))
        let publicKey = try Tool.run("openssl", ["req", "-noout", "-pubkey"], input: request)
        #expect(try publicKey.output == key.publicKeyPEM)
    }

    @Test("A subject that X.509 cannot express is refused")
    func subject() throws {
        let key = try PrivateKey.generate(.p256)
        let error = #expect(throws: RingwakeError.self) {
            try CertificateRequest.pem(subject: .init(commonName: "", country: "Germany"), key: key)
        }
        #expect(error?.code == .invalidRequest)
    }
}
