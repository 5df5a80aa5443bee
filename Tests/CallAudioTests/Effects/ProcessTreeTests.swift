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
        #expect(ProcessTree.live(getpid())?.parent == getppid())
        #expect(ProcessTree.live(getpid())?.group == getpgrp())
        #expect(ProcessTree.live(getpid())?.start != nil)
        #expect(ProcessTree.live(-5) == nil)
        #expect(ProcessTree(ProcessTree.live).isOne(getpid(), of: [getppid()]))
    }

    @Test("A call reads each process of 30 streams and their ancestors once, when it begins to ring")
    func readOnce() throws {
        let processes = Processes()
        var image = AudioServerImage.notebook()
        // Process 300 + n of a stream, below 20 (of three), 3 (of all), and 1; the last ones are gone.
        for n: Int32 in 0..<30 {
            image.play(UInt32(100 + n), process: 300 + n, kind: "kind \(n)")
            if n < 27 { processes[300 + n] = .init(parent: 20 + n % 3, group: 300 + n, start: 300) }
        }
        for n: Int32 in 20...22 { processes[n] = .init(parent: 3, group: 20, start: 20) }
        processes[3] = .init(parent: 1, group: 3, start: 3)
        let rig = try EngineRig(image, readProcess: { processes.read($0) })
        var plan = try AudioPlan.call()
        plan.sessions[0].others = .interrupt
        plan.exempt = [900]
        rig.engine.handle(.prepare(plan))
        rig.settle()
        let expected = Set<Int32>(300..<330).union(Set<Int32>(20...22)).union([3])
        #expect(Set(processes.reads.keys) == expected)
        #expect(processes.reads.values.allSatisfy { $0 == 1 }, "\(processes.reads)")
        processes.forgetReads()
        // Only the answered call has a handler.
        plan.sessions[0].client.processes = [901]
        #expect(try rig.apply(plan).made >= 30)
        #expect(processes.reads.isEmpty, "\(processes.reads)")
    }

    @Test("A PID that another process has now counts as that process")
    func reused() {
        let processes = Processes()
        var image = AudioServerImage.notebook()
        image.play(1, process: 30)
        processes[20] = .init(parent: 1, group: 20, start: 5)
        processes[30] = .init(parent: 20, group: 30, start: 6)
        let tree = ProcessTree { processes.read($0) }
        tree.follow(image)
        #expect(tree.isOne(30, of: [20]))
        // The ancestor ended; the process lives on.
        processes[20] = .init(parent: 1, group: 20, start: 7)
        tree.follow(image)
        #expect(!tree.isOne(30, of: [20]))
        // Its stream ended, and another process has a new one.
        image.playing = [:]
        tree.follow(image)
        processes[30] = .init(parent: 20, group: 30, start: 8)
        image.play(2, process: 30)
        tree.follow(image)
        #expect(tree.isOne(30, of: [20]))
    }
}

/// Processes, and how often each was read.
private final class Processes: Sendable {
    private let state = Mutex<(entries: [Int32: ProcessTree.Entry], reads: [Int32: Int])>(([:], [:]))

    var reads: [Int32: Int] { state.withLock(\.reads) }

    subscript(process: Int32) -> ProcessTree.Entry? {
        get { state.withLock { $0.entries[process] } }
        set { state.withLock { $0.entries[process] = newValue } }
    }

    func read(_ process: Int32) -> ProcessTree.Entry? {
        state.withLock {
            $0.reads[process, default: 0] += 1
            return $0.entries[process]
        }
    }

    func forgetReads() { state.withLock { $0.reads = [:] } }
}
