import Cryptography
import RingwakeCore
import Testing

@Suite struct ProviderTokenTests {
    let key: P256PrivateKey

    init() throws {
        key = try P256PrivateKey.generate()
    }

    /// A token with this header and these claims as JSON text, truly signed.
    private func token(
        header: String = #"{"alg":"ES256","kid":"ABC123DEFG"}"#,
        claims: String = #"{"iss":"TEAM123456","iat":1700000000}"#
    ) throws -> String {
        let input = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
        return input + "." + Base64URL.encode(try key.rawSignature(for: Array(input.utf8)))
    }

    @Test("A token that was signed here is read and verified")
    func roundTrip() throws {
        let text = try ProviderToken.sign(keyID: "ABC123DEFG", teamID: "TEAM123456", issuedAt: 1_700_000_000, key: key)
        let parsed = try ProviderToken.parse(text)
        #expect(parsed.claims == .init(keyID: "ABC123DEFG", teamID: "TEAM123456", issuedAt: 1_700_000_000))
        #expect(try parsed.isSigned(by: P256PublicKey(pem: key.publicKeyPEM)))
        #expect(try !parsed.isSigned(by: P256PublicKey(pem: P256PrivateKey.generate().publicKeyPEM)))
    }

    @Test(
        "The issue time is taken as integer, float and numeric string, rounded down",
        arguments: [
            ("1700000000", 1_700_000_000), ("0", 0), ("1700000000.75", 1_700_000_000), ("1.7e9", 1_700_000_000),
            ("\"1700000000\"", 1_700_000_000), ("\"1700000000.9\"", 1_700_000_000), ("253402300799", 253_402_300_799),
            ("-0.0", 0), ("\"0000\"", 0),
        ])
    func issueTimes(json: String, seconds: Int64) throws {
        let parsed = try ProviderToken.parse(token(claims: #"{"iat":\#(json),"iss":"T"}"#))
        #expect(parsed.claims.issuedAt == seconds)
    }

    @Test(
        "An issue time that is no time is malformed",
        arguments: [
            "1e300", "-1e300", "1e999", "-1", "-0.5", "253402300800", "9223372036854775807", "9223372036854775808",
            "-9223372036854775808", "99999999999999999999999999", "NaN", "Infinity", "\"NaN\"", "\"12abc\"", "\"\"",
            "\" 1\"", "\"1.\"", "\".5\"", "\"-1\"", "\"+1\"", "\"1e9\"", "\"0x10\"", "\"1.2.3\"",
            "\"99999999999999999999999999\"", "\"١٢\"", "null", "true", "[1]", "{}",
        ])
    func badIssueTimes(json: String) throws {
        let text = try token(claims: #"{"iat":\#(json),"iss":"T"}"#)
        #expect(throws: ProviderTokenError.self) { try ProviderToken.parse(text) }
    }

    @Test("Further members are ignored, in header and claims, also when one comes twice")
    func extraMembers() throws {
        let text = try token(
            header: #"{"typ":"JWT","kid":"K","alg":"ES256","x":[{}],"typ":"JWS"}"#,
            claims: #"{"iss":"T","iat":1,"exp":"never","aud":null,"exp":2}"#)
        #expect(try ProviderToken.parse(text).claims == .init(keyID: "K", teamID: "T", issuedAt: 1))
    }

    @Test(
        "Any algorithm but ES256 is refused before anything else is looked at",
        arguments: ["none", "None", "es256", "ES384", "HS256", "RS256", "ES256 ", ""])
    func algorithms(name: String) throws {
        let text = try token(header: #"{"alg":"\#(name)","kid":""}"#, claims: "x")
        #expect(throws: ProviderTokenError.unsupportedAlgorithm(name)) { try ProviderToken.parse(text) }
    }

    @Test(
        "Headers and claims that are not as they should be are malformed",
        arguments: [
            (#"{"alg":"ES256"}"#, nil), (#"{"kid":"K"}"#, nil), (#"{"alg":["ES256"],"kid":"K"}"#, nil),
            (#"{"alg":"ES256","kid":7}"#, nil), (#"{"alg":"ES256","kid":""}"#, nil), ("[]", nil), ("", nil),
            ("null", nil), (#"{"alg":"ES256","kid":"K""#, nil),
            (#"{"alg":"ES256","kid":"\#(String(repeating: "k", count: 65))"}"#, nil),
            (nil, #"{"iat":1}"#), (nil, #"{"iss":"T"}"#), (nil, #"{"iss":7,"iat":1}"#), (nil, #"{"iss":"","iat":1}"#),
            (nil, #"{"iss":"\#(String(repeating: "t", count: 65))","iat":1}"#), (nil, "[1]"), (nil, ""), (nil, "7"),
            (nil, String(repeating: "[", count: 1000)), (nil, #"{"a":"# + String(repeating: #"{"a":"#, count: 500)),
        ] as [(String?, String?)])
    func malformed(header: String?, claims: String?) throws {
        let text = try token(
            header: header ?? #"{"alg":"ES256","kid":"K"}"#, claims: claims ?? #"{"iss":"T","iat":1}"#)
        guard case .malformed = #expect(throws: ProviderTokenError.self, performing: { try ProviderToken.parse(text) })
        else {
            Issue.record("another error")
            return
        }
    }

    @Test("Text that is no token is malformed")
    func notATokenAtAll() throws {
        let good = try token()
        let parts = good.split(separator: ".")
        let zero = Base64URL.encode([UInt8](repeating: 0, count: 64))
        let zeroR = Base64URL.encode([UInt8](repeating: 0, count: 32) + [UInt8](repeating: 1, count: 32))
        let candidates = [
            "", ".", "..", "...", "a.b.c", "bearer \(good)", good + ".", good + "=", " " + good, good + "\n",
            "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1]).AAAA",
            "\(parts[0]).\(parts[1]).\(zero)", "\(parts[0]).\(parts[1]).\(zeroR)",
            "..\(parts[2])", "\(parts[0])..\(parts[2])", "é.é.é", "\0.\0.\0",
        ]
        for candidate in candidates {
            #expect(throws: ProviderTokenError.self) { try ProviderToken.parse(candidate) }
        }
    }

    @Test("The size is bounded")
    func size() throws {
        let padding = String(repeating: "x", count: 2500)
        let fits = try token(claims: #"{"iss":"T","iat":1,"x":"\#(padding)"}"#)
        #expect(fits.utf8.count < ProviderToken.maximumBytes)
        #expect(try ProviderToken.parse(fits).claims.teamID == "T")
        let tooLong = try token(claims: #"{"iss":"T","iat":1,"x":"\#(padding)\#(padding)"}"#)
        #expect(throws: ProviderTokenError.tooLong(maximumBytes: 4096)) { try ProviderToken.parse(tooLong) }
        #expect(throws: ProviderTokenError.tooLong(maximumBytes: 10)) {
            try ProviderToken.parse(fits, maximumBytes: 10)
        }
    }

    @Test("Tokens with changed characters never trap, and none of them verifies")
    func mutations() throws {
        let good = Array(try token().utf8)
        let publicKey = try P256PublicKey(pem: key.publicKeyPEM)
        var random = SeededGenerator(seed: 2)
        for _ in 0..<5000 {
            let bytes = random.mutate(good, upTo: 3)
            guard bytes != good, let parsed = try? ProviderToken.parse(String(decoding: bytes, as: UTF8.self)) else {
                continue
            }
            #expect(!parsed.isSigned(by: publicKey))
        }
    }

    @Test("Claims with changed bytes never trap")
    func claimMutations() throws {
        let good = Array(#"{"iss":"TEAM123456","iat":1700000000.125e0,"x":["\u00e9",null,-1]}"#.utf8)
        let signature = Base64URL.encode([UInt8](repeating: 1, count: 64))
        let header = Base64URL.encode(#"{"alg":"ES256","kid":"K"}"#.utf8)
        var random = SeededGenerator(seed: 3)
        for _ in 0..<5000 {
            let bytes = random.mutate(good, upTo: 4)
            let parsed = try? ProviderToken.parse("\(header).\(Base64URL.encode(bytes)).\(signature)")
            if let parsed { #expect(ProviderToken.issuedAtRange.contains(parsed.claims.issuedAt)) }
        }
    }

    @Test(
        "Ids that would need an escape are not signed",
        arguments: ["", "a\"b", "ü", String(repeating: "a", count: 65)])
    func badIDs(id: String) throws {
        #expect(throws: RingwakeError.self) {
            try ProviderToken.sign(keyID: id, teamID: "T", issuedAt: 1, key: key)
        }
        #expect(throws: RingwakeError.self) {
            try ProviderToken.sign(keyID: "K", teamID: id, issuedAt: 1, key: key)
        }
    }
}
