internal import CRingwakeNetlink
internal import Glibc

extension FilterCompiler {
    mutating func checkRoute() {
        load(.length)
        assembler.test(BPF_JGE, Offset.routeAttributes, otherwise: .pass)
        // A clone records a path MTU or a redirect for one destination. The route itself doesn't change.
        load(.word(Offset.routeFlags))
        assembler.test(BPF_JSET, UInt32(RTM_F_CLONED).bigEndian, then: .drop)
        if level >= 3 { checkPrefix() } else { checkRouteType() }
    }

    /// Broadcast and anycast routes change together with an address, and the messages about it and its local route
    /// pass. Multicast routes lead only to multicast addresses. Level 3 checks the prefix instead.
    private mutating func checkRouteType() {
        load(.byte(Offset.routeType))
        assembler.test(BPF_JEQ, UInt32(RTN_BROADCAST), then: .drop)
        assembler.test(BPF_JEQ, UInt32(RTN_ANYCAST), then: .drop)
        if !scope.destinations.contains(where: \.isMulticast) {
            assembler.test(BPF_JEQ, UInt32(RTN_MULTICAST), then: .drop)
        }
        assembler.end(.pass)
    }

    /// Only a route whose prefix covers a destination can change the result of its look-up.
    private mutating func checkPrefix() {
        let ipv6 = assembler.label()
        let ipv4 = assembler.label()
        load(.byte(Offset.prefixLength))
        assembler.test(BPF_JEQ, 0, then: .pass)
        load(.byte(Offset.family))
        assembler.branch(to: ipv4, if: BPF_JEQ, UInt32(AF_INET))
        assembler.branch(to: ipv6, if: BPF_JEQ, UInt32(AF_INET6))
        assembler.end(.pass)
        assembler.place(ipv4)
        checkIPv4Prefix()
        assembler.place(ipv6)
        checkIPv6Prefix()
    }

    private mutating func checkIPv4Prefix() {
        let words = scope.destinations.filter { $0.family == .ipv4 }.map { UInt32(truncatingIfNeeded: $0.low) }
        guard !words.isEmpty else {
            assembler.end(.drop)
            return
        }
        load(.byte(Offset.prefixLength))
        assembler.test(BPF_JGT, 32, then: .pass)
        enterDestination(bytes: 4)
        load(.byte(Offset.prefixLength))
        spread(from: 1)
        coverWord(0)
        find(oneOf: words)
    }

    /// Compares the first 64 bits: a longer prefix counts as one of 64, so that nothing relevant is dropped.
    private mutating func checkIPv6Prefix() {
        let halves = scope.destinations.filter { $0.family == .ipv6 }.map(\.high)
        guard !halves.isEmpty else {
            assembler.end(.drop)
            return
        }
        let groups = Dictionary(grouping: Set(halves)) { UInt32(truncatingIfNeeded: $0 >> 32) }
            .mapValues { $0.map { UInt32(truncatingIfNeeded: $0) } }
        let long = assembler.label()
        let whole = assembler.label()
        let isSpread = assembler.label()
        load(.byte(Offset.prefixLength))
        assembler.test(BPF_JGT, 128, then: .pass)
        enterDestination(bytes: 8)
        load(.byte(Offset.prefixLength))
        assembler.branch(to: long, if: BPF_JGT, 32)
        // Up to 32 bits: the first word decides.
        spread(from: 1)
        coverWord(0)
        find(oneOf: Array(groups.keys))

        // More: the first word is equal, and the second decides.
        assembler.place(long)
        assembler.branch(to: whole, if: BPF_JGE, 64)
        spread(from: 33)
        assembler.go(to: isSpread)
        assembler.place(whole)
        load(.constant(0))
        store(.openBits)
        assembler.place(isSpread)
        coverWord(1)
        store(.low)
        loadX(.attribute)
        load(.wordBehindX(UInt32(MemoryLayout<nlattr>.size)))
        for (first, seconds) in groups.sorted(by: { $0.key < $1.key }) { find(first, oneOf: seconds) }
        assembler.end(.drop)
    }
}

extension FilterCompiler {
    /// Finds the destination of the route, of so many bytes or more; a route without one passes.
    private mutating func enterDestination(bytes: UInt32) {
        load(.constant(Offset.routeAttributes))
        find(attribute: RTA_DST.rawValue)
        enter(attributeOf: bytes)
        assembler.emit(BPF_STX, Slot.attribute.rawValue)
    }

    /// Computes the bits of a word that a prefix leaves open, from its length in A. The length `first` fixes one bit.
    private mutating func spread(from first: UInt32) {
        // One bit less than the word has, as a shift by 32 is undefined.
        calculate(BPF_SUB, first)
        copyToX()
        load(.constant(UInt32.max >> 1))
        calculate(BPF_RSH)
        store(.openBits)
    }

    /// For one word of the destination, puts the last value that the prefix covers in its slot, and the first in A.
    private mutating func coverWord(_ word: UInt32) {
        loadX(.attribute)
        load(.wordBehindX(UInt32(MemoryLayout<nlattr>.size) + 4 * word))
        loadX(.openBits)
        calculate(BPF_OR)
        store(.high)
        calculate(BPF_XOR)
    }

    /// Passes if one of the words is between A and the high slot, else drops. The smallest word that isn't below A
    /// decides. Takes two instructions a word; blocks below A are skipped.
    private mutating func find(oneOf words: [UInt32]) {
        let words = Set(words).sorted()
        // A block fits in the reach of a conditional jump, with room.
        let size = FilterAssembler.longestRun / 4
        for start in stride(from: 0, to: words.count, by: size) {
            let block = words[start..<min(start + size, words.count)]
            guard let last = block.last else { continue }
            let next = assembler.label()
            if block.endIndex < words.count {
                assembler.branch(to: next, if: BPF_JGT, last)
            } else {
                assembler.test(BPF_JGT, last, then: .drop)
            }
            assembler.reserve(2 * block.count + 1)
            for (position, word) in block.enumerated() {
                assembler.emit(BPF_LDX | BPF_IMM, word)
                // The last one isn't below A, or the block would have been skipped.
                let remaining = block.count - 1 - position
                if remaining > 0 { assembler.testX(BPF_JGT, otherwise: .skip(2 * remaining - 1)) }
            }
            load(.memory(.high))
            assembler.testX(BPF_JGE, then: .pass, otherwise: .drop)
            assembler.place(next)
        }
    }

    /// Continues if A isn't the first word. Otherwise passes if a second word is covered, else drops.
    private mutating func find(_ first: UInt32, oneOf seconds: [UInt32]) {
        guard seconds.count == 1, let second = seconds.first else {
            let next = assembler.label()
            assembler.branch(to: next, if: BPF_JEQ, first, holds: false)
            load(.memory(.low))
            find(oneOf: seconds)
            assembler.place(next)
            return
        }
        assembler.reserve(5)
        assembler.test(BPF_JEQ, first, otherwise: .skip(4))
        load(.memory(.low))
        assembler.test(BPF_JGT, second, then: .drop)
        load(.memory(.high))
        assembler.test(BPF_JGE, second, then: .pass, otherwise: .drop)
        assembler.resume()
    }
}
