import RunLoop
import Testing

@testable import Reachability

@Suite("Source addresses on the kernel", .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes namespaces"))
struct SourceChangeTests {
    @Test("The source that is told changes when its address is no longer preferred, however old it is")
    func deprecated() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "add", "eth0", "type", "veth", "peer", "name", "far0")
            try commands.ip("link", "set", "eth0", "up")
            try commands.ip("link", "set", "far0", "up")
            let sources = ["2001:db8:1::2", "2001:db8:1::3"]
            for source in sources { try commands.ip("addr", "add", "\(source)/64", "dev", "eth0", "nodad") }
            try commands.ip("-6", "route", "add", "2001:db8:9::/48", "via", "2001:db8:1::1")
            let bench = try MonitorBench(["2001:db8:9::5"])
            let first = try #require(bench.last("2001:db8:9::5")?.source?.description)
            let other = try #require(sources.first { $0 != first })
            // An address that was written to so long after it was made looks like one that was refreshed.
            bench.idle(for: .milliseconds(5_100))
            try commands.ip("addr", "change", "\(first)/64", "dev", "eth0", "preferred_lft", "0")
            try bench.settle("the other source") { bench.last("2001:db8:9::5")?.source?.description == other }
            #expect(bench.monitor.status.filterLevel == 4)
        }
    }
}
