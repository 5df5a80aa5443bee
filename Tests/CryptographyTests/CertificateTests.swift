import Cryptography
import RingwakeCore
import Testing

@Suite struct CertificateTests {
    let fixtures: CertificateFixtures

    init() throws {
        fixtures = try CertificateFixtures()
    }

    @Test("The days that are left are rounded down, at every time that a number can be")
    func daysLeft() {
        let (end, day) = (fixtures.authority.notAfter, CertificateFixtures.day)
        let days = [end - day, end, end + 1, end + day, end + day + 1].map { fixtures.authority.daysLeft(at: $0) }
        #expect(days == [1, 0, -1, -1, -2])
        #expect(fixtures.authority.daysLeft(at: .max) == (end - .max) / day - 1)
        #expect(fixtures.authority.daysLeft(at: .min) == nil)
    }

    @Test("A provider certificate that was issued reads back with every field")
    func provider() throws {
        let key = try PrivateKey.generate(.p256)
        let certificate = try fixtures.provider(key: key)
        for read in [certificate, try Certificate(pem: certificate.pem), try Certificate(der: certificate.der)] {
            #expect(read.subjectUserID == "com.example.phone.voip")
            #expect(read.subjectCommonName == "VoIP Services: com.example.phone")
            #expect(read.organizationalUnit == "TEAM123456")
            #expect(read.organization == "Example")
            #expect(read.issuerCommonName == "Test CA")
            #expect(read.notBefore == fixtures.now - 3600)
            #expect(read.notAfter == fixtures.now + 395 * CertificateFixtures.day)
            #expect(read.keySummary == "EC P-256")
            #expect(!read.isCA)
            #expect(!read.isSelfSigned)
            #expect(read.allowsClientAuthentication)
            #expect(read.appleExtensions.isDevelopment)
            #expect(read.appleExtensions.isProduction)
            #expect(read.appleExtensions.isVoIP)
            #expect(!read.appleExtensions.hasMalformedTopics)
            #expect(
                read.appleExtensions.topics == [
                    .init(topic: "com.example.phone", purposes: ["app"]),
                    .init(topic: "com.example.phone.voip", purposes: ["voip"]),
                ])
            #expect(key.isKey(of: read))
            #expect(!fixtures.serverKey.isKey(of: read))
        }
    }

    @Test("A file of a CA is PEM or DER; DER of something else, or with bytes after it, is refused")
    func fileForms() throws {
        let authority = fixtures.authority
        #expect(try Certificate.pem(ofFile: authority.der) == authority.pem)
        #expect(try Certificate.pem(ofFile: authority.pem) == authority.pem)
        // 0x30 is also the digit with which openssl's listing of a chain begins.
        let listing = Array("0 s:CN = Test CA\n".utf8) + (try authority.pem)
        #expect(try Certificate.all(pem: Certificate.pem(ofFile: listing)).map(\.der) == [authority.der])
        for bytes in [authority.der + [0], Array(authority.der.dropLast()), [0x30, 0x80]] {
            let error = #expect(throws: RingwakeError.self) { try Certificate.pem(ofFile: bytes) }
            #expect(error?.code == .badCredential)
        }
    }

    @Test("A CA and a server certificate read back as such")
    func authorityAndServer() {
        #expect(fixtures.authority.isCA)
        #expect(fixtures.authority.isSelfSigned)
        #expect(fixtures.authority.appleExtensions == AppleExtensions())
        #expect(!fixtures.server.isCA)
        #expect(!fixtures.server.allowsClientAuthentication)
        #expect(fixtures.server.subjectAlternativeNames.map(\.description) == ["localhost", "127.0.0.1", "::1"])
        #expect(fixtures.server.subjectUserID == nil)
    }

    @Test("OpenSSL verifies what was issued, and shows the same fields and fingerprint")
    func openSSLAgrees() throws {
        let key = try PrivateKey.generate(.rsa2048)
        let certificate = try fixtures.provider(key: key)
        let authority = try PEMFile(fixtures.authority.pem)
        for (purpose, leaf) in [("sslclient", certificate), ("sslserver", fixtures.server)] {
            let file = try PEMFile(leaf.pem)
            let verified = try Tool.run(
                "openssl", ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", authority.path, file.path])
            #expect(verified.status == 0, "\(verified.errors)")
        }
        let shown = try Tool.run(
            "openssl", ["x509", "-noout", "-text", "-fingerprint", "-sha256", "-nameopt", "RFC2253"],
            input: certificate.pem
        ).text
        #expect(
            shown.contains(
                "Subject: C=DE,O=Example,OU=TEAM123456,CN=VoIP Services: com.example.phone,UID=com.example.phone.voip"))
        for expected in [
            "1.2.840.113635.100.6.3.1", "1.2.840.113635.100.6.3.2", "1.2.840.113635.100.6.3.4",
            "1.2.840.113635.100.6.3.6", "TLS Web Client Authentication", "Digital Signature", "Public-Key: (2048 bit)",
        ] {
            #expect(shown.contains(expected), "\(expected)")
        }
        let fingerprint = encodeHex(certificate.sha256Fingerprint).uppercased()
        #expect(shown.replacing(":", with: "").contains(fingerprint))
        #expect(certificate.serialNumber.count <= 32)
        #expect(!certificate.serialNumber.hasPrefix("-"))
    }

    @Test("A certificate that openssl made is read, with its old date and its other key")
    func foreign() throws {
        let made = try Tool.run(
            "openssl",
            [
                "req", "-x509", "-utf8", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1", "-nodes",
                "-keyout",
                "/dev/null", "-subj", "/UID=a.voip/UID=b.voip/CN=Ü/OU=T", "-days", "1", "-set_serial", "0x0102",
                "-addext", "subjectAltName=DNS:x.example,IP:2001:db8::1,email:a@b.example",
            ])
        let certificate = try Certificate(pem: made.output)
        #expect(certificate.subjectUserID == "a.voip")
        #expect(certificate.subjectCommonName == "Ü")
        #expect(certificate.keySummary == "EC secp384r1")
        #expect(certificate.serialNumber == "0102")
        #expect(certificate.isSelfSigned)
        #expect(certificate.allowsClientAuthentication)
        #expect(certificate.notAfter - certificate.notBefore == 86_400)
        #expect(certificate.subjectAlternativeNames.map(\.description) == ["x.example", "2001:db8::1"])
    }

    @Test("Several certificates in one text are read in order, past a key between them")
    func many() throws {
        let text = try fixtures.server.pem + fixtures.serverKey.pem + fixtures.authority.pem
        #expect(try Certificate.all(pem: text).map(\.der) == [fixtures.server.der, fixtures.authority.der])
        #expect(try Certificate(pem: text).der == fixtures.server.der)
    }

    @Test("Bytes that are no certificate, or more than one, are refused")
    func refusals() throws {
        let der = fixtures.server.der
        for bytes in [[], [0x30], Array("hello".utf8), der.dropLast(), der + [0], der + der].map({ Array($0) }) {
            #expect(throws: RingwakeError.self) { try Certificate(der: bytes) }
        }
        for bytes in [[], der, Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)] {
            #expect(throws: RingwakeError.self) { try Certificate(pem: bytes) }
        }
    }

    @Test("A certificate with changed bytes never traps")
    func mutations() throws {
        let good = try fixtures.provider(key: fixtures.serverKey).der
        var random = SeededGenerator(seed: 4)
        var readable = 0
        for _ in 0..<5000 {
            if let certificate = try? Certificate(der: random.mutate(good, upTo: 4)) {
                readable += 1
                _ = certificate.title
                _ = try? certificate.pem
            }
        }
        #expect(readable > 100)
        for count in good.indices {
            #expect(throws: RingwakeError.self) { try Certificate(der: Array(good.prefix(count))) }
        }
    }

    @Test("A topic longer than a common name may be, and every other odd topic, comes through")
    func longNames() throws {
        let bundle = "com.example." + String(repeating: "very-", count: 30) + "long"
        let certificate = try fixtures.provider(bundle: bundle, key: fixtures.serverKey)
        #expect(certificate.subjectUserID == bundle + ".voip")
        #expect(certificate.subjectCommonName == "VoIP Services: " + bundle)
        #expect(certificate.appleExtensions.topics.first?.topic == bundle)
    }

    @Test("Dates beyond 2049 and before 1970 survive")
    func dates() throws {
        for (from, to) in [(-86_400, 0), (0, 4_102_444_800), (4_102_444_800, 253_402_300_799)] as [(Int64, Int64)] {
            let certificate = try fixtures.issuer.issue(
                CertificateFixtures.template(bundle: "b", from: from, to: to), for: fixtures.serverKey)
            #expect(certificate.notBefore == from)
            #expect(certificate.notAfter == to)
        }
    }

    @Test("Templates that X.509 cannot express are refused")
    func badTemplates() throws {
        var templates = [CertificateFixtures.template(bundle: "b", from: 10, to: 9)]
        templates.append(CertificateFixtures.template(bundle: "b", from: 0, to: .max))
        for country in ["Germany", "", "D€"] {
            var template = CertificateFixtures.template(bundle: "b", from: 0, to: 1)
            template.subject.country = country
            templates.append(template)
        }
        for template in templates {
            let error = #expect(throws: RingwakeError.self) {
                try fixtures.issuer.issue(template, for: fixtures.serverKey)
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test("An issuer needs a CA certificate and its own key")
    func issuers() throws {
        #expect(throws: RingwakeError.self) {
            try CertificateIssuer(certificate: fixtures.authority, key: fixtures.serverKey)
        }
        #expect(throws: RingwakeError.self) {
            try CertificateIssuer(certificate: fixtures.server, key: fixtures.serverKey)
        }
    }
}
