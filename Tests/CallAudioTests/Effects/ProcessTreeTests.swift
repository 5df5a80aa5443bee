@testable import CallAudio
import Glibc
import RingwakeCore
import Synchronization
import Testing

/// Whose a process is.
struct ProcessTreeTests {
    private let tree = ProcessTree {
        [
            10: .init(parent: 1, group: 10), 11: .init(parent: 10, group: 11), 12: .init(parent: 11, group: 11),
            13: .init(parent: 1, group: 10), 14: .init(parent: 1, group: 14), 15: .init(parent: 15, group: 1),
        ][$0]
    }

    @Test("A process, its descendants, and the group that it leads")
    func membership() {
        for member: Int32 in [10, 11, 12, 13] { #expect(tree.isOne(member, of: [10]), "\(member)") }
        for stranger: Int32 in [14, 15, 16, 1, 0, -1] { #expect(!tree.isOne(stranger, of: [10]), "\(stranger)") }
        #expect(!tree.isOne(10, of: []))
        #expect(!tree.isOne(10, of: [12]))
    }

    @Test("Of a living process")
    func living() {
        #expect(ProcessTree.live(getpid()) == .init(parent: getppid(), group: getpgrp()))
        #expect(ProcessTree.live(-5) == nil)
        #expect(ProcessTree(ProcessTree.live).isOne(getpid(), of: [getppid()]))
    }

    @Test("One pass over 30 streams whose processes share ancestors reads each process at most once")
    func readOnce() throws {
        let reads = Reads()
        var image = AudioServerImage.notebook()
        // Process 300 + n of a stream, below 20 (of three), 3 (of all), and 1; the last ones are gone.
        for n: Int32 in 0..<30 { image.play(UInt32(100 + n), process: 300 + n, kind: "kind \(n)") }
        var plan = try AudioPlan.call()
        plan.exempt = [900]
        plan.silenced = [.other: AudioClient(processes: [901], name: "silenced")]
        plan.ducked = [.third: AudioClient(processes: [902], name: "ducked")]
        let route = RoutePlanner(image: image, session: plan.sessions.first, wishes: RouteWishes()).decision
        let tree = ProcessTree { process in
            reads.counts.withLock { $0[process, default: 0] += 1 }
            return switch process {
            case 300..<327: .init(parent: 20 + process % 3, group: process)
            case 20...22: .init(parent: 3, group: 20)
            case 3: .init(parent: 1, group: 3)
            default: nil
            }
        }
        let planner = EffectPlanner(image: image, plan: plan, route: route, ledger: EffectLedger(), tree: tree)
        #expect(!planner.changes().isEmpty)
        _ = planner.settling
        let counts = reads.counts.withLock(\.self)
        let expected = Set<Int32>(300..<330).union(Set<Int32>(20...22)).union([3])
        #expect(Set(counts.keys) == expected)
        #expect(counts.values.allSatisfy { $0 == 1 }, "\(counts)")
    }
}

/// How often each process was read.
private final class Reads: Sendable {
    let counts = Mutex<[Int32: Int]>([:])
}
