internal import CRingwakeNetlink
internal import Glibc

/// Writes the filter of the event socket: a program of classic BPF (`SO_ATTACH_FILTER`) that the kernel runs over each
/// message before it wakes us. A wrong drop is a change never told, so what no rule knows passes.
///
/// | level | drops | reads |
/// |---|---|---|
/// | 1 | messages of other types, bridges' messages of ports, clones of routes, broadcast routes | fixed offsets |
/// | 2 | wireless extension events, changes of ports, refreshes of addresses | attributes |
/// | 3 | routes that lead to no destination of ours | the prefix |
/// | 4 | links that are none of ours, and their link-local addresses | the index |
///
/// Each level does what those below do. A notification is one message in a buffer of its own, so the first message is
/// the whole; answers to dumps, which hold several, do not come on this socket.
///
/// BPF loads are big-endian and netlink is in the host's order: constants are swapped here (`bigEndian`), and only
/// what is calculated with is swapped there. A load past the end would end the program with a drop: lengths are tested
/// first, and what is too short passes.
struct FilterCompiler {
    /// The highest level there is.
    static let maximumLevel = 4

    let level: Int
    let scope: FilterScope
    var assembler = FilterAssembler()
    /// Goes by the index of the link, which messages of links and of addresses have in the same place.
    let interfaceCheck: FilterAssembler.Label
    var needsInterfaceCheck = false

    /// The program of a level, 1 to 4.
    /// - Returns: Nil when it would have more than ``FilterProgram/maximumLength`` instructions.
    static func program(level: Int, scope: FilterScope) -> FilterProgram? {
        guard let instructions = instructions(level: level, scope: scope),
            instructions.count <= FilterProgram.maximumLength
        else { return nil }
        return FilterProgram(level: level, instructions: instructions)
    }

    /// The instructions, however many; nil for a level that is none.
    static func instructions(level: Int, scope: FilterScope) -> [FilterInstruction]? {
        guard (1...maximumLevel).contains(level) else { return nil }
        var compiler = FilterCompiler(level: level, scope: scope)
        compiler.compile()
        return compiler.assembler.finished()
    }

    private init(level: Int, scope: FilterScope) {
        self.level = level
        self.scope = scope
        interfaceCheck = assembler.label()
    }

    private mutating func compile() {
        let routes = assembler.label()
        let links = assembler.label()
        let addresses = assembler.label()
        load(.length)
        assembler.test(BPF_JGE, Offset.payload, otherwise: .pass)
        load(.half(Offset.type))
        // Routes first: nothing else comes by the ten thousand.
        for (label, types) in [
            (routes, [RTM_NEWROUTE, RTM_DELROUTE]), (links, [RTM_NEWLINK, RTM_DELLINK]),
            (addresses, [RTM_NEWADDR, RTM_DELADDR]),
        ] {
            for type in types { assembler.branch(to: label, if: BPF_JEQ, Self.swapped(type)) }
        }
        // Rules and nexthop objects are few, and any of them may turn any route.
        let others = [RTM_NEWRULE, RTM_DELRULE, RTM_NEWNEXTHOP, RTM_DELNEXTHOP, Int(NLMSG_ERROR), Int(NLMSG_OVERRUN)]
        for type in others { assembler.test(BPF_JEQ, Self.swapped(type), then: .pass) }
        assembler.end(.drop)

        assembler.place(routes)
        checkRoute()
        assembler.place(links)
        checkLink()
        assembler.place(addresses)
        checkAddress()
        if needsInterfaceCheck {
            assembler.place(interfaceCheck)
            checkInterface()
        }
    }

    /// A message's type as BPF loads it.
    static func swapped(_ type: Int) -> UInt32 {
        UInt32(UInt16(truncatingIfNeeded: type).bigEndian)
    }
}

extension FilterCompiler {
    /// Passes what has the index of an interface that matters; drops the rest.
    private mutating func checkInterface() {
        load(.word(Offset.index))
        // In the order of what BPF loads, not of the indexes: only equality counts, and blocks can be skipped.
        let indexes = scope.interfaces.map(\.bigEndian).sorted()
        let block = FilterAssembler.longestRun / 2
        for start in stride(from: 0, to: indexes.count, by: block) {
            let part = indexes[start..<min(start + block, indexes.count)]
            let next = assembler.label()
            if let last = part.last { assembler.branch(to: next, if: BPF_JGT, last) }
            for index in part { assembler.test(BPF_JEQ, index, then: .pass) }
            assembler.end(.drop)
            assembler.place(next)
        }
        assembler.end(.drop)
    }
}
