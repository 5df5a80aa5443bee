import Cryptography
import DaemonConfiguration
import Glibc
import HTTPServer
import RingwakeCore
import Testing

@testable import RingwakeDaemon

@Suite("How senders reach this device")
struct SenderRouteTests {
    private typealias Place = SenderRoute.Place

    private func route(
        _ ports: [(String, PushEnvironment)], names: [String] = [], hostName: String? = "pi",
        settings: SenderSettings = SenderSettings(), gateway: SenderRoute.Gateway? = nil, configured: String? = nil
    ) throws -> SenderRoute {
        SenderRoute(
            settings: settings, gateway: gateway,
            ports: try ports.map { .init(address: try SocketAddress(parsing: $0.0), environment: $0.1) },
            names: names.map { SubjectAlternativeName($0) }, hostName: hostName,
            authorities: SenderAuthorities(configured: configured, issuer: "CA"))
    }

    private func host(_ address: String, names: [String], hostName: String? = "pi") throws -> String? {
        try route([(address, .production)], names: names, hostName: hostName).place(for: .production).host
    }

    @Test func `a port of the environment is where its senders connect`() throws {
        let route = try route([("192.0.2.1:2197", .development), ("[2001:db8::1]:2198", .production)])
        #expect(route.place(for: .development) == Place(host: "192.0.2.1", port: 2197, authorities: "CA"))
        #expect(route.place(for: .production) == Place(host: "2001:db8::1", port: 2198, authorities: "CA"))
        #expect(route.place(for: .production).text == "[2001:db8::1]:2198")
        let other = try self.route([("192.0.2.1:2197", .development)])
        #expect(other.place(for: .production) == Place())
        #expect(other.place(for: .production).text == nil)
    }

    @Test func `a port that others reach comes before one of the loopback interface`() throws {
        let route = try route([("127.0.0.1:1", .production), ("192.0.2.1:2", .production)])
        #expect(route.place(for: .production).text == "192.0.2.1:2")
        #expect(try host("127.0.0.1:1", names: ["phone.example.org"]) == "127.0.0.1")
        #expect(try host("[::1]:1", names: ["phone.example.org"]) == "::1")
    }

    @Test func `a wildcard address is the host name, if the certificate is for it`() throws {
        #expect(try host("0.0.0.0:1", names: ["localhost", "PI"]) == "pi")
        #expect(try host("[::]:1", names: []) == "pi")
        #expect(try host("0.0.0.0:1", names: ["*.example.org"], hostName: "pi.example.org") == "pi.example.org")
        #expect(try host("0.0.0.0:1", names: ["*.example.org"], hostName: "a.pi.example.org") == nil)
        let names = ["localhost", "api.push.apple.com", "*.example.com", "Phone.example.org", "pi.local"]
        #expect(try host("0.0.0.0:1", names: names) == "phone.example.org")
        #expect(try host("0.0.0.0:1", names: ["localhost", "127.0.0.1"]) == nil)
        #expect(try host("0.0.0.0:1", names: [], hostName: nil) == nil)
        // A port without a host is of no use.
        let route = try route([("0.0.0.0:1", .production)], names: ["localhost"])
        #expect(route.place(for: .production) == Place(authorities: "CA"))
    }

    @Test func `another address is a name of the certificate, if that is not for the address`() throws {
        #expect(try host("192.0.2.1:1", names: ["phone.example.org", "192.0.2.1"]) == "192.0.2.1")
        #expect(try host("192.0.2.1:1", names: ["localhost", "phone.example.org"]) == "phone.example.org")
        #expect(try host("192.0.2.1:1", names: ["localhost"]) == "192.0.2.1")
    }

    @Test func `the configuration comes first, and the listener has the port that it leaves out`() throws {
        var settings = SenderSettings()
        settings.production = SenderAddress("phone.example.org")
        settings.development = SenderAddress("phone.example.org:443")
        let ports: [(String, PushEnvironment)] = [("0.0.0.0:1", .production), ("0.0.0.0:2", .development)]
        let route = try route(ports, names: ["localhost"], settings: settings, configured: "other")
        #expect(route.place(for: .production) == Place(host: "phone.example.org", port: 1, authorities: "other"))
        #expect(route.place(for: .development) == Place(host: "phone.example.org", port: 443, authorities: "other"))
        let closed = try self.route([], settings: settings)
        #expect(closed.place(for: .production).text == "phone.example.org")
    }

    @Test func `on a linked device only the configuration knows where the gateway takes pushes`() throws {
        let gateway = SenderRoute.Gateway(environments: [.production], authorities: "gateway's")
        let ports: [(String, PushEnvironment)] = [("192.0.2.1:1", .production), ("192.0.2.1:2", .development)]
        let route = try route(ports, gateway: gateway)
        #expect(route.place(for: .production) == Place(authorities: "gateway's"))
        #expect(route.place(for: .development) == Place(host: "192.0.2.1", port: 2, authorities: "CA"))
        var settings = SenderSettings()
        settings.production = SenderAddress("push.example.org:443")
        let known = try self.route(ports, settings: settings, gateway: gateway)
        #expect(
            known.place(for: .production) == Place(host: "push.example.org", port: 443, authorities: "gateway's"))
    }
}

@Suite("The CAs that senders trust")
struct SenderAuthoritiesTests {
    /// A CA, and a server certificate of it.
    private struct Issued {
        let key: PrivateKey
        let authority: Certificate
        let server: Certificate

        init() throws {
            let now = Int64(time(nil))
            key = try PrivateKey.generate(.p256)
            authority = try CertificateIssuer.selfSigned(
                CertificateTemplate(
                    subject: .init(commonName: "CA"), role: .authority, notBefore: now - 60, notAfter: now + 3600),
                key: key)
            server = try CertificateIssuer(certificate: authority, key: key).issue(
                CertificateTemplate(
                    subject: .init(commonName: "phone"), role: .server([.dns("phone")]), notBefore: now - 60,
                    notAfter: now + 3600),
                for: try PrivateKey.generate(.p256))
        }
    }

    private func text(_ certificate: Certificate) throws -> String {
        String(decoding: try certificate.pem, as: UTF8.self)
    }

    private func issuer(_ chain: [Certificate], _ authorities: [Certificate] = []) -> String? {
        SenderAuthorities.issuer(of: chain, among: authorities)
    }

    @Test func `the issuer is found beside the certificate, or among the provider CAs`() throws {
        let (own, other) = (try Issued(), try Issued())
        let expected = try text(own.authority)
        #expect(issuer([own.server, own.authority]) == expected)
        #expect(issuer([own.server], [other.authority, own.authority]) == expected)
        #expect(issuer([own.server, other.authority]) == nil)
        #expect(issuer([own.server], [other.authority]) == nil)
        // One that signed itself.
        #expect(issuer([own.authority]) == expected)
        #expect(issuer([], [own.authority]) == nil)
    }

    @Test func `of a file only the certificates are passed on, and only those of CAs are taken`() throws {
        let own = try Issued()
        let expected = try text(own.authority)
        let file = try own.key.pem + own.authority.pem
        #expect(try SenderAuthorities.pem(ofFile: file) == expected)
        #expect(try SenderAuthorities.pem(ofFile: own.authority.der) == expected)
        let many = Array(repeating: try own.authority.pem, count: 100).flatMap { $0 }
        let wrong: [[UInt8]] = [try own.server.pem, try own.key.pem, Array("no certificate".utf8), many]
        for bytes in wrong {
            #expect {
                try SenderAuthorities.pem(ofFile: bytes)
            } throws: { ($0 as? RingwakeError)?.code == .badCredential }
        }
    }
}
