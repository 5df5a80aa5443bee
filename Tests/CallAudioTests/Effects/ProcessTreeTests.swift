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

    @Test("The kernel's line is read, whatever a process calls itself")
    func parsing() {
        #expect(ProcessTree.parse("7 (a) b) S 3 5 5 0 -1") == .init(parent: 3, group: 5))
        for text in ["", "7 (a", "7 (a) S", "7 (a) S x 5", "7 (a) S 99999999999 5 1"] {
            #expect(ProcessTree.parse(text) == nil, "\(text)")
        }
    }

    @Test("Of a living process")
    func living() {
        #expect(ProcessTree.live.entry(getpid()) == .init(parent: getppid(), group: getpgrp()))
        #expect(ProcessTree.live.entry(-5) == nil)
        #expect(ProcessTree.live.isOne(getpid(), of: [getppid()]))
    }
}
