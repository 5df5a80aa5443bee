import Cryptography

/// Provider tokens, which anybody may send to the push port.
enum TokenHarness {
    private static let key = Result { try P256PrivateKey.generate() }
    private static let publicKey = Result { try P256PublicKey(pem: try key.get().publicKeyPEM) }

    /// The text as it stands in `authorization`.
    static let token = Harness("provider-token", maximumBytes: 4500) { input in
        let text = String(decoding: input, as: UTF8.self)
        guard let parsed = try? ProviderToken.parse(text) else { return false }
        try check(parsed)
        try require(!parsed.isSigned(by: try publicKey.get()), "a key that signed nothing verified a token")
        // What the writer makes, the parser reads. It refuses ids that no sender's claims need.
        let claims = parsed.claims
        guard
            let own = try? ProviderToken.sign(
                keyID: claims.keyID, teamID: claims.teamID, issuedAt: claims.issuedAt, key: try key.get())
        else { return true }
        let again = try ProviderToken.parse(own)
        try requireEqual(again.claims, claims, "claims changed when they were written")
        try require(again.isSigned(by: try publicKey.get()), "a token of our own is not signed")
        return true
    }

    /// The JSON of header and claims, each ended by a line end or the input's end: encoded and signed here, because a
    /// fuzzer does not find base64.
    static let claims = Harness("provider-token-claims") { input in
        let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let signingInput = Base64URL.encode(lines[0]) + "." + Base64URL.encode(lines.count > 1 ? lines[1] : [])
        var signature = try key.get().rawSignature(for: Array(signingInput.utf8))
        func parse() -> ProviderToken.Parsed? {
            try? ProviderToken.parse(signingInput + "." + Base64URL.encode(signature))
        }
        guard let parsed = parse() else { return false }
        try check(parsed)
        try require(parsed.isSigned(by: try publicKey.get()), "the key's own signature is not valid")
        signature[Int(input.count) % signature.count] ^= 1
        if let forged = parse() {
            try require(!forged.isSigned(by: try publicKey.get()), "a changed signature is valid")
        }
        return true
    }

    static let encodings = Harness("base64url") { input in
        let text = Base64URL.encode(input)
        try requireEqual(Base64URL.decode(text), input, "bytes changed when they were encoded")
        guard let decoded = Base64URL.decode(input) else { return false }
        try require(Base64URL.encode(decoded).utf8.elementsEqual(input), "a value has two texts")
        return true
    }

    private static func check(_ parsed: ProviderToken.Parsed) throws {
        let claims = parsed.claims
        let sizes = 1...ProviderToken.maximumIDBytes
        try require(sizes.contains(claims.keyID.utf8.count), "the key id has another size than is allowed")
        try require(sizes.contains(claims.teamID.utf8.count), "the team id has another size than is allowed")
        try require(ProviderToken.issuedAtRange.contains(claims.issuedAt), "the issue time is out of range")
        try requireEqual(parsed.signature.count, 64, "the signature has another size")
    }
}
