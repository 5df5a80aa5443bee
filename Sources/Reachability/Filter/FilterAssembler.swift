internal import CRingwakeNetlink

/// Puts instructions of classic BPF in a row and works out their jumps.
///
/// A conditional jump reaches 255 instructions, and only forward. So a test leads to the next instruction, over a few,
/// or to a verdict. Everything farther goes through an unconditional jump, whose reach is 32 bits: jumps to the two
/// verdicts, which are at the program's end, stand between the other code as often as the reach of the tests asks for.
///
/// The verdicts themselves cannot stand there: the kernel, which looks whether memory is written before it is read,
/// takes what follows a `ret` for reached from it.
struct FilterAssembler {
    /// Where a test leads.
    enum Way: Equatable {
        case next
        /// Over so many instructions. What is skipped must be reserved, or verdicts might come to stand in between.
        case skip(Int)
        /// The message goes to the socket.
        case pass
        /// The message is forgotten.
        case drop

        var isVerdict: Bool { self == .pass || self == .drop }
    }

    /// A place further on.
    struct Label {
        fileprivate let number: Int
    }

    private var instructions: [FilterInstruction] = []
    /// Tests that lead to a verdict which is not placed yet, oldest first.
    private var waiting: [(index: Int, holds: Bool, way: Way)] = []
    /// Unconditional jumps to labels that are not placed yet, by the label's number.
    private var jumps: [[Int]] = [[], []]
    private let passing = Label(number: 0)
    private let dropping = Label(number: 1)
    /// The next instruction can be reached from the one before it, or by a jump.
    private var isOpen = true
    /// A jump could not be written: our own mistake, which costs a level rather than the process.
    private var isBroken = false

    /// Distance that a conditional jump reaches.
    private static let reach = Int(UInt8.max)
    /// Longest run that ``reserve(_:)`` takes: the reach less what verdicts need.
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
        // The verdicts after these: a jump over them, then two.
        if instructions.count + count + 2 - (oldest.index + 1) > Self.reach { placeVerdicts() }
    }

    /// An instruction that is no jump and no verdict.
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

    /// Goes on at `label` if the test of A against `k` holds, or if it does not.
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

    /// The label is here. Once.
    mutating func place(_ label: Label) {
        for index in jumps[label.number] {
            instructions[index].k = UInt32(truncatingIfNeeded: instructions.count - index - 1)
        }
        if !jumps[label.number].isEmpty { isOpen = true }
        jumps[label.number] = []
    }

    /// The code goes on here for a test that skipped what is before.
    mutating func resume() { isOpen = true }

    /// Ends this part with a verdict, which earlier tests use as well.
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

    /// Puts the jumps to verdicts here that tests wait for, and one over them when the code goes on.
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
