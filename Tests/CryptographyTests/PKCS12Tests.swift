import Cryptography
import RingwakeCore
import Testing

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
