import CRingwakeLinux
import Cryptography
import Glibc
import RingwakeCore
import Testing

/// The server's end against a client that nobody here wrote: `openssl s_client` over loopback.
@Suite struct TLSClientProgramTests {
    private static let deadlineMilliseconds: Int32 = 20_000

    @Test(
        "s_client verifies the server, shows its certificate, exports the same key material and gets the answer",
        arguments: ["-tls1_2", "-tls1_3"])
    func connect(version: String) throws {
        signal(SIGPIPE, SIG_IGN)
        let fixtures = try CertificateFixtures()
        let key = try PrivateKey.generate(.rsa2048)
        let authority = try PEMFile(fixtures.authority.pem)
        let provider = try PEMFile(fixtures.provider(key: key).pem + key.pem)
        let (listener, port) = try listen()
        defer { close(listener) }
        let client = try Tool.start(
            "openssl",
            [
                "s_client", version, "-connect", "127.0.0.1:\(port)", "-CAfile", authority.path,
                "-verify_return_error", "-verify_hostname", "localhost", "-cert", provider.path, "-alpn", "h2",
                "-ign_eof", "-keymatexport", TLSConnectionTests.label, "-keymatexportlen", "32",
            ])

        try wait(for: listener, POLLIN)
        let descriptor = ringwake_accept(listener, nil, nil)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let server = try TLSConnection(context: fixtures.serverContext(), descriptor: descriptor)
        var progress = server.handshake()
        while progress == .wantsRead || progress == .wantsWrite {
            try wait(for: descriptor, progress == .wantsRead ? POLLIN : POLLOUT)
            progress = server.handshake()
        }
        #expect(progress == .done)
        #expect(server.negotiatedProtocol == "h2")
        let material = try? server.exportKeyingMaterial(label: TLSConnectionTests.label, context: nil, count: 32)
        #expect((material != nil) == (version == "-tls1_3"))
        #expect(server.peerCertificate?.verification == .trusted)
        #expect(Array("it rings\n".utf8).withUnsafeBytes { server.write($0) } == .bytes(9))
        server.shutdown()
        Glibc.shutdown(descriptor, Int32(SHUT_WR))

        let result = try client.wait()
        #expect(result.text.contains("it rings"))
        #expect(result.text.contains("Verify return code: 0 (ok)"))
        #expect(result.text.contains("ALPN protocol: h2"))
        if let material {
            #expect(result.text.contains("Keying material: \(encodeHex(material).uppercased())"))
        }
    }

    private func listen() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return bind(descriptor, pointer, size) == 0 && Glibc.listen(descriptor, 1) == 0
                && getsockname(descriptor, pointer, &size) == 0
        }
        guard isBound else { throw Tool.Failure(text: "no port on loopback") }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private func wait(for descriptor: Int32, _ events: Int32) throws {
        var entry = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
        guard poll(&entry, 1, Self.deadlineMilliseconds) == 1 else { throw Tool.Failure(text: "the client is silent") }
    }
}
