import Glibc
import RunLoop
import Testing

@testable import Reachability

@Suite(
    "Network monitor on the kernel",
    .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct NetworkMonitorTests {
    /// `wlan0` and `wwan0`, each with a default route, over veths whose other ends are here too.
    private static func makeWifiAndCellular(_ commands: Commands) throws {
        try commands.ip("link", "set", "lo", "up")
        for (name, peer, network, metric) in [
            ("wlan0", "ap0", "192.0.2", "100"), ("wwan0", "bs0", "198.51.100", "700"),
        ] {
            try commands.ip("link", "add", name, "type", "veth", "peer", "name", peer)
            try commands.ip("link", "set", name, "up")
            try commands.ip("link", "set", peer, "up")
            try commands.ip("addr", "add", "\(network).2/24", "dev", name)
            try commands.ip("route", "add", "default", "via", "\(network).1", "dev", name, "metric", metric)
        }
    }

    @Test("A namespace with only the loopback has no path, and reaches itself")
    func loopbackOnly() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let bench = try MonitorBench(["any", "127.0.0.1", "192.0.2.9"])
            #expect(bench.paths[0].status == .unsatisfied)
            #expect(bench.paths[0].unsatisfiedReason == .noRoute)
            #expect(bench.paths[0].supportsDNS)
            #expect(bench.last("127.0.0.1")?.flags == [.reachable, .isLocalAddress])
            #expect(bench.last("192.0.2.9")?.unsatisfiedReason == .noRoute)
            #expect(bench.last("any")?.status == .unsatisfied)
        }
    }

    @Test("The way moves from Wi-Fi to the mobile network at once, and back")
    func failOver() throws {
        try NetworkNamespace.run { commands in
            try Self.makeWifiAndCellular(commands)
            let bench = try MonitorBench(["any", "203.0.113.5", "192.0.2.77"])
            #expect(bench.paths[0].interfaces.map(\.name) == ["wlan0", "wwan0"])
            #expect(bench.paths[0].gateways.map(\.description) == ["192.0.2.1"])
            #expect(!bench.paths[0].isExpensive)
            #expect(bench.last("203.0.113.5")?.interface?.type == .wifi)
            #expect(bench.last("192.0.2.77")?.flags == [.reachable, .isDirect])

            try commands.ip("link", "set", "wlan0", "down")
            try bench.settle("the switch") { bench.paths.count == 2 && bench.count("203.0.113.5") == 2 }
            #expect(bench.paths[1].status == .satisfied)
            #expect(bench.paths[1].interfaces.map(\.name) == ["wwan0"])
            #expect(bench.paths[1].isExpensive)
            let way = try #require(bench.last("203.0.113.5"))
            #expect(way.flags == [.reachable, .transientConnection, .isWWAN])
            #expect(way.source?.description == "198.51.100.2")
            #expect(way.nextHop?.description == "198.51.100.1")

            try commands.ip("link", "set", "wlan0", "up")
            try commands.ip("route", "add", "default", "via", "192.0.2.1", "dev", "wlan0", "metric", "100")
            try bench.settle("the way back") { bench.paths.last?.interfaces.first?.name == "wlan0" }
            #expect(bench.last("203.0.113.5")?.interface?.name == "wlan0")
        }
    }

    @Test("A loss that heals within the hold is not told; one that lasts is, once")
    func hold() throws {
        try NetworkNamespace.run { commands in
            try Self.makeWifiAndCellular(commands)
            try commands.ip("link", "del", "wwan0")
            let bench = try MonitorBench(["203.0.113.5"]) { $0.lossHold = .seconds(2) }
            try commands.ip("route", "del", "default")
            try bench.settle("the loss was seen") { bench.monitor.status.messages > 0 }
            try commands.ip("route", "add", "default", "via", "192.0.2.1")
            bench.idle(for: .milliseconds(2_200))
            #expect(bench.count("203.0.113.5") == 1)
            #expect(bench.paths.count == 1)

            bench.monitor.reconfigure(
                {
                    var c = ReachabilityConfiguration(); c.lossHold = .milliseconds(50); return c
                }())
            try commands.ip("route", "del", "default")
            try bench.settle("the loss") { bench.count("203.0.113.5") == 2 }
            #expect(bench.last("203.0.113.5")?.unsatisfiedReason == .noRoute)
            #expect(bench.paths.last?.status == .unsatisfied)
        }
    }

    @Test("An interface that appears later, gets an address and a route, is followed")
    func appears() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let bench = try MonitorBench(["203.0.113.5"])
            try Self.makeWifiAndCellular(commands)
            try bench.settle("a way") { bench.last("203.0.113.5")?.interface?.name == "wlan0" }
            // Events of an interface that was not there when the filter was made.
            try commands.ip("link", "set", "wlan0", "down")
            try bench.settle("the switch") { bench.last("203.0.113.5")?.interface?.name == "wwan0" }
            try commands.ip("link", "set", "wwan0", "down")
            try bench.settle("the loss") { bench.last("203.0.113.5")?.status == .unsatisfied }
            #expect(bench.monitor.status.filterLevel == 4)
        }
    }

    @Test("The churn of others wakes nobody")
    func churn() throws {
        try NetworkNamespace.run { commands in
            try Self.makeWifiAndCellular(commands)
            let bench = try MonitorBench(["203.0.113.5", "2001:db8::5"])
            bench.idle(for: .seconds(3))
            let before = bench.netlinkWakeups
            for number in 0..<100 {
                try commands.ip("route", "add", "10.\(number).0.0/16", "via", "192.0.2.1")
                if number % 10 == 0 {
                    try commands.ip("link", "add", "c\(number)", "type", "veth", "peer", "name", "d\(number)")
                    try commands.ip("link", "set", "c\(number)", "up")
                    try commands.ip("link", "set", "d\(number)", "up")
                }
                bench.loop.runOnce(timeout: .zero)
            }
            for number in stride(from: 0, to: 100, by: 10) {
                try commands.ip("link", "del", "c\(number)")
                bench.loop.runOnce(timeout: .zero)
            }
            bench.idle(for: .milliseconds(300))
            #expect(bench.netlinkWakeups == before)
            #expect(bench.monitor.status.filterLevel == 4)
            // It still listens.
            try commands.ip("link", "set", "wlan0", "down")
            try bench.settle("the switch") { bench.last("203.0.113.5")?.interface?.name == "wwan0" }
        }
    }

    @Test("A storm that the filter lets through is rested from, and what it ends with is known")
    func storm() throws {
        try NetworkNamespace.run { commands in
            try Self.makeWifiAndCellular(commands)
            let bench = try MonitorBench(["203.0.113.5"]) { $0.filterLevel = 1 }
            bench.idle(for: .milliseconds(1_100))
            let before = (bench.netlinkWakeups, bench.monitor.status.messages)
            let (file, descriptor) = try Self.temporaryFile()
            defer { close(descriptor); unlink(file) }
            let lines = (0..<4_000).map { "route add 10.\($0 / 250).\($0 % 250).0/24 via 192.0.2.1\n" }
            let bytes = Array((lines.joined() + "route replace 203.0.113.5/32 via 198.51.100.1 dev wwan0\n").utf8)
            #expect(write(descriptor, bytes, bytes.count) == bytes.count)
            let load = try commands.start("/bin/sh", ["-c", "exec ip -batch \(file)"])
            try bench.settle("the last change") { bench.last("203.0.113.5")?.interface?.name == "wwan0" }
            var loadStatus: Int32 = -1
            #expect(waitpid(load, &loadStatus, 0) == load)
            #expect(loadStatus == 0)
            let status = bench.monitor.status
            #expect(status.messages - before.1 > 1_000 || status.overruns > 0)
            #expect(bench.netlinkWakeups - before.0 < 40)
            // A machine that stands still meanwhile gets all of it in a few batches.
            #expect(status.throttles > 0 || bench.netlinkWakeups - before.0 < EventThrottle.idleBurst)
        }
    }

    @Test("A route that a router advertised for a time is gone when the time is over, before the kernel says so")
    func lifetime() throws {
        try NetworkNamespace.run { commands in
            try Self.makeWifiAndCellular(commands)
            try commands.ip("addr", "add", "2001:db8::2/64", "dev", "wlan0", "nodad")
            // The time begins to run only when the way has been told, however slow the machine is; and the kernel
            // cleans nothing up meanwhile.
            try commands.run("/bin/sh", ["-c", "echo 3600 > /proc/sys/net/ipv6/route/gc_interval"])
            let route = ["via", "2001:db8::1", "dev", "wlan0", "expires"]
            try commands.ip(["-6", "route", "add", "default"] + route + ["3600"])
            let bench = try MonitorBench(["2001:db8:1::5"])
            #expect(bench.last("2001:db8:1::5")?.status == .satisfied)
            try commands.ip(["-6", "route", "change", "default"] + route + ["2"])
            try bench.settle("the end") { bench.last("2001:db8:1::5")?.unsatisfiedReason == .noRoute }
            // It is not cleaned up yet, and who reads the table now is not misled by it.
            #expect(try commands.ip("-6", "route", "show", "default").contains("2001:db8::1"))
            let late = try MonitorBench(["2001:db8:1::5"])
            #expect(late.last("2001:db8:1::5")?.unsatisfiedReason == .noRoute)
        }
    }

    @Test("The resolver's file is followed")
    func resolverFile() throws {
        try NetworkNamespace.run { commands in
            try Self.makeWifiAndCellular(commands)
            let (file, descriptor) = try Self.temporaryFile()
            defer { unlink(file) }
            let text = Array("nameserver 2001:db8::53\n".utf8)
            #expect(write(descriptor, text, text.count) == text.count)
            close(descriptor)
            let bench = try MonitorBench(["any"]) { $0.resolverFile = file }
            #expect(!bench.paths[0].supportsDNS)
            let (other, otherDescriptor) = try Self.temporaryFile()
            let better = Array("nameserver 192.0.2.53\n".utf8)
            #expect(write(otherDescriptor, better, better.count) == better.count)
            close(otherDescriptor)
            #expect(rename(other, file) == 0)
            try bench.settle("the name server") { bench.paths.last?.supportsDNS == true }
            #expect(bench.last("any")?.supportsDNS == true)
            // The new server's route matters from now on.
            try commands.ip("route", "add", "unreachable", "192.0.2.53")
            try bench.settle("the name server's route") { bench.paths.last?.supportsDNS == false }
        }
    }

    @Test("After a resume everything is read and judged anew")
    func resume() throws {
        try NetworkNamespace.run { commands in
            try Self.makeWifiAndCellular(commands)
            let bench = try MonitorBench(["203.0.113.5"])
            let before = bench.monitor.status
            bench.monitor.reevaluate()
            #expect(bench.monitor.status.resynchronizations == before.resynchronizations + 1)
            #expect(bench.monitor.status.evaluations > before.evaluations)
            #expect(bench.monitor.status.resumes == 1)
            #expect(bench.count("203.0.113.5") == 1)
        }
    }

    private static func temporaryFile() throws -> (path: String, descriptor: Int32) {
        var template = Array("/tmp/ringwake-monitor-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw CommandFailure.system("mkstemp", errno) }
        return (String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self), descriptor)
    }

    @Test("Many targets are judged together, and a refused one says so")
    func limit() throws {
        try NetworkNamespace.run { commands in
            try Self.makeWifiAndCellular(commands)
            let targets = (0..<NetworkMonitor.maximumTargets).map { "203.\($0 / 250).113.\($0 % 250 + 1)" }
            let bench = try MonitorBench(targets)
            #expect(bench.monitor.status.targets == NetworkMonitor.maximumTargets)
            #expect(bench.monitor.status.evaluations < 20)
            #expect(throws: ReachabilityError.self) { try bench.monitor.watch(.any) { _ in } }
            // The same target again takes no more.
            let watch = try bench.monitor.watch(try #require(ReachabilityTarget(targets[0]))) { _ in }
            watch.cancel()
            try commands.ip("link", "set", "wlan0", "down")
            try bench.settle("all switch") { targets.allSatisfy { bench.last($0)?.interface?.name == "wwan0" } }
        }
    }

    @Test("A watch may end, begin and change anything while it is told")
    func reentry() throws {
        try NetworkNamespace.run { commands in
            try Self.makeWifiAndCellular(commands)
            let loop = try RunLoop(wakingFromSuspend: false)
            let monitor = try NetworkMonitor(runLoop: loop)
            var inner: NetworkMonitor.Watch?
            var outer: NetworkMonitor.Watch?
            var told: [String] = []
            let target = try #require(ReachabilityTarget("203.0.113.5"))
            outer = try monitor.watch(target) { _ in
                told.append("outer")
                outer?.cancel()
                monitor.reevaluate()
                inner = try? monitor.watch(target) { _ in
                    told.append("inner")
                    monitor.close()
                }
            }
            for _ in 0..<10 { loop.runOnce(timeout: .milliseconds(20)) }
            #expect(told == ["outer", "inner"])
            #expect(inner != nil)
            #expect(throws: ReachabilityError.self) { try monitor.watch(target) { _ in } }
        }
    }
}
