import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite(
    "Questions and answers on one socket",
    .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct NetlinkExchangeTests {
    @Test("A thousand links are all there, and the questions after them are answered")
    func manyLinks() throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch((1...500).map { "link add a\($0) type veth peer name b\($0)" })
            let queries = try KernelQueries()
            let links = try queries.links()
            #expect(links.count == 1_001)
            #expect(Set(links.map(\.index)).count == 1_001)
            #expect(try queries.index(ofLink: "b500") != nil)
        }
    }

    @Test("A dump while links come and go ends, and has all that stayed")
    func churn() throws {
        try NetworkNamespace.run { commands in
            let stable = (1...150).map { "s\($0)" }
            try commands.ipBatch(stable.map { "link add \($0) type bridge" })
            let churn = try Churn(commands)
            defer { churn.end() }
            let queries = try KernelQueries()
            var rounds = 0
            // Until one was interrupted, or 20,000 were not.
            while queries.interruptedDumps == 0, rounds < 20_000 {
                let names = try queries.links().map(\.name)
                let found = Set(names)
                guard found.isSuperset(of: stable) else {
                    Issue.record("missing: \(Set(stable).subtracting(found))")
                    return
                }
                rounds += 1
            }
            #expect(queries.interruptedDumps > 0)
        }
    }

    /// A program beside the test that adds and removes a link until it is ended, or the test is gone.
    private final class Churn {
        private let process: pid_t

        init(_ commands: Commands) throws {
            let script = "while kill -0 $PPID; do ip link add c0 type bridge; ip link del c0; done"
            process = try commands.start("/bin/sh", ["-c", script])
        }

        func end() {
            // The shell leads a group of its own, with the ip that it runs.
            kill(-process, SIGKILL)
            waitpid(process, nil, 0)
        }
    }

    @Test("What others send is no answer")
    func spoofed() throws {
        try NetworkNamespace.run { commands in
            let exchange = try NetlinkExchange()
            let port = ringwake_netlink_port(exchange.socket.descriptor)
            let spoofer = ringwake_netlink_open()
            defer { close(spoofer) }
            // The answer to the first question, before it is asked: link 2 is called `evil`.
            var lie = NetlinkFixture.bytes("link-veth")
            withUnsafeBytes(of: UInt32(1)) { lie.replaceSubrange(8..<12, with: $0) }
            #expect(ringwake_netlink_send_to_port(spoofer, port, lie, lie.count) == lie.count)
            var header = ifinfomsg()
            header.ifi_index = 1
            let request = try NetlinkRequest("RTM_GETLINK", type: RTM_GETLINK, header: header)
            guard case .value(let facts) = try exchange.ask(request, for: RTM_NEWLINK, { LinkFacts($0) }) else {
                Issue.record("refused")
                return
            }
            #expect(facts.name == "lo")
        }
    }

    @Test("The answer to an earlier question is not the answer to this one")
    func stale() throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch(["link add s1 type bridge"])
            let exchange = try NetlinkExchange()
            let loopback = try #require(try KernelQueries().index(ofLink: "lo"))
            var header = ifinfomsg()
            header.ifi_index = Int32(loopback)
            let earlier = try NetlinkRequest("RTM_GETLINK", type: RTM_GETLINK, header: header)
            try earlier.send(on: exchange.socket, sequence: 77)
            header.ifi_index = 0
            let later = try NetlinkRequest("RTM_GETLINK", type: RTM_GETLINK, header: header)
            try later.put(IFLA_IFNAME, Array("s1\0".utf8))
            guard case .value(let facts) = try exchange.ask(later, for: RTM_NEWLINK, { LinkFacts($0) }) else {
                Issue.record("refused")
                return
            }
            #expect(facts.name == "s1")
        }
    }

    @Test("A dump that could not be read does not stand in the way of the next question")
    func abandoned() throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch((1...30).map { "link add s\($0) type bridge" })
            let exchange = try NetlinkExchange(bufferBytes: 2_048)
            let all = try NetlinkRequest("RTM_GETLINK", type: RTM_GETLINK, flags: NLM_F_DUMP, header: ifinfomsg())
            for _ in 0..<2 {
                let error = #expect(throws: KernelLookupError.self) {
                    try exchange.dump(all, of: RTM_NEWLINK) { LinkFacts($0) }
                }
                // And not EBUSY, which a dump that was not read to its end leaves behind.
                #expect(error == KernelLookupError(request: "RTM_GETLINK", message: "the answer is too long"))
            }
            var header = ifinfomsg()
            header.ifi_index = 1
            let one = try NetlinkRequest("RTM_GETLINK", type: RTM_GETLINK, header: header)
            try one.put(IFLA_EXT_MASK, UInt32(RTEXT_FILTER_SKIP_STATS))
            guard case .value(let facts) = try exchange.ask(one, for: RTM_NEWLINK, { LinkFacts($0) }) else {
                Issue.record("refused")
                return
            }
            #expect(facts.name == "lo")
        }
    }
}
