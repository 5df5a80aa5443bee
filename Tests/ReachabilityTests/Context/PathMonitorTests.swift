import Reachability
import Testing

@Suite(
    "Path monitor", .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct PathMonitorTests {
    @Test("the path is known when the monitor was made")
    func first() throws {
        try NetworkNamespace.run { _ in
            let path = try PathMonitor().currentPath
            #expect(path.status == .unsatisfied)
            #expect(path.unsatisfiedReason == .noRoute)
        }
        try NetworkNamespace.run { commands in
            try commands.connect("eth0")
            let path = try PathMonitor().currentPath
            #expect(path.status == .satisfied)
            #expect(path.usesInterfaceType(.wiredEthernet))
            #expect(path.supportsIPv4)
            #expect(!path.supportsIPv6)
        }
    }

    @Test("a callback is told the path now, a gain and a loss")
    func callback() throws {
        try NetworkNamespace.run { commands in
            let inbox = try Inbox<NetworkPath>()
            let monitor = try PathMonitor(context: ReachabilityContext(configuration: .prompt))
            monitor.onUpdate { [weak monitor] path in
                #expect(monitor?.currentPath == path)
                inbox.put(path)
            }
            #expect(inbox.next()?.status == .unsatisfied)
            try commands.connect("eth0")
            #expect(inbox.next { $0.status == .satisfied }?.interfaces.map(\.name) == ["eth0"])
            try commands.ip("route", "del", "default")
            #expect(inbox.next { $0.status == .unsatisfied }?.unsatisfiedReason == .noRoute)
            withExtendedLifetime(monitor) {}
        }
    }

    @Test("monitors of one context are told the same, and the later one of a path that was there before")
    func shared() throws {
        try NetworkNamespace.run { commands in
            let context = try ReachabilityContext(configuration: .prompt)
            let inboxes = [try Inbox<NetworkPath>(), try Inbox<NetworkPath>()]
            let monitors = [try PathMonitor(context: context), try PathMonitor(context: context)]
            monitors[0].onUpdate(inboxes[0].put)
            try commands.connect("eth0")
            let path = inboxes[0].next { $0.status == .satisfied }
            monitors[1].onUpdate(inboxes[1].put)
            // The route may come between two questions of one evaluation: the path is told again at once then.
            let later = try #require(inboxes[1].next())
            #expect(later == path || inboxes[0].next { $0 == later } != nil)
            monitors[0].cancel()
            while inboxes[0].take() != nil {}
            try commands.ip("link", "set", "eth0", "down")
            #expect(inboxes[1].next { $0.status == .unsatisfied } != nil)
            #expect(inboxes[0].take() == nil)
        }
    }

    @Test("the status of the context says what is watched")
    func status() throws {
        try NetworkNamespace.run { _ in
            let context = try ReachabilityContext()
            #expect(context.status.resynchronizations > 0)
            let inbox = try Inbox<TargetReachability>()
            let monitor = try ReachabilityMonitor(.any, context: context)
            monitor.onUpdate(inbox.put)
            #expect(inbox.next()?.unsatisfiedReason == .noRoute)
            // The turn that told it has ended when the next one tells something.
            monitor.onUpdate(inbox.put)
            #expect(inbox.next() != nil)
            #expect(context.status.targets == 1)
        }
    }
}
