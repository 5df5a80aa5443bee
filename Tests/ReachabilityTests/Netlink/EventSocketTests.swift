import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite(
    "The socket of events", .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct EventSocketTests {
    /// Milliseconds within which an event comes; the kernel has most of them ready, and some within a second.
    private static let patience: Int32 = 300_000

    /// Takes batches until one holds what is looked for.
    private static func wait(
        _ socket: EventSocket, _ what: String, for wanted: (EventSocket.Batch) -> Bool
    ) {
        for _ in 0..<1_000 {
            let batch = socket.receive(maximumDatagrams: 64)
            if wanted(batch) { return }
            if let failure = batch.failure {
                Issue.record("\(what): \(String(cString: strerror(failure)))")
                return
            }
            if batch.isMore { continue }
            var descriptor = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, patience) > 0 else { break }
        }
        Issue.record("\(what): no event")
    }

    private static func drain(_ socket: EventSocket) {
        while socket.receive(maximumDatagrams: 64).isMore {}
    }

    private static func joined(receiveBufferBytes: Int32 = 256 << 10) throws -> EventSocket {
        let socket = try EventSocket(receiveBufferBytes: receiveBufferBytes)
        try socket.join()
        return socket
    }

    @Test("Each group tells of its changes")
    func groups() throws {
        try NetworkNamespace.run { commands in
            let socket = try Self.joined()
            try commands.ip("link", "set", "lo", "up")
            Self.wait(socket, "link") { batch in
                batch.events.contains {
                    guard case .link(let facts) = $0 else { return false }
                    return facts.name == "lo" && facts.flags & UInt32(IFF_UP.rawValue) != 0
                }
            }
            for address in ["192.0.2.1/32", "2001:db8::1/128"] {
                let address = try #require(address.split(separator: "/").first.map(String.init))
                try commands.ip("addr", "add", address, "dev", "lo")
                Self.wait(socket, address) { batch in
                    batch.events.contains {
                        guard case .address(let facts) = $0 else { return false }
                        return facts.address == IPAddress(address)
                    }
                }
                try commands.ip("addr", "del", address, "dev", "lo")
                Self.wait(socket, "end of \(address)") { batch in
                    batch.events.contains {
                        guard case .addressGone(let facts) = $0 else { return false }
                        return facts.address == IPAddress(address)
                    }
                }
            }
            Self.drain(socket)
            for change in [
                "-4 route add 10.1.0.0/16 dev lo", "-6 route add 2001:db8:1::/48 dev lo",
                "-4 rule add to 10.1.0.0/16 prohibit", "-6 rule add to 2001:db8:1::/48 prohibit",
                "-4 nexthop add id 5 blackhole", "-4 nexthop del id 5", "-4 rule del to 10.1.0.0/16 prohibit",
                "-4 route del 10.1.0.0/16 dev lo",
            ] {
                try commands.ip(change.split(separator: " ").map(String.init))
                Self.wait(socket, change) { $0.events == [.routing] }
            }
            try commands.ipBatch(["link add v0 type veth peer name v1", "link del v0"])
            Self.wait(socket, "end of link") { batch in
                batch.events.contains {
                    guard case .linkGone = $0 else { return false }
                    return true
                }
            }
        }
    }

    @Test("Before it joined, nothing comes")
    func notJoined() throws {
        try NetworkNamespace.run { commands in
            let socket = try EventSocket()
            try commands.ip("link", "set", "lo", "up")
            let batch = socket.receive(maximumDatagrams: 64)
            #expect(batch.messages == 0 && !batch.isMore && batch.failure == nil)
        }
    }

    @Test("A limit leaves the rest for later")
    func limit() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let socket = try Self.joined()
            try commands.ipBatch((1...10).map { "route add 10.\($0).0.0/16 dev lo" })
            let first = socket.receive(maximumDatagrams: 4)
            #expect(first.isMore && first.messages == 4 && first.events == [.routing])
            let rest = socket.receive(maximumDatagrams: 64)
            #expect(!rest.isMore && rest.messages == 6)
            #expect(socket.receive(maximumDatagrams: 0).isMore)
        }
    }

    @Test("What another process sends is counted, and is no event", arguments: [false, true])
    func spoofed(_ toGroup: Bool) throws {
        try NetworkNamespace.run { commands in
            let socket = try Self.joined()
            let spoofer = ringwake_netlink_open()
            defer { close(spoofer) }
            let lie = NetlinkFixture.bytes("link-no-carrier")
            let sent =
                toGroup
                ? ringwake_netlink_send_to_group(spoofer, RTNLGRP_LINK.rawValue, lie, lie.count)
                : ringwake_netlink_send_to_port(spoofer, ringwake_netlink_port(socket.descriptor), lie, lie.count)
            #expect(sent == lie.count)
            try commands.ip("link", "set", "lo", "up")
            var foreign = 0
            var names: Set<String> = []
            Self.wait(socket, "the true event") { batch in
                foreign += batch.foreign
                for case .link(let facts) in batch.events { names.insert(facts.name) }
                return names.contains("lo")
            }
            #expect(foreign == 1)
            #expect(names == ["lo"])
        }
    }

    @Test("A flood is an overrun, and what comes after it is told")
    func flood() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let socket = try Self.joined(receiveBufferBytes: 1)
            try commands.ipBatch((0..<250).map { "route add 10.1.\($0).0/24 dev lo" })
            var overruns = 0
            for _ in 0..<100 {
                let batch = socket.receive(maximumDatagrams: 8)
                if batch.isOverrun { overruns += 1 }
                #expect(batch.failure == nil)
                if !batch.isMore { break }
            }
            #expect(overruns == 1)
            try commands.ip("link", "set", "lo", "down")
            Self.wait(socket, "the change after it") { batch in
                batch.events.contains {
                    guard case .link(let facts) = $0 else { return false }
                    return facts.flags & UInt32(IFF_UP.rawValue) == 0
                }
            }
        }
    }

    @Test("What waited at an overrun is forgotten, as what followed from it may be lost")
    func leftOver() throws {
        try NetworkNamespace.run { commands in
            let socket = try Self.joined(receiveBufferBytes: 1)
            try commands.ip("link", "set", "lo", "up")
            try commands.ipBatch((0..<250).map { "route add 10.1.\($0).0/24 dev lo" })
            let batch = socket.receive(maximumDatagrams: 1)
            #expect(batch.isOverrun)
            #expect(batch.events.isEmpty)
            #expect(!batch.isMore)
            #expect(socket.receive(maximumDatagrams: 8).messages == 0)
        }
    }

    @Test("An event that is longer than the buffer is an overrun")
    func truncated() throws {
        try NetworkNamespace.run { commands in
            let socket = try EventSocket(bufferBytes: 64)
            try socket.join()
            try commands.ip("link", "set", "lo", "up")
            let batch = socket.receive(maximumDatagrams: 64)
            #expect(batch.isOverrun)
            #expect(batch.events.isEmpty || batch.events == [.routing])
        }
    }

    @Test("A user without privileges hears and asks")
    func unprivileged() throws {
        try NetworkNamespace.run { commands in
            let nobody: uid_t = 65_534
            try commands.ip("link", "set", "lo", "up")
            #expect(ringwake_set_thread_user(nobody) == 0)
            #expect(throws: CommandFailure.self) { try commands.ip("link", "set", "lo", "down") }
            let socket = try Self.joined()
            let queries = try KernelQueries()
            let lo = try #require(try queries.links().first)
            #expect(lo.name == "lo")
            #expect(try !queries.addresses(of: lo.index).isEmpty)
            #expect(try queries.index(ofLink: "lo") == lo.index)
            let loopback = try #require(IPAddress("127.0.0.1"))
            guard case .route(let route) = try queries.route(RouteQuestion(destination: loopback)) else {
                Issue.record("no route")
                return
            }
            #expect(route.interface == lo.index)
            #expect(ringwake_set_thread_user(0) == 0)
            try commands.ip("link", "set", "lo", "down")
            #expect(ringwake_set_thread_user(nobody) == 0)
            Self.wait(socket, "link") { !$0.events.isEmpty }
        }
    }

    @Test("Its descriptors do not leak into programs")
    func closeOnExec() throws {
        let socket = try EventSocket()
        #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(socket.descriptor, F_GETFL) & O_NONBLOCK != 0)
    }
}
