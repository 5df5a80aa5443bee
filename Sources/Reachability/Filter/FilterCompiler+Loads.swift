internal import CRingwakeNetlink

extension FilterCompiler {
    /// Offsets in a message, in bytes from the start of its `nlmsghdr`.
    enum Offset {
        static let payload = UInt32(MemoryLayout<nlmsghdr>.size)
        static let type: UInt32 = 4
        /// The family is the first byte of the payload of links, addresses and routes.
        static let family = payload
        /// `ifi_index` and `ifa_index`.
        static let index = payload + 4

        static let linkFlags = payload + 8
        static let linkAttributes = payload + UInt32(MemoryLayout<ifinfomsg>.size)

        static let addressFlags = payload + 2
        static let addressScope = payload + 3
        static let addressAttributes = payload + UInt32(MemoryLayout<ifaddrmsg>.size)

        static let prefixLength = payload + 1
        static let routeType = payload + 7
        static let routeFlags = payload + 8
        static let routeAttributes = payload + UInt32(MemoryLayout<rtmsg>.size)
    }

    /// What to load into A.
    enum Source {
        /// The length of the message.
        case length
        case byte(UInt32)
        case half(UInt32)
        case word(UInt32)
        /// Four bytes at this offset from X.
        case wordBehindX(UInt32)
        case constant(UInt32)
        case memory(Slot)
    }

    /// The program's scratch memory, one word each.
    enum Slot: UInt32 {
        /// The offset of the attribute.
        case attribute
        /// The bits of a word of the address that the prefix leaves open.
        case openBits
        /// The first and the last address that the prefix covers, by the word.
        case low, high
        /// For intermediate results.
        case work
        case created
    }

    mutating func load(_ source: Source) {
        switch source {
        case .length: assembler.emit(BPF_LD | BPF_W | BPF_LEN)
        case .byte(let offset): assembler.emit(BPF_LD | BPF_B | BPF_ABS, offset)
        case .half(let offset): assembler.emit(BPF_LD | BPF_H | BPF_ABS, offset)
        case .word(let offset): assembler.emit(BPF_LD | BPF_W | BPF_ABS, offset)
        case .wordBehindX(let offset): assembler.emit(BPF_LD | BPF_W | BPF_IND, offset)
        case .constant(let value): assembler.emit(BPF_LD | BPF_IMM, value)
        case .memory(let slot): assembler.emit(BPF_LD | BPF_MEM, slot.rawValue)
        }
    }

    mutating func loadX(_ slot: Slot) { assembler.emit(BPF_LDX | BPF_MEM, slot.rawValue) }
    mutating func store(_ slot: Slot) { assembler.emit(BPF_ST, slot.rawValue) }
    mutating func copyToX() { assembler.emit(BPF_MISC | BPF_TAX) }

    /// An operation on A with X.
    mutating func calculate(_ operation: Int32) { assembler.emit(BPF_ALU | operation | BPF_X) }

    /// An operation on A with a constant.
    mutating func calculate(_ operation: Int32, _ k: UInt32) { assembler.emit(BPF_ALU | operation | BPF_K, k) }

    /// Finds an attribute after the offset in A, or inside the attribute at the offset in A. A is then its offset, or
    /// 0. The kernel checks the lengths.
    mutating func find(attribute: UInt32, isNested: Bool = false) {
        assembler.emit(BPF_LDX | BPF_IMM, attribute)
        let extensions = SKF_AD_OFF + (isNested ? SKF_AD_NLATTR_NEST : SKF_AD_NLATTR)
        assembler.emit(BPF_LD | BPF_W | BPF_ABS, UInt32(bitPattern: extensions))
    }

    /// Moves the attribute's offset from A to X, if `size` bytes of its value can be read; else the message passes.
    mutating func enter(attributeOf size: UInt32) {
        assembler.test(BPF_JEQ, 0, then: .pass)
        copyToX()
        load(.length)
        calculate(BPF_SUB)
        assembler.test(BPF_JGE, UInt32(MemoryLayout<nlattr>.size) + size, otherwise: .pass)
    }

    /// Converts A to a number for calculations, after four bytes in host order were loaded. Overwrites X.
    mutating func swapBytes() {
        #if _endian(little)
            copyToX()
            calculate(BPF_RSH, 8)
            calculate(BPF_AND, 0x00ff_00ff)
            store(.work)
            assembler.emit(BPF_MISC | BPF_TXA)
            calculate(BPF_AND, 0x00ff_00ff)
            calculate(BPF_LSH, 8)
            loadX(.work)
            calculate(BPF_OR)
            copyToX()
            calculate(BPF_RSH, 16)
            store(.work)
            assembler.emit(BPF_MISC | BPF_TXA)
            calculate(BPF_LSH, 16)
            loadX(.work)
            calculate(BPF_OR)
        #endif
    }
}
