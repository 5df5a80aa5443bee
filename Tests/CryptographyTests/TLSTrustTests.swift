import Cryptography
import Glibc
import RingwakeCore
import Testing

@Suite struct TLSTrustTests {
    let fixtures: CertificateFixtures

    init() throws {
        fixtures = try CertificateFixtures()
    }

    private func connect(_ server: TLSServerContext, _ client: TLSClientContext) throws -> TLSConnectionPair {
        try TLSConnectionPair(server: server, client: client).handshake()
    }

    // MARK: CAs

    @Test(
        "A server is accepted by each of its names and addresses",
        arguments: ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "::1", "0:0::1", "::1%lo"])
    func names(name: String) throws {
        let pair = try connect(fixtures.gatewayContext(), fixtures.deviceContext(name: name))
        #expect(pair.isDone, "\(pair.refusal)")
    }

    @Test(
        "A server is refused by a name or an address that it isn't for, and the reason says both",
        arguments: ["other", "local", "localhost.example", "127.0.0.2", "::2"])
    func wrongName(name: String) throws {
        let pair = try connect(fixtures.gatewayContext(), fixtures.deviceContext(name: name))
        #expect(pair.serverProgress != .done)
        #expect(pair.refusal.contains("it is for 'localhost', '127.0.0.1', '::1', not for the name '\(name)'"))
    }

    @Test("The common name is no name of a server, and a part of a wildcard is none either")
    func formalNames() throws {
        let bare = try fixtures.server(for: [.dns("x")])
        #expect(bare.subjectCommonName == "gateway")
        #expect(
            try connect(fixtures.gatewayContext(showing: [bare]), fixtures.deviceContext(name: "gateway"))
                .refusal.contains("not for the name 'gateway'"))
        let wildcard = try fixtures.server(for: [.dns("*.example.org"), .dns("a*.example.net")])
        let context = try fixtures.gatewayContext(showing: [wildcard])
        #expect(try connect(context, fixtures.deviceContext(name: "a.example.org")).isDone)
        #expect(try !connect(context, fixtures.deviceContext(name: "a.b.example.org")).isDone)
        #expect(try !connect(context, fixtures.deviceContext(name: "ab.example.net")).isDone)
    }

    @Test("A server of an unknown CA is refused for its issuer, with a CA file and with the system's CAs")
    func unknownIssuer() throws {
        let stranger = try CertificateFixtures()
        let trusts: [TLSTrust] = [.authorities(try stranger.authority.pem), .system]
        for trust in trusts {
            let pair = try connect(fixtures.gatewayContext(), fixtures.deviceContext(trust))
            #expect(pair.serverProgress != .done)
            #expect(pair.refusal.contains("its issuer is unknown: 'localhost' is issued by 'Test CA'"))
        }
        let selfSigned = try CertificateIssuer.selfSigned(
            CertificateFixtures.serverTemplate([.dns("localhost")], from: fixtures.now - 60, to: fixtures.now + 60),
            key: fixtures.serverKey)
        let pair = try connect(fixtures.gatewayContext(showing: [selfSigned]), fixtures.deviceContext())
        #expect(pair.refusal.contains("its issuer is unknown: 'gateway' is issued by itself"))
    }

    @Test("A CA of the system is trusted")
    func systemAuthority() async {
        // In a process of its own, because nothing else may read the environment while it changes.
        await #expect(processExitsWith: .success) {
            let fixtures = try CertificateFixtures()
            let file = try PEMFile(fixtures.authority.pem)
            setenv("SSL_CERT_FILE", file.path, 1)
            let pair = try TLSConnectionPair(server: fixtures.gatewayContext(), client: fixtures.deviceContext(.system))
            #expect(pair.handshake().isDone, "\(pair.refusal)")
        }
    }

    @Test("An intermediate alone in a CA file is trusted")
    func intermediateAuthority() throws {
        let (_, intermediate, chain) = try chainOfThree()
        let pair = try connect(
            fixtures.gatewayContext(showing: chain), fixtures.deviceContext(.authorities(intermediate.pem)))
        #expect(pair.isDone, "\(pair.refusal)")
    }

    @Test("An expired certificate and one that isn't valid yet are refused, with the dates")
    func dates() throws {
        let expired = try fixtures.server(from: -7200, to: -3600)
        let refusal = try connect(fixtures.gatewayContext(showing: [expired]), fixtures.deviceContext()).refusal
        #expect(refusal.contains("'gateway' has expired on 20") && refusal.contains("set the clock"))
        let future = try fixtures.server(from: 3600, to: 7200)
        #expect(
            try connect(fixtures.gatewayContext(showing: [future]), fixtures.deviceContext()).refusal
                .contains("'gateway' is not yet valid: it begins on 20"))
    }

    @Test("A clock before the earliest time counts as that time, a later one as itself")
    func earliestTime() throws {
        let future = try fixtures.server(from: CertificateFixtures.day, to: 3 * CertificateFixtures.day)
        let context = try fixtures.gatewayContext(showing: [future])
        let now = fixtures.now
        func refusal(_ days: Int64) throws -> String {
            try connect(context, fixtures.deviceContext(earliestTime: now + days * CertificateFixtures.day)).refusal
        }
        #expect(try refusal(-2).contains("not yet valid"))
        #expect(try refusal(0).contains("not yet valid"))
        #expect(try refusal(2).isEmpty)
        #expect(try refusal(4).contains("has expired"))
        // The CA's own dates are judged at that time too.
        #expect(try refusal(5000).contains("has expired"))
    }

    // MARK: Pins

    @Test("A pinned server is accepted under any name and with any date")
    func leafPin() throws {
        let expired = try fixtures.server(from: -7200, to: -3600)
        for (certificate, name) in [(fixtures.server, "192.0.2.1"), (expired, "other.example")] {
            let pair = try connect(
                fixtures.gatewayContext(showing: [certificate]), fixtures.deviceContext(.pin(certificate), name: name))
            #expect(pair.isDone, "\(pair.refusal)")
            #expect(pair.client.peerCertificate?.certificate.der == certificate.der)
            #expect(pair.client.peerCertificate?.verification == .trusted)
        }
    }

    @Test("A server without the pinned key is refused, whatever its CA")
    func wrongPin() throws {
        let context = try fixtures.gatewayContext()
        let other = try PrivateKey.generate(.p256)
        let pins: [TLSTrust] = [
            .pin(sha256OfSPKI: [UInt8](repeating: 0, count: 32)), .pin(try fixtures.provider(key: other)),
            // The CA isn't among the certificates shown.
            .pin(fixtures.authority),
        ]
        for pin in pins {
            let pair = try connect(context, fixtures.deviceContext(pin))
            #expect(pair.serverProgress != .done)
            #expect(pair.refusal.contains("neither it nor a CA that it shows has the pinned key"))
        }
    }

    @Test("A server of a pinned CA is accepted with any date, but by its name only")
    func authorityPin() throws {
        let expired = try fixtures.server(from: -7200, to: -3600)
        let context = try fixtures.gatewayContext(showing: [expired, fixtures.authority])
        let pair = try connect(context, fixtures.deviceContext(.pin(fixtures.authority)))
        #expect(pair.isDone, "\(pair.refusal)")
        let other = try connect(context, fixtures.deviceContext(.pin(fixtures.authority), name: "other"))
        #expect(!other.isDone)
        #expect(other.refusal.contains("it is for 'localhost', not for the name 'other'"))
    }

    @Test("Each CA of a longer chain may be the pinned one, also in an odd order")
    func chainPins() throws {
        let (root, intermediate, chain) = try chainOfThree()
        for order in [chain, [chain[0], chain[2], chain[1]]] {
            let context = try fixtures.gatewayContext(showing: order)
            for anchor in [root, intermediate] {
                let pair = try connect(context, fixtures.deviceContext(.pin(anchor)))
                #expect(pair.isDone, "\(pair.refusal)")
            }
        }
    }

    @Test("A stranger who shows the pinned CA's certificate along with a chain of his own is refused")
    func appendedAuthority() throws {
        let attacker = try CertificateFixtures()
        let pin = TLSTrust.pin(fixtures.authority)
        let chains: [[Certificate]] = [
            // His own CA has the same name, so that his certificate names the pinned one as its issuer.
            [attacker.server, fixtures.authority],
            [attacker.server, attacker.authority, fixtures.authority],
            [attacker.server, fixtures.authority, attacker.authority],
            // A true certificate of the pinned CA, but another key.
            [attacker.server, fixtures.server, fixtures.authority],
        ]
        for chain in chains {
            let pair = try connect(attacker.gatewayContext(showing: chain), fixtures.deviceContext(pin))
            #expect(pair.clientProgress != .done && pair.serverProgress != .done)
            #expect(pair.refusal.contains("it shows the CA with the pinned key ('Test CA'), but its own certificate"))
        }
    }

    @Test("A stranger whose CA has another name and who appends the pinned CA is refused")
    func appendedForeignAuthority() throws {
        let attackerKey = try PrivateKey.generate(.p256)
        let own = try CertificateIssuer.selfSigned(
            CertificateTemplate(
                subject: .init(commonName: "Evil CA"), role: .authority, notBefore: fixtures.now - 60,
                notAfter: fixtures.now + 60), key: attackerKey)
        let leaf = try fixtures.server(by: CertificateIssuer(certificate: own, key: attackerKey))
        let pair = try connect(
            fixtures.gatewayContext(showing: [leaf, own, fixtures.authority]),
            fixtures.deviceContext(.pin(fixtures.authority)))
        #expect(!pair.isDone)
        #expect(pair.refusal.contains("isn't issued by that CA"))
    }

    @Test("A certificate from a pinned server's key, which is no CA's, is refused")
    func leafAsAuthority() throws {
        // The attacker has a leaf of the pinned CA for his own name, and signs the wanted name with its key.
        let attacker = try PrivateKey.generate(.p256)
        let his = try fixtures.issuer.issue(
            CertificateFixtures.serverTemplate(
                [.dns("evil")], from: fixtures.now - 60, to: fixtures.now + 60), for: attacker)
        let forged = try Tool.certificate(of: fixtures.serverKey, named: "localhost", signedBy: his, attacker)
        for pin in [fixtures.authority, his] {
            let pair = try connect(
                fixtures.gatewayContext(showing: [forged, his, fixtures.authority]), fixtures.deviceContext(.pin(pin)))
            #expect(!pair.isDone)
            #expect(pair.refusal.contains("the pinned key"))
        }
    }

    @Test("Pins, names and CAs that cannot be are refused when the context is made")
    func configuration() throws {
        func code(_ trust: TLSTrust, _ name: String = "x", alpn: [String] = ["mqtt"]) -> RingwakeError.Code? {
            do {
                _ = try TLSClientContext(serverName: name, trust: trust, alpn: alpn, earliestTime: 0)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(.system) == nil)
        #expect(code(.pin(sha256OfSPKI: [1, 2])) == .badCredential)
        #expect(code(.authorities([])) == .badCredential)
        for name in ["", ".", "a b", "a\0b", "ü", String(repeating: "a", count: 254)] {
            #expect(code(.system, name) == .invalidRequest)
        }
        #expect(code(.system, alpn: [""]) == .invalidRequest)
        #expect(code(.system, alpn: []) == nil)
    }

    /// A root, an intermediate, and the chain that a server shows: its certificate, the intermediate, the root.
    private func chainOfThree() throws -> (root: Certificate, intermediate: Certificate, chain: [Certificate]) {
        let rootKey = try PrivateKey.generate(.p256)
        let root = try Tool.root(rootKey)
        let key = try PrivateKey.generate(.p256)
        let intermediate = try CertificateIssuer(certificate: root, key: rootKey).issue(
            CertificateTemplate(
                subject: .init(commonName: "Intermediate"), role: .authority, notBefore: fixtures.now - 60,
                notAfter: fixtures.now + 3600), for: key)
        let leaf = try fixtures.server(by: CertificateIssuer(certificate: intermediate, key: key))
        return (root, intermediate, [leaf, intermediate, root])
    }
}

extension Tool {
    /// A CA that may sign CAs, which ``CertificateIssuer`` doesn't make.
    fileprivate static func root(_ key: PrivateKey) throws -> Certificate {
        let file = try PEMFile(key.pem)
        let made = try run(
            "openssl",
            [
                "req", "-x509", "-new", "-key", file.path, "-subj", "/CN=Root", "-days", "1", "-addext",
                "basicConstraints=critical,CA:TRUE",
            ])
        return try Certificate(pem: made.output)
    }

    /// A server's certificate signed with the key of a certificate that is no CA's.
    fileprivate static func certificate(
        of key: PrivateKey, named name: String, signedBy issuer: Certificate, _ issuerKey: PrivateKey
    ) throws -> Certificate {
        let file = try PEMFile(key.pem)
        let request = try run("openssl", ["req", "-new", "-key", file.path, "-subj", "/CN=\(name)"])
        let (issuerFile, keyFile) = (try PEMFile(issuer.pem), try PEMFile(issuerKey.pem))
        let extensions = try PEMFile(Array("subjectAltName=DNS:\(name)\n".utf8))
        let made = try run(
            "openssl",
            [
                "x509", "-req", "-CA", issuerFile.path, "-CAkey", keyFile.path, "-days", "1", "-set_serial", "7",
                "-extfile", extensions.path,
            ], input: request.output)
        return try Certificate(pem: made.output)
    }
}
