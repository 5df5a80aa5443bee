internal import CRingwakeNetlink

/// Assembles instructions of classic BPF and computes their jumps.
///
/// A conditional jump reaches 255 instructions, and only forward. So a test leads to the next instruction, over a
/// few, or to a verdict. Everything farther needs an unconditional jump, whose reach is 32 bits. The two verdicts are
/// at the program's end. Jumps to them are inserted between the other code, as often as the reach of the tests
/// requires.
///
/// The verdicts themselves can't be inserted there: the kernel checks that memory is written before it is read, and
/// treats the instruction after a `ret` as reached from it.
struct FilterAssembler {
    /// Where a test leads.
    enum Way: Equatable {
        case next
        /// Over so many instructions. Reserve the skipped ones, or a verdict might be inserted among them.
        case skip(Int)
        /// The message goes to the socket.
        case pass
        /// The message is dropped.
        case drop

        var isVerdict: Bool { self == .pass || self == .drop }
    }

    /// A later place in the program.
    struct Label {
        fileprivate let number: Int
    }

    private var instructions: [FilterInstruction] = []
    /// Tests that lead to a verdict that isn't placed yet, oldest first.
    private var waiting: [(index: Int, holds: Bool, way: Way)] = []
    /// Unconditional jumps to labels that are not placed yet, by the label's number.
    private var jumps: [[Int]] = [[], []]
    private let passing = Label(number: 0)
    private let dropping = Label(number: 1)
    /// Whether the next instruction can be reached, from the previous one or by a jump.
    private var isOpen = true
    /// Whether a jump is too long: a bug here, which then costs a level, not the process.
    private var isBroken = false

    /// Distance that a conditional jump reaches.
    private static let reach = Int(UInt8.max)
    /// Longest run for ``reserve(_:)``: the reach without the space for verdicts.
    static let longestRun = 240

    /// The finished program; nil when a jump leads nowhere.
    func finished() -> [FilterInstruction]? {
        var copy = self
        let isClosed = !isOpen
        copy.placeVerdicts()
        for (label, bytesToKeep) in [(passing, UInt32.max), (dropping, 0)] {
            copy.place(label)
            copy.append(FilterInstruction(code: BPF_RET | BPF_K, k: bytesToKeep))
        }
        return isClosed && !copy.isBroken && copy.jumps.allSatisfy(\.isEmpty) ? copy.instructions : nil
    }

    /// Makes the next `count` instructions follow each other directly.
    mutating func reserve(_ count: Int) {
        guard let oldest = waiting.first else { return }
        // The verdicts after these take a jump over them, then two jumps.
        if instructions.count + count + 2 - (oldest.index + 1) > Self.reach { placeVerdicts() }
    }

    /// An instruction that is neither a jump nor a verdict.
    mutating func emit(_ code: Int32, _ k: UInt32 = 0) {
        append(FilterInstruction(code: code, k: k))
    }

    /// A test of A against `k`: `BPF_JEQ`, `BPF_JGT`, `BPF_JGE`, `BPF_JSET`.
    mutating func test(_ operation: Int32, _ k: UInt32, then: Way = .next, otherwise: Way = .next) {
        jump(BPF_JMP | operation | BPF_K, k, then, otherwise)
    }

    /// A test of A against X.
    mutating func testX(_ operation: Int32, then: Way = .next, otherwise: Way = .next) {
        jump(BPF_JMP | operation | BPF_X, 0, then, otherwise)
    }

    /// Continues at `label` if the test of A against `k` holds, or if it doesn't.
    mutating func branch(to label: Label, if operation: Int32, _ k: UInt32, holds: Bool = true) {
        reserve(2)
        test(operation, k, then: holds ? .next : .skip(1), otherwise: holds ? .skip(1) : .next)
        go(to: label)
        isOpen = true
    }

    mutating func go(to label: Label) {
        append(FilterInstruction(code: BPF_JMP | BPF_JA))
        jumps[label.number].append(instructions.count - 1)
        isOpen = false
    }

    mutating func label() -> Label {
        jumps.append([])
        return Label(number: jumps.count - 1)
    }

    /// Places the label here. Call it once for each label.
    mutating func place(_ label: Label) {
        for index in jumps[label.number] {
            instructions[index].k = UInt32(truncatingIfNeeded: instructions.count - index - 1)
        }
        if !jumps[label.number].isEmpty { isOpen = true }
        jumps[label.number] = []
    }

    /// Continues here for a test that skipped the previous instructions.
    mutating func resume() { isOpen = true }

    /// Ends this part with a verdict, which earlier tests use too.
    mutating func end(_ verdict: Way) {
        reserve(1)
        place(verdict: verdict)
    }
}

extension FilterAssembler {
    private mutating func append(_ instruction: FilterInstruction) {
        reserve(1)
        instructions.append(instruction)
        isOpen = true
    }

    private mutating func jump(_ code: Int32, _ k: UInt32, _ then: Way, _ otherwise: Way) {
        append(FilterInstruction(code: code, k: k))
        let index = instructions.count - 1
        for (holds, way) in [(true, then), (false, otherwise)] {
            switch way {
            case .next: break
            case .skip(let count): set(index, holds, count)
            case .pass, .drop: waiting.append((index, holds, way))
            }
        }
        isOpen = !(then.isVerdict && otherwise.isVerdict)
    }

    private mutating func set(_ index: Int, _ holds: Bool, _ distance: Int) {
        guard let distance = UInt8(exactly: distance) else {
            isBroken = true
            return
        }
        if holds { instructions[index].jt = distance } else { instructions[index].jf = distance }
    }

    /// Inserts the jumps to verdicts that tests wait for, and a jump over them if the code continues.
    private mutating func placeVerdicts() {
        let verdicts = [Way.pass, .drop].filter { verdict in waiting.contains { $0.way == verdict } }
        let goesOn = isOpen
        if goesOn, !verdicts.isEmpty {
            instructions.append(FilterInstruction(code: BPF_JMP | BPF_JA, k: UInt32(verdicts.count)))
        }
        for verdict in verdicts { place(verdict: verdict) }
        isOpen = goesOn
    }

    private mutating func place(verdict: Way) {
        let position = instructions.count
        for wait in waiting where wait.way == verdict { set(wait.index, wait.holds, position - wait.index - 1) }
        waiting.removeAll { $0.way == verdict }
        instructions.append(FilterInstruction(code: BPF_JMP | BPF_JA))
        jumps[verdict == .pass ? passing.number : dropping.number].append(position)
        isOpen = false
    }
}
