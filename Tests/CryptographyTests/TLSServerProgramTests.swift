import CRingwakeLinux
import Cryptography
import Glibc
import Testing

/// The client's end against a server that nobody here wrote: `openssl s_server` over loopback.
@Suite struct TLSServerProgramTests {
    private static let deadlineMilliseconds: Int32 = 20_000

    @Test("s_server takes the client's certificate and talks with it, with each trust")
    func connect() throws {
        signal(SIGPIPE, SIG_IGN)
        let fixtures = try CertificateFixtures()
        let deviceKey = try PrivateKey.generate(.p256)
        for trust in [.authorities(try fixtures.authority.pem), .pin(fixtures.server), .pin(fixtures.authority)]
            as [TLSTrust]
        {
            let context = try fixtures.deviceContext(trust, identity: fixtures.deviceIdentity(deviceKey))
            let (descriptor, program) = try start(fixtures)
            let client = try TLSConnection(context: context, descriptor: descriptor)
            let progress = try handshake(client, descriptor)
            #expect(progress == .done)
            #expect(client.negotiatedProtocol == "mqtt")
            #expect(client.send("sgnir ti\n") == .bytes(9))
            var result = TLSResult.wantsRead
            var answer: [UInt8] = []
            while result == .wantsRead {
                try wait(for: descriptor, POLLIN)
                (result, answer) = client.receive()
            }
            #expect(answer == Array("it rings\n".utf8))
            client.shutdown()
            close(descriptor)
            #expect(try program.wait().errors.contains("Peer certificate: CN = device"))
        }
    }

    @Test("s_server hears why its certificate is refused")
    func refuse() throws {
        signal(SIGPIPE, SIG_IGN)
        let fixtures = try CertificateFixtures()
        let (descriptor, program) = try start(fixtures)
        let client = try TLSConnection(context: fixtures.deviceContext(name: "other"), descriptor: descriptor)
        let progress = try handshake(client, descriptor)
        close(descriptor)
        let result = try program.wait()
        guard case .failed(let reason) = progress else {
            Issue.record("\(progress)")
            return
        }
        #expect(reason.contains("not for the name 'other'"))
        #expect(result.errors.contains("alert"))
    }

    /// A server that returns each line reversed, for one connection, and a socket connected to it.
    private func start(_ fixtures: CertificateFixtures) throws -> (Int32, Tool.Running) {
        let chain = try PEMFile(fixtures.server.pem + fixtures.serverKey.pem)
        let authority = try PEMFile(fixtures.authority.pem)
        let port = try freePort()
        let program = try Tool.start(
            "openssl",
            [
                "s_server", "-accept", "127.0.0.1:\(port)", "-naccept", "1", "-rev", "-cert", chain.path,
                "-cert_chain", authority.path, "-alpn", "mqtt", "-Verify", "1",
            ])
        let descriptor = try connected(to: port)
        return (descriptor, program)
    }

    private func handshake(_ client: TLSConnection, _ descriptor: Int32) throws -> TLSProgress {
        var progress = client.handshake()
        while progress.isWaiting {
            try wait(for: descriptor, progress == .wantsRead ? POLLIN : POLLOUT)
            progress = client.handshake()
        }
        return progress
    }

    private func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }

    private func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var bound = address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &bound) { bytes in
            guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return bind(descriptor, pointer, size) == 0 && getsockname(descriptor, pointer, &size) == 0
        }
        guard isBound else { throw Tool.Failure(text: "no port on loopback") }
        return UInt16(bigEndian: bound.sin_port)
    }

    /// Connects as soon as the program listens.
    private func connected(to port: UInt16) throws -> Int32 {
        for _ in 0..<(Self.deadlineMilliseconds / 10) {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var target = address(port)
            let outcome = withUnsafeMutableBytes(of: &target) { bytes in
                guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return Int32(-1) }
                return Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
            if outcome == 0 {
                _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
                return descriptor
            }
            close(descriptor)
            usleep(10_000)
        }
        throw Tool.Failure(text: "s_server doesn't listen")
    }

    private func wait(for descriptor: Int32, _ events: Int32) throws {
        var entry = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
        guard poll(&entry, 1, Self.deadlineMilliseconds) == 1 else { throw Tool.Failure(text: "the server is silent") }
    }
}
