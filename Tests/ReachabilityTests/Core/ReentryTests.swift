import Glibc
import RunLoop
import Testing

@testable import Reachability

/// What bodies may do, and hold, while they are told and when they end.
@Suite("Re-entry", .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct ReentryTests {
    /// Keeps a watch.
    private final class Owner {
        var watch: NetworkMonitor.Watch?
    }

    private enum End: CaseIterable {
        case cancel, close
    }

    @Test("A watch may end with the body of another that held it", arguments: [true, false], End.allCases)
    private func nested(isPath: Bool, end: End) throws {
        try NetworkNamespace.run { _ in
            let loop = try RunLoop(wakingFromSuspend: false)
            let monitor = try NetworkMonitor(runLoop: loop)
            let begin = { (owner: Owner?) throws -> NetworkMonitor.Watch in
                isPath
                    ? monitor.watchPath { [owner] _ in withExtendedLifetime(owner) {} }
                    : try monitor.watch(.any) { [owner] _ in withExtendedLifetime(owner) {} }
            }
            weak var inner: NetworkMonitor.Watch?
            let outer = try {
                let owner = Owner()
                owner.watch = try begin(nil)
                inner = owner.watch
                return try begin(owner)
            }()
            #expect(inner != nil)
            switch end {
            case .cancel: outer.cancel()
            case .close: monitor.close()
            }
            #expect(inner == nil)
            #expect(monitor.status.targets == (isPath || end == .cancel ? 0 : 1))
        }
    }

    @Test("What a body changes while others are told for the first time, they are told last")
    func order() throws {
        try NetworkNamespace.run { commands in
            let loop = try RunLoop(wakingFromSuspend: false)
            var configuration = ReachabilityConfiguration()
            // Then this machine is the name server.
            configuration.resolverFile = "/nonexistent/resolv.conf"
            let monitor = try NetworkMonitor(runLoop: loop, configuration: configuration)
            let target = try #require(ReachabilityTarget("127.0.0.1"))
            var paths: [NetworkPath] = []
            var values: [TargetReachability] = []
            let first = monitor.watchPath { _ in
                do {
                    try commands.ip("link", "set", "lo", "up")
                } catch {
                    Issue.record(error)
                }
                monitor.reevaluate()
            }
            let second = monitor.watchPath { paths.append($0) }
            let third = try monitor.watch(target) { values.append($0) }
            loop.runOnce(timeout: .zero)
            #expect(paths.map(\.supportsDNS) == [false, true])
            #expect(values.map(\.status) == [.unsatisfied, .satisfied])
            for watch in [first, second, third] { watch.cancel() }
        }
    }
}
