internal import CRingwakeNetlink
internal import Glibc

/// Compiles the filter of the event socket: a program of classic BPF (`SO_ATTACH_FILTER`) that the kernel runs over
/// each message before it wakes us. A wrong drop hides a change, so a message that no rule knows passes.
///
/// | level | drops | reads |
/// |---|---|---|
/// | 1 | messages of other types, bridges' messages of ports, clones of routes, broadcast routes | fixed offsets |
/// | 2 | wireless extension events, changes of ports, refreshes of addresses | attributes |
/// | 3 | routes to destinations that nobody watches | the prefix |
/// | 4 | links that don't matter, and their link-local addresses; addresses that no result depends on | the index |
///
/// Each level includes the lower ones. A notification is one message in a buffer of its own, so the program reads
/// only the first message; answers to dumps, which contain several, don't arrive on this socket.
///
/// BPF loads are big-endian, and netlink uses host order: constants are swapped here (`bigEndian`), and the program
/// swaps only the values that it calculates with. A load past the end would end the program with a drop, so the
/// program tests lengths first, and passes what is too short.
struct FilterCompiler {
    /// The highest level there is.
    static let maximumLevel = 4

    let level: Int
    let scope: FilterScope
    var assembler = FilterAssembler()
    /// Checks the index of the link, which messages about links and addresses have at the same offset.
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

    /// The instructions, however many; nil for an invalid level.
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
        // Routes first: only they come by the ten thousand.
        for (label, types) in [
            (routes, [RTM_NEWROUTE, RTM_DELROUTE]), (links, [RTM_NEWLINK, RTM_DELLINK]),
            (addresses, [RTM_NEWADDR, RTM_DELADDR]),
        ] {
            for type in types { assembler.branch(to: label, if: BPF_JEQ, Self.swapped(type)) }
        }
        // Rules and nexthop objects are few, and any of them may change any route.
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
    /// Passes messages with the index of an interface that matters; drops the rest.
    private mutating func checkInterface() {
        load(.word(Offset.index))
        // Sorted by the values that BPF loads, not by the indexes: only equality counts, and blocks can be skipped.
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
