import Glibc
import RunLoop
import Testing

@testable import Reachability

/// A monitor on a loop in a namespace, and everything that it told.
final class MonitorBench {
    let loop: RunLoop
    let monitor: NetworkMonitor
    private(set) var paths: [NetworkPath] = []
    private(set) var told: [ReachabilityTarget: [TargetReachability]] = [:]
    private var watches: [NetworkMonitor.Watch] = []

    /// Nothing takes this long unless something is broken.
    private static let patience = Duration.seconds(300)

    /// - Parameter targets: As ``ReachabilityTarget/init(_:)`` reads them.
    init(_ targets: [String], change: (inout ReachabilityConfiguration) -> Void = { _ in }) throws {
        loop = try RunLoop(wakingFromSuspend: false)
        var configuration = ReachabilityConfiguration()
        configuration.resolverFile = "/nonexistent/resolv.conf"
        change(&configuration)
        monitor = try NetworkMonitor(runLoop: loop, configuration: configuration)
        watches.append(monitor.watchPath { [unowned self] in paths.append($0) })
        for text in targets {
            let target = try #require(ReachabilityTarget(text))
            watches.append(try monitor.watch(target) { [unowned self] in told[target, default: []].append($0) })
        }
        try settle { paths.count == 1 && told.count == targets.count }
    }

    /// Runs the loop until the condition holds; fails when it does not within a long time.
    func settle(_ what: String = "", until condition: () -> Bool) throws {
        let end = BootClock.now().advanced(by: Self.patience)
        while !condition() {
            guard BootClock.now() < end else {
                Issue.record("it did not come: \(what); paths \(paths), told \(told), \(monitor.status)")
                throw CommandFailure.system("settle", ETIMEDOUT)
            }
            loop.runOnce(timeout: .milliseconds(200))
        }
    }

    /// Runs the loop for that long: for what must not come.
    func idle(for duration: Duration) {
        let end = BootClock.now().advanced(by: duration)
        while BootClock.now() < end { loop.runOnce(timeout: BootClock.now().duration(to: end)) }
    }

    /// What was told of a target last.
    func last(_ text: String) -> TargetReachability? {
        ReachabilityTarget(text).flatMap { told[$0]?.last }
    }

    /// How often something was told of a target.
    func count(_ text: String) -> Int {
        ReachabilityTarget(text).flatMap { told[$0]?.count } ?? 0
    }

    /// How often the event socket woke the loop.
    var netlinkWakeups: UInt64 { loop.statistics.byCause[WakeupCause("netlink")] ?? 0 }
}
