internal import CRingwakeNetlink

/// One instruction of classic BPF, as `struct sock_filter` of `linux/filter.h` holds it.
struct FilterInstruction: Hashable, Sendable {
    /// Class, size, mode and operation: `BPF_LD | BPF_W | BPF_ABS`.
    let code: UInt16
    /// Instructions to skip when the test of a jump holds.
    var jt: UInt8 = 0
    /// Instructions to skip when it does not.
    var jf: UInt8 = 0
    /// The operand; of an unconditional jump, the instructions to skip.
    var k: UInt32 = 0

    init(code: Int32, jt: UInt8 = 0, jf: UInt8 = 0, k: UInt32 = 0) {
        self.code = UInt16(truncatingIfNeeded: code)
        self.jt = jt
        self.jf = jf
        self.k = k
    }
}

/// A filter of the event socket: it decides which messages wake us.
struct FilterProgram: Hashable, Sendable {
    /// Maximum instructions that the kernel accepts.
    static let maximumLength = Int(BPF_MAXINSNS)

    /// 1 to 4, see ``FilterCompiler``.
    let level: Int
    let instructions: [FilterInstruction]
}
