import Glibc
import RunLoop
import Testing

@testable import Reachability

/// A machine over the kernel: attaches its filter, and reads events, as the monitor does, but without pauses.
final class KernelBench {
    private static let configuration = {
        var configuration = ReachabilityConfiguration()
        configuration.lossHold = .zero
        return configuration
    }()

    private(set) var targets: [ReachabilityTarget] = []
    private let kernel: KernelQueries
    private let socket: EventSocket
    private(set) var machine = PathStateMachine(configuration: configuration, nameServers: [])

    /// Makes links that are up, without addresses.
    static func makeLinks(_ names: String..., commands: Commands) throws {
        let defaults = "cd /proc/sys/net/ipv6/conf/default && echo 0 > accept_dad && echo 1 > addr_gen_mode"
        try commands.run("/bin/sh", ["-c", defaults])
        try commands.ipBatch(
            ["link set lo up"]
                + names.flatMap {
                    [
                        "link add \($0) type veth peer name far-\($0)", "link set far-\($0) up", "link set \($0) up",
                    ]
                })
        // The kernel reports the carrier of a new link a little later.
        for name in names {
            while try !commands.ip("link", "show", name).contains("state UP") { usleep(10_000) }
        }
    }

    /// Waits for the end of all duplicate checks: without one, too, an address is tentative for a moment.
    static func settleAddresses(_ commands: Commands) throws {
        while try !commands.ip("-6", "address", "show", "tentative").isEmpty { usleep(10_000) }
    }

    init(_ texts: [String]) throws {
        kernel = try KernelQueries()
        socket = try EventSocket()
        _ = try FilterAttachment.attach(FilterScope(), wanted: 4, to: socket.descriptor)
        try socket.join()
        handle(.resumed)
        for text in texts { try add(text) }
        handle(.flush)
    }

    private func add(_ text: String) throws {
        let target = try #require(ReachabilityTarget(text))
        targets.append(target)
        handle(.watch(.init(target)))
    }

    /// Judges one more target, and only that.
    func watch(_ text: String) throws {
        try add(text)
        handle(.flush)
    }

    private func handle(_ event: PathStateMachine.Event) {
        for effect in machine.handle(event, at: BootClock.now(), asking: kernel) {
            guard case .attachFilter(let scope) = effect else { continue }
            let filter = try? FilterAttachment.attach(scope, wanted: 4, to: socket.descriptor)
            #expect(filter?.level == 4)
            handle(.filterAttached)
        }
    }

    /// Handles what the kernel has queued.
    private func receive() {
        let batch = socket.receive(maximumDatagrams: 4_096)
        if !batch.events.isEmpty || batch.isOverrun {
            handle(.kernel(batch.events, isOverrun: batch.isOverrun))
        }
    }

    /// Compares with the results of another machine, which reads everything now.
    func expectUpToDate(after what: String) throws {
        // The kernel reports a carrier a little later than it shows it.
        for _ in 0..<100 {
            receive()
            guard try !isSame(as: KernelBench(targets.map(\.description))) else { return }
            usleep(20_000)
        }
        let other = try KernelBench(targets.map(\.description))
        #expect(machine.currentPath == other.machine.currentPath, "the path after \(what)")
        for target in targets {
            #expect(machine.current(.init(target)) == other.machine.current(.init(target)), "\(target) after \(what)")
        }
    }

    /// Whether the filter leaves out exactly this interface, or none.
    func expectLeftOut(_ name: String?, sourceLocation: SourceLocation = #_sourceLocation) {
        receive()
        let expected = name.map { [if_nametoindex($0)] } ?? []
        #expect(machine.attachedScope.uninvolved == Set(expected), sourceLocation: sourceLocation)
    }

    private func isSame(as other: KernelBench) -> Bool {
        machine.currentPath == other.machine.currentPath
            && targets.allSatisfy { machine.current(.init($0)) == other.machine.current(.init($0)) }
    }
}
