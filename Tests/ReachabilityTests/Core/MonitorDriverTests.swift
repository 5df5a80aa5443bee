import Glibc
import RunLoop
import Testing

@testable import Reachability

/// What the monitor does with the socket and its filter around the machine.
@Suite("Monitor and socket", .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct MonitorDriverTests {
    @Test("Another level of the filter is in force at once, and everything is read anew")
    func level() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let bench = try MonitorBench(["127.0.0.1"])
            var configuration = ReachabilityConfiguration()
            for level in [1, 0, 4] {
                let before = bench.monitor.status.resynchronizations
                configuration.filterLevel = level
                bench.monitor.reconfigure(configuration)
                #expect(bench.monitor.status.filterLevel == level)
                #expect(bench.monitor.status.resynchronizations == before + 1)
            }
        }
    }

    @Test("The filter gets longer with a new target, which is judged again then, and shorter when all is judged")
    func scope() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let bench = try MonitorBench([])
            let before = bench.monitor.status
            let watch = try bench.monitor.watch(try #require(ReachabilityTarget("192.0.2.1"))) { _ in }
            bench.loop.runOnce(timeout: .zero)
            #expect(bench.monitor.status.filterInstructions > before.filterInstructions)
            #expect(bench.monitor.status.evaluations == before.evaluations + 2)
            let evaluations = bench.monitor.status.evaluations
            watch.cancel()
            bench.loop.runOnce(timeout: .zero)
            #expect(bench.monitor.status.evaluations == evaluations)
            bench.monitor.reevaluate()
            #expect(bench.monitor.status.filterInstructions == before.filterInstructions)
        }
    }

    @Test("A path that is watched alone is told")
    func pathAlone() throws {
        try NetworkNamespace.run { _ in
            let loop = try RunLoop(wakingFromSuspend: false)
            let monitor = try NetworkMonitor(runLoop: loop)
            loop.runOnce(timeout: .zero)
            var count = 0
            let watches = (0..<3).map { number in
                monitor.watchPath { _ in
                    #expect(count == number, "in the order in which they came")
                    count += 1
                }
            }
            loop.runOnce(timeout: .zero)
            #expect(count == 3)
            for watch in watches { watch.cancel() }
        }
    }

    @Test("A queue that ran over is counted, and what the kernel has in the end is known")
    func overrun() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let bench = try MonitorBench(["203.0.113.5"]) {
                $0.filterLevel = 0
                $0.lossHold = .zero
            }
            let flood = (0..<4_000).map { "route add 10.\($0 / 250).\($0 % 250).0/24 dev lo" }
            try commands.ipBatch(flood + ["route add blackhole 203.0.113.0/24", "link set lo down"])
            try bench.settle("the end") { bench.last("203.0.113.5")?.unsatisfiedReason == .blackhole }
            #expect(bench.monitor.status.overruns > 0)
        }
    }

    @Test("A loss that has healed leaves no timer, and a monitor that was closed leaves nothing that wakes")
    func quiet() throws {
        try NetworkNamespace.run { commands in
            // Without IPv6, whose addresses bring events of their own.
            try commands.run("/bin/sh", ["-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"])
            try commands.ip("link", "add", "eth0", "type", "veth", "peer", "name", "far0")
            for name in ["far0", "eth0"] { try commands.ip("link", "set", name, "up") }
            try commands.ip("addr", "add", "192.0.2.2/24", "dev", "eth0")
            try commands.ip("route", "add", "203.0.113.0/24", "via", "192.0.2.1")
            let bench = try MonitorBench(["203.0.113.5"]) { $0.lossHold = .milliseconds(300) }
            #expect(bench.last("203.0.113.5")?.status == .satisfied)
            let timers = { bench.loop.statistics.byCause[WakeupCause("timer")] ?? 0 }
            let (before, count) = (timers(), bench.count("203.0.113.5"))
            try commands.ip("route", "del", "203.0.113.0/24")
            try bench.settle("the loss was seen") { bench.monitor.status.messages > 0 }
            try commands.ip("route", "add", "203.0.113.0/24", "via", "192.0.2.1")
            bench.idle(for: .milliseconds(600))
            #expect(bench.count("203.0.113.5") == count)
            #expect(timers() == before)

            for metric in 1...50 where bench.monitor.status.throttles == 0 {
                try commands.ip("route", "add", "203.0.113.0/24", "via", "192.0.2.1", "metric", "\(metric)")
                bench.loop.runOnce(timeout: .milliseconds(20))
            }
            #expect(bench.monitor.status.throttles > 0)
            let wakeups = bench.netlinkWakeups
            bench.monitor.close()
            try commands.ip("route", "del", "203.0.113.0/24")
            bench.idle(for: .milliseconds(200))
            #expect(timers() == before)
            #expect(bench.netlinkWakeups == wakeups)
        }
    }

    @Test("While it rests from a storm the socket wakes nobody, and after it what came is taken")
    func rest() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let bench = try MonitorBench([]) { $0.filterLevel = 1 }
            var number = 0
            func change() throws {
                number += 1
                try commands.ip("route", "add", "10.0.\(number).0/24", "dev", "lo")
            }
            // The fifth rest takes 800 ms.
            for _ in 0..<200 where bench.monitor.status.throttles < 5 {
                try change()
                bench.loop.runOnce(timeout: .milliseconds(20))
            }
            let (before, begin) = (bench.monitor.status.messages, bench.loop.now)
            try change()
            bench.loop.runOnce(timeout: .zero)
            // A machine that stood still so long has nothing to show.
            if begin.duration(to: bench.loop.now) < .milliseconds(800) {
                #expect(bench.monitor.status.messages == before)
            }
            try bench.settle("the message") { bench.monitor.status.messages > before }
        }
    }

    @Test("A query sees a held loss and what came during a rest, each time; a watch gets neither")
    func query() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let bench = try MonitorBench(["203.0.113.5"]) { $0.lossHold = .seconds(60) }
            let target = try #require(ReachabilityTarget("203.0.113.5"))
            func current() throws -> NetworkPath.Status? { try #require(bench.monitor.current([target]).first)?.status }
            // Both count as reachable: packets to an address of this machine need no other link.
            try commands.ip("route", "add", "local", "203.0.113.0/24", "dev", "lo")
            try bench.settle("the route") { bench.last("203.0.113.5")?.status == .satisfied }
            for number in 1...50 {
                try commands.ip("route", "del", "local", "203.0.113.0/24", "dev", "lo")
                #expect(try current() == .unsatisfied, "round \(number)")
                // The loop rests after some rounds.
                bench.loop.runOnce(timeout: .zero)
                try commands.ip("route", "add", "local", "203.0.113.0/24", "dev", "lo")
                #expect(try current() == .satisfied, "round \(number)")
                bench.loop.runOnce(timeout: .zero)
            }
            #expect(bench.count("203.0.113.5") == 2)
            try commands.ip("link", "set", "lo", "down")
            #expect(bench.monitor.currentPath().status == .unsatisfied)
            #expect(try current() == .unsatisfied)
        }
    }

    @Test("A query judges anew, also when the kernel reported nothing")
    func queryWithoutMessage() throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch([
                "link set lo up", "link add eth0 type veth peer name far0", "link set eth0 up",
                "address add 192.0.2.2/24 dev eth0", "route add 203.0.113.0/24 dev eth0 metric 1",
                "route add local 203.0.113.0/24 dev lo table main metric 2",
            ])
            let bench = try MonitorBench(["203.0.113.5"])
            #expect(bench.last("203.0.113.5")?.unsatisfiedReason == .noCarrier)
            let setting = "/proc/sys/net/ipv4/conf/eth0/ignore_routes_with_linkdown"
            try commands.run("/bin/sh", ["-c", "echo 1 > \(setting)"])
            let target = try #require(ReachabilityTarget("203.0.113.5"))
            #expect(try #require(bench.monitor.current([target]).first)?.status == .satisfied)
        }
    }

    @Test("A target is watched for each user apart, by the rules for that user's packets")
    func otherUser() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let bench = try MonitorBench(["127.0.0.1"])
            let target = try #require(ReachabilityTarget("127.0.0.1"))
            var told: [NetworkPath.Status] = []
            let watch = try bench.monitor.watch(target, forUser: 65_534) { told.append($0.status) }
            try bench.settle { told == [.satisfied] }
            // Before the local table, or it would answer first.
            let rule = ["rule", "add", "pref", "1", "uidrange", "65534-65534", "prohibit"]
            try commands.ipBatch(["rule delete pref 0", "rule add pref 10 lookup local", rule.joined(separator: " ")])
            func current(_ user: UInt32?) throws -> NetworkPath.Status {
                try #require(bench.monitor.current([target], forUser: user).first ?? nil).status
            }
            #expect(try current(65_534) == .unsatisfied)
            #expect(try current(nil) == .satisfied)
            try bench.settle { told == [.satisfied, .unsatisfied] }
            try commands.ip("rule", "delete", "pref", "1")
            try bench.settle { told == [.satisfied, .unsatisfied, .satisfied] }
            #expect(bench.count("127.0.0.1") == 1)
            watch.cancel()
            #expect(bench.monitor.current([target], forUser: 65_534) == [nil])
            #expect(bench.monitor.currentPath(forUser: 65_534).status == .unsatisfied)
        }
    }

    @Test("Targets that are watched already come between new ones, and all new ones are judged together")
    func together() throws {
        try NetworkNamespace.run { commands in
            try commands.ip("link", "set", "lo", "up")
            let known = (1...8).map { "192.0.2.\($0)" }
            let bench = try MonitorBench(known)
            let before = bench.monitor.status.evaluations
            let mixed = known.enumerated().flatMap { ["198.51.100.\($0.offset)", $0.element] }
            let watches = try mixed.map { try bench.monitor.watch(try #require(ReachabilityTarget($0))) { _ in } }
            #expect(bench.monitor.status.evaluations == before)
            bench.loop.runOnce(timeout: .zero)
            // The second is after the filter has changed.
            #expect(bench.monitor.status.evaluations == before + 2)
            for watch in watches { watch.cancel() }
        }
    }

    @Test("A batch costs what it takes of the processor, and not how long others have it meanwhile")
    func processor() throws {
        try NetworkNamespace.run { commands in
            let loop = try RunLoop(wakingFromSuspend: false)
            let socket = try EventSocket()
            try socket.join()
            var batches = 0
            let reader = try EventReader(runLoop: loop, socket: socket) { _ in
                batches += 1
                usleep(60_000)
                return false
            }
            try commands.ip("link", "set", "lo", "up")
            for _ in 0..<100 where batches == 0 { loop.runOnce(timeout: .milliseconds(200)) }
            #expect(batches == 1)
            #expect(reader.rests == 0)
            reader.close()
        }
    }
}
