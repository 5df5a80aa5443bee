import CRingwakeLinux
import CRingwakeNetlink
import Glibc
import RunLoop
import Testing

@testable import Reachability

@Suite("System look-up")
struct SystemLookupTests {
    /// Whether name servers are put there by a test: takes a namespace and `mount`.
    static let canHaveNameServers = NetworkNamespace.isAvailable && access("/bin/mount", X_OK) == 0

    @Test("the names of the hosts file are found without a network, in both families at most once")
    func localhost() throws {
        guard case .addresses(let addresses) = SystemLookup.addresses(of: "localhost") else {
            Issue.record("localhost is unknown")
            return
        }
        #expect(addresses.contains(IPAddress(ipv4: 0x7f00_0001)))
        #expect(Set(addresses).count == addresses.count)
    }

    @Test("addresses are their own answer; the zone of a link-local one is a number")
    func literals() throws {
        #expect(SystemLookup.addresses(of: "192.0.2.1") == .addresses([IPAddress(ipv4: 0xc000_0201)]))
        let linkLocal = try #require(IPAddress("fe80::1%1"))
        #expect(SystemLookup.addresses(of: "fe80::1%lo") == .addresses([linkLocal]))
    }

    @Test(
        "what cannot be a name is asked of nobody",
        arguments: ["", "localhost\0.example", String(repeating: "a", count: SystemLookup.maximumNameLength + 1)])
    func impossibleNames(_ name: String) {
        #expect(SystemLookup.addresses(of: name) == .notFound)
    }

    @Test(
        "without a network a name is not unknown: nobody can be asked",
        .enabled(if: canHaveNameServers, "needs root, ip and mount"))
    func noNetwork() throws {
        try NetworkNamespace.run { commands in
            let directory = try TemporaryDirectory()
            try directory.write("nameserver 192.0.2.53\noptions timeout:1 attempts:1\n", to: "resolv.conf")
            try commands.mount(directory.file("resolv.conf"), over: "/etc/resolv.conf")
            guard case .failed(let reason) = SystemLookup.addresses(of: "host.test") else {
                Issue.record("a name was found, or is said not to exist")
                return
            }
            #expect(!reason.isEmpty)
        }
    }

    @Test(
        "a name server's answers, also when they change, and other name servers, are seen by the threads",
        .enabled(if: canHaveNameServers, "needs root, ip and mount"))
    func nameServers() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let loop = try RunLoop(wakingFromSuspend: false)
            let first = try NameServer(at: "127.0.0.53", runLoop: loop)
            let second = try NameServer(at: "127.0.0.54", runLoop: loop)
            let directory = try TemporaryDirectory()
            let options = "options timeout:5 attempts:2\n"
            try directory.write("nameserver 127.0.0.53\n" + options, to: "resolv.conf")
            try commands.mount(directory.file("resolv.conf"), over: "/etc/resolv.conf")
            let resolver = try NameResolver(runLoop: loop)
            func ask(_ host: String) -> Resolution? {
                var answer: Resolution?
                resolver.resolve(host) { answer = $0 }
                return loop.turn { answer != nil } ? answer : nil
            }

            first.answer = .addresses([192, 0, 2, 1], count: 1)
            #expect(ask("host.test") == .addresses([IPAddress(ipv4: 0xc000_0201)]))
            first.answer = .addresses([192, 0, 2, 2], count: 1)
            #expect(ask("host.test") == .addresses([IPAddress(ipv4: 0xc000_0202)]))
            first.answer = .noSuchName
            #expect(ask("host.test") == .notFound)
            first.answer = .addresses([], count: 0)
            #expect(ask("host.test") == .notFound)
            first.answer = .serverFailure
            if case .failed? = ask("host.test") {} else { Issue.record("a server that fails does not know the name") }

            first.answer = .addresses([192, 0, 2, 1], count: 100)
            if case .addresses(let many)? = ask("host.test") {
                #expect(many.count == SystemLookup.maximumAddresses)
            } else {
                Issue.record("an answer with many addresses was not taken")
            }

            // The file under the mount, rewritten: as programs do that configure networks.
            try directory.write("nameserver 127.0.0.54\n" + options, to: "resolv.conf")
            second.answer = .addresses([192, 0, 2, 3], count: 1)
            #expect(ask("host.test") == .addresses([IPAddress(ipv4: 0xc000_0203)]))
            #expect(second.questions > 0)
            resolver.close()
        }
    }

    @Test(
        "a file that is bind-mounted is told when it is written where it came from",
        .enabled(if: canHaveNameServers, "needs root, ip and mount"))
    func bindMount() throws {
        // Made here, to be removed where nothing is mounted in it.
        let directory = try TemporaryDirectory()
        try NetworkNamespace.run { commands in
            try directory.write("nameserver 192.0.2.53\n", to: "source")
            try directory.write("", to: "resolv.conf")
            try commands.mount(directory.file("source"), over: directory.file("resolv.conf"))
            let loop = try RunLoop(wakingFromSuspend: false)
            var told = 0
            let watch = try FileChangeWatch(runLoop: loop, paths: [directory.file("resolv.conf")]) { told += 1 }
            try directory.write("nameserver 192.0.2.54\n", to: "source")
            loop.runOnce(timeout: .zero)
            #expect(told == 1)
            watch.close()
        }
    }
}

extension Commands {
    /// Puts a file over another one, for the calling thread and what it starts.
    fileprivate func mount(_ source: String, over target: String) throws {
        // unshare and CLONE_NEWNS hide behind _GNU_SOURCE: the function by its name, and the flag's value there.
        typealias Unshare = @convention(c) (Int32) -> Int32
        let newMounts: Int32 = 0x0002_0000
        guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Unshare.self)(newMounts) == 0 else {
            throw CommandFailure.system("unshare", errno)
        }
        try run("/bin/mount", ["--make-rprivate", "/"])
        try run("/bin/mount", ["--bind", source, target])
    }
}

/// A name server on a loop that knows one answer, to questions for IPv4 addresses; there are no others.
private final class NameServer {
    enum Answer {
        /// Addresses from this one on.
        case addresses([UInt8], count: Int)
        case noSuchName
        case serverFailure
    }

    var answer = Answer.noSuchName
    private(set) var questions = 0
    private let socket: Int32
    private var source: ReadinessSource?
    private let listener: Int32
    private let runLoop: RunLoop
    private var listening: ReadinessSource?

    init(at address: String, runLoop: RunLoop) throws {
        self.runLoop = runLoop
        socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        listener = ringwake_stream_socket(AF_INET)
        for descriptor in [socket, listener] {
            var storage = sockaddr_storage()
            let length = ringwake_ip_address(address, 53, &storage)
            guard ringwake_set_nonblocking(descriptor) == 0, ringwake_bind(descriptor, &storage, length) == 0 else {
                throw CommandFailure.system("bind", errno)
            }
        }
        guard listen(listener, 8) == 0 else { throw CommandFailure.system("listen", errno) }
        source = try runLoop.watch(socket, for: .read, cause: .init("name-server")) { [unowned self] _ in receive() }
        listening = try runLoop.watch(listener, for: .read, cause: .init("name-server")) { [unowned self] _ in accept()
        }
    }

    deinit {
        source?.cancel()
        listening?.cancel()
        close(socket)
        close(listener)
    }

    private func receive() {
        var question = [UInt8](repeating: 0, count: 1_024)
        var peer = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &peer) { peer in
            peer.withMemoryRebound(to: sockaddr.self, capacity: 1) { peer in
                let count = recvfrom(socket, &question, question.count, 0, peer, &length)
                guard count > 12 else { return }
                var reply = self.reply(to: Array(question[..<count]))
                if reply.count > 512 {
                    // Truncated (RFC 1035 section 4.1.1): the question comes again, by TCP.
                    reply = Array(reply[..<12]) + question[12..<count]
                    reply[2] |= 0x02
                    reply[7] = 0
                }
                _ = sendto(socket, reply, reply.count, 0, peer, length)
            }
        }
    }

    private func accept() {
        let connection = ringwake_accept(listener, nil, nil)
        guard connection >= 0 else { return }
        var session: ReadinessSource?
        session = try? runLoop.watch(connection, for: .read, cause: .init("name-server")) { [unowned self] _ in
            // Questions come whole here, but two of them may come at once.
            var bytes = [UInt8](repeating: 0, count: 1_024)
            let count = recv(connection, &bytes, bytes.count, 0)
            if count > 0 {
                let replies = self.replies(to: bytes[..<count])
                _ = send(connection, replies, replies.count, Int32(MSG_NOSIGNAL))
            } else if count >= 0 || errno != EAGAIN {
                session?.cancel()
                close(connection)
            }
        }
    }

    /// Each message of a stream has two bytes of length before it (RFC 1035 section 4.2.2).
    private func replies(to stream: ArraySlice<UInt8>) -> [UInt8] {
        var rest = stream
        var replies: [UInt8] = []
        while rest.count > 14 {
            let length = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
            let reply = reply(to: Array(rest.dropFirst(2).prefix(length)))
            replies += [UInt8(reply.count >> 8), UInt8(reply.count & 0xff)] + reply
            rest = rest.dropFirst(2 + length)
        }
        return replies
    }

    /// RFC 1035 section 4.1: the question with its answer behind it.
    private func reply(to message: [UInt8]) -> [UInt8] {
        questions += 1
        // The name up to its empty label, the type and the class; what follows (EDNS) is left out.
        let nameEnd = message[12...].firstIndex(of: 0) ?? message.count - 5
        let question = message[12..<min(message.count, nameEnd + 5)]
        let isIPv4 = nameEnd + 2 < message.count && message[nameEnd + 2] == 1
        var records: [UInt8] = []
        var count: UInt8 = 0
        var code: UInt8 = 0
        switch answer {
        case .noSuchName: code = 3
        case .serverFailure: code = 2
        case .addresses(let first, let total):
            for number in 0..<(isIPv4 ? total : 0) {
                let address = Array(first.dropLast()) + [first[3] &+ UInt8(number)]
                // The name at offset 12, type A, class IN, no time to live, four bytes.
                records += [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + address
                count += 1
            }
        }
        return Array(message[..<2]) + [0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0] + question + records
    }
}
