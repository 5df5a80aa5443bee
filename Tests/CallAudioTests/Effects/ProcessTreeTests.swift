@testable import CallAudio
import Glibc
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
        #expect(ProcessTree.live.entry(getpid()) == .init(parent: getppid(), group: getpgrp()))
        #expect(ProcessTree.live.entry(-5) == nil)
        #expect(ProcessTree.live.isOne(getpid(), of: [getppid()]))
    }
}
