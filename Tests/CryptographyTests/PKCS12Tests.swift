import CRingwakeOpenSSL
import RingwakeCore
import Testing

@testable import Cryptography

@Suite struct PKCS12Tests {
    let fixtures: CertificateFixtures
    let key: PrivateKey
    let certificate: Certificate

    init() throws {
        fixtures = try CertificateFixtures()
        key = try PrivateKey.generate(.rsa2048)
        certificate = try fixtures.provider(key: key)
    }

    private func write(password: String, legacy: Bool) throws -> [UInt8] {
        try PKCS12.write(
            key: key, certificate: certificate, chain: [fixtures.authority], friendlyName: "VoIP", password: password,
            legacy: legacy)
    }

    @Test(
        "What was written is read with its password, in both encryptions", arguments: ["", "secret", "pässwörd ✓"],
        [false, true])
    func roundTrip(password: String, legacy: Bool) throws {
        let file = try write(password: password, legacy: legacy)
        #expect(PKCS12.looksLikePKCS12(file))
        let contents = try PKCS12.read(file, password: password)
        #expect(contents.certificate.der == certificate.der)
        #expect(try contents.key.pem == key.pem)
        // Go's x/crypto/pkcs12 refuses a file with a second certificate.
        #expect(contents.chain.map(\.der) == (legacy ? [] : [fixtures.authority.der]))
    }

    @Test("A wrong password is its own error, a missing one says that it is missing", arguments: [false, true])
    func wrongPassword(legacy: Bool) throws {
        let file = try write(password: "secret", legacy: legacy)
        for password in ["Secret", "secret ", "x"] {
            let error = #expect(throws: RingwakeError.self) { try PKCS12.read(file, password: password) }
            #expect(error?.code == .notPermitted)
            #expect(error?.message.contains("is wrong") == true)
        }
        let error = #expect(throws: RingwakeError.self) { try PKCS12.read(file, password: "") }
        #expect(error?.message.contains("none was given") == true)
    }

    @Test(
        "openssl reads what was written, in AES-256 or in 3DES with SHA-1", arguments: ["", "secret"], [false, true])
    func openSSLReads(password: String, legacy: Bool) throws {
        let file = try PEMFile(write(password: password, legacy: legacy))
        let shown = try Tool.run(
            "openssl", ["pkcs12", "-in", file.path, "-nodes", "-info", "-passin", "pass:\(password)"])
        #expect(shown.status == 0, "\(shown.errors)")
        #expect(try Certificate.all(pem: shown.output).map(\.der).contains(certificate.der))
        #expect(shown.text.contains("friendlyName: VoIP"))
        let algorithm =
            legacy ? "pbeWithSHA1And3-KeyTripleDES-CBC" : "AES-256-CBC, Iteration 2048, PRF hmacWithSHA256"
        #expect(shown.errors.contains(algorithm))
        #expect(shown.errors.contains(legacy ? "MAC: sha1" : "MAC: sha256"))
    }

    @Test(
        "Files that openssl writes are read, old key chains' RC2 among them",
        arguments: [[], ["-legacy"], ["-certpbe", "NONE", "-keypbe", "NONE"], ["-macalg", "sha1"]])
    func openSSLWrites(options: [String]) throws {
        let pem = try PEMFile(certificate.pem + key.pem)
        let output = try PEMFile([])
        let made = try Tool.run(
            "openssl",
            ["pkcs12", "-export", "-in", pem.path, "-out", output.path, "-passout", "pass:secret"] + options)
        #expect(made.status == 0, "\(made.errors)")
        let contents = try PKCS12.read(Tool.contents(of: output.path), password: "secret")
        #expect(contents.certificate.der == certificate.der)
        #expect(contents.key.isKey(of: contents.certificate))
        #expect(contents.chain.isEmpty)
    }

    @Test("A file without a key, and one without a MAC, say what is missing")
    func incomplete() throws {
        let pem = try PEMFile(certificate.pem + key.pem)
        let output = try PEMFile([])
        func message(_ options: [String]) throws -> String {
            let made = try Tool.run(
                "openssl", ["pkcs12", "-export", "-in", pem.path, "-out", output.path, "-passout", "pass:x"] + options)
            #expect(made.status == 0, "\(made.errors)")
            let file = try Tool.contents(of: output.path)
            return #expect(throws: RingwakeError.self) { try PKCS12.read(file, password: "x") }?.message ?? ""
        }
        #expect(try message(["-nokeys"]).contains("no private key with its certificate"))
        #expect(try message(["-nomac"]).contains("no MAC"))
    }

    /// Where a file names a number of rounds.
    enum Place: CaseIterable {
        case mac, safe, key, keyInEncryptedSafe, manySafes, legacySafe
    }

    /// A file with a key, made with OpenSSL's functions, because its program cannot nest these.
    private func file(_ place: Place, rounds: Int32, password: String? = "x") throws -> [UInt8] {
        func share(if isHere: Bool) -> Int32 { isHere ? rounds : 1 }
        var bags: OpaquePointer?
        var safes: OpaquePointer?
        defer {
            ringwake_sk_PKCS12_SAFEBAG_pop_free(bags)
            ringwake_sk_PKCS7_pop_free(safes)
        }
        let keyRounds = share(if: place == .key || place == .keyInEncryptedSafe)
        let bag = key.withPointer { PKCS12_add_key(&bags, $0, 0, keyRounds, NID_aes_256_cbc, password) }
        try #require(bag != nil)
        // A safe in clear text has the algorithm -1.
        let legacy = NID_pbe_WithSHA1And3_Key_TripleDES_CBC
        let isLegacy = place == .legacySafe || password == nil
        let algorithm = place == .key ? -1 : isLegacy ? legacy : NID_aes_256_cbc
        let isSafe = [.safe, .manySafes, .legacySafe].contains(place)
        for _ in 0..<(place == .manySafes ? 4 : 1) {
            let rounds = share(if: isSafe) / (place == .manySafes ? 4 : 1)
            try #require(PKCS12_add_safe(&safes, bags, algorithm, max(1, rounds), password) == 1)
        }
        let made = try #require(PKCS12_add_safes(safes, 0))
        defer { PKCS12_free(made) }
        let length: Int32 = password == nil ? 0 : -1
        let isSealed = PKCS12_set_mac(made, password, length, nil, 0, share(if: place == .mac), EVP_sha256())
        try #require(isSealed == 1)
        return try #require(PEM.der { i2d_PKCS12(made, $0) })
    }

    @Test("The rounds of hashing are counted wherever a file names them", arguments: Place.allCases)
    func rounds(place: Place) throws {
        let many = try file(place, rounds: 3_000_008)
        let error = #expect(throws: RingwakeError.self) { try PKCS12.read(many, password: "x") }
        #expect(error?.code == .badCredential)
        #expect(error?.message.contains("more than 3000000 rounds") == true, "\(place): \(error?.message ?? "")")
        // The same file with usual numbers is read: it lacks nothing but a certificate.
        let few = try file(place, rounds: 2048)
        let other = #expect(throws: RingwakeError.self) { try PKCS12.read(few, password: "x") }
        #expect(other?.message.contains("no private key with its certificate") == true, "\(other?.message ?? "")")
    }

    @Test("The rounds in an encrypted safe are counted, be no password an empty one or none", arguments: ["", nil])
    func roundsWithoutPassword(password: String?) throws {
        let many = try file(.keyInEncryptedSafe, rounds: 3_000_008, password: password)
        let error = #expect(throws: RingwakeError.self) { try PKCS12.read(many, password: "") }
        #expect(error?.message.contains("more than 3000000 rounds") == true, "\(error?.message ?? "")")
    }

    @Test("A key behind scrypt is refused: it chooses how much memory it takes")
    func scrypt() throws {
        let pem = try PEMFile(key.pem)
        let encrypted = try Tool.run(
            "openssl", ["pkcs8", "-topk8", "-scrypt", "-in", pem.path, "-outform", "DER", "-passout", "pass:x"])
        let signature = try #require(decodeDER(encrypted.output) { d2i_X509_SIG(nil, $0, $1) }?.pointer)
        let bag = try #require(PKCS12_SAFEBAG_create0_pkcs8(signature))
        defer { PKCS12_SAFEBAG_free(bag) }
        let bags = try #require(ringwake_sk_PKCS12_SAFEBAG_new_null())
        defer { ringwake_sk_PKCS12_SAFEBAG_free(bags) }
        try #require(ringwake_sk_PKCS12_SAFEBAG_push(bags, bag) == 1)
        var safes: OpaquePointer?
        defer { ringwake_sk_PKCS7_pop_free(safes) }
        try #require(PKCS12_add_safe(&safes, bags, -1, 1, nil) == 1)
        let made = try #require(PKCS12_add_safes(safes, 0))
        defer { PKCS12_free(made) }
        try #require(PKCS12_set_mac(made, "x", -1, nil, 0, 1, EVP_sha256()) == 1)
        let bytes = try #require(PEM.der { i2d_PKCS12(made, $0) })
        let error = #expect(throws: RingwakeError.self) { try PKCS12.read(bytes, password: "x") }
        #expect(error?.message.contains("scrypt") == true)
    }

    @Test("Bytes that are no PKCS#12 file are refused, and changed ones never trap")
    func mutations() throws {
        #expect(!PKCS12.looksLikePKCS12([]))
        #expect(!PKCS12.looksLikePKCS12(certificate.der))
        #expect(throws: RingwakeError.self) { try PKCS12.read([], password: "") }
        #expect(throws: RingwakeError.self) { try PKCS12.read(certificate.der, password: "") }
        let good = try write(password: "x", legacy: true)
        #expect(throws: RingwakeError.self) { try PKCS12.read(good + [0], password: "x") }
        var random = SeededGenerator(seed: 6)
        for _ in 0..<1500 {
            _ = try? PKCS12.read(random.mutate(good, upTo: 4), password: "x")
        }
    }

    @Test("A key of another certificate is not packed")
    func mismatch() throws {
        #expect(throws: RingwakeError.self) {
            try PKCS12.write(
                key: fixtures.serverKey, certificate: certificate, chain: [], friendlyName: "x", password: "",
                legacy: false)
        }
    }
}
