import CRingwakeNetlink

@testable import Reachability

/// Runs classic BPF as the kernel would, over a message as a test has it: the second opinion on our filters.
struct FilterInterpreter {
    enum Failure: Error, Equatable {
        case unknownInstruction(UInt16)
        case leftProgram
        case readUnwrittenMemory(UInt32)
        case undefinedShift(UInt32)
    }

    let message: [UInt8]
    private var a: UInt32 = 0
    private var x: UInt32 = 0
    private var memory: [UInt32: UInt32] = [:]

    /// Whether the message passes.
    static func passes(_ message: [UInt8], _ program: [FilterInstruction]) throws -> Bool {
        var interpreter = FilterInterpreter(message: message)
        return try interpreter.run(program)
    }

    private init(message: [UInt8]) { self.message = message }

    private mutating func run(_ program: [FilterInstruction]) throws -> Bool {
        var position = 0
        // Jumps lead forward only, so this ends.
        while program.indices.contains(position) {
            let instruction = program[position]
            let code = Int32(instruction.code)
            position += 1
            switch code & 0x07 {
            case BPF_RET: return instruction.k != 0
            case BPF_LD:
                guard let value = try value(code, instruction.k) else { return false }
                a = value
            case BPF_LDX: x = try code & 0xe0 == BPF_MEM ? read(instruction.k) : instruction.k
            case BPF_ST: memory[instruction.k] = a
            case BPF_STX: memory[instruction.k] = x
            case BPF_ALU: a = try calculate(code, code & BPF_X != 0 ? x : instruction.k)
            case BPF_MISC: if code & 0xf8 == BPF_TXA { a = x } else { x = a }
            case BPF_JMP: position += try distance(instruction)
            default: throw Failure.unknownInstruction(instruction.code)
            }
        }
        throw Failure.leftProgram
    }

    private func read(_ slot: UInt32) throws -> UInt32 {
        guard let value = memory[slot] else { throw Failure.readUnwrittenMemory(slot) }
        return value
    }

    /// What a load takes; nil beyond the end of the message, which ends the program with a drop.
    private func value(_ code: Int32, _ k: UInt32) throws -> UInt32? {
        let size = [BPF_W: 4, BPF_H: 2, BPF_B: 1][code & 0x18] ?? 0
        switch code & 0xe0 {
        case BPF_IMM: return k
        case BPF_MEM: return try read(k)
        case BPF_LEN: return UInt32(message.count)
        case BPF_ABS:
            switch Int32(bitPattern: k) {
            case SKF_AD_OFF + SKF_AD_NLATTR: return UInt32(attribute(x, from: Int(a), to: message.count) ?? 0)
            case SKF_AD_OFF + SKF_AD_NLATTR_NEST: return UInt32(nested(x, in: Int(a)) ?? 0)
            default: return bytes(Int(k), size)
            }
        case BPF_IND: return bytes(Int(x) + Int(k), size)
        default: throw Failure.unknownInstruction(UInt16(code))
        }
    }

    private func bytes(_ offset: Int, _ size: Int) -> UInt32? {
        guard offset + size <= message.count else { return nil }
        return message[offset..<offset + size].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// `nla_find` of the kernel.
    private func attribute(_ type: UInt32, from start: Int, to end: Int) -> Int? {
        var offset = start
        while offset + 4 <= end {
            let length = Int(half(offset))
            guard length >= 4, offset + length <= end else { return nil }
            if UInt32(half(offset + 2) & 0x3fff) == type { return offset }
            offset += (length + 3) & ~3
        }
        return nil
    }

    /// `nla_find_nested` of the kernel.
    private func nested(_ type: UInt32, in offset: Int) -> Int? {
        guard offset + 4 <= message.count else { return nil }
        let length = Int(half(offset))
        guard length >= 4, offset + length <= message.count else { return nil }
        return attribute(type, from: offset + 4, to: offset + length)
    }

    private func half(_ offset: Int) -> UInt16 {
        message.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt16.self) }
    }

    private func calculate(_ code: Int32, _ operand: UInt32) throws -> UInt32 {
        switch code & 0xf0 {
        case BPF_ADD: return a &+ operand
        case BPF_SUB: return a &- operand
        case BPF_AND: return a & operand
        case BPF_OR: return a | operand
        case BPF_XOR: return a ^ operand
        case BPF_LSH, BPF_RSH:
            guard operand < 32 else { throw Failure.undefinedShift(operand) }
            return code & 0xf0 == BPF_LSH ? a << operand : a >> operand
        default: throw Failure.unknownInstruction(UInt16(code))
        }
    }

    private func distance(_ instruction: FilterInstruction) throws -> Int {
        let code = Int32(instruction.code)
        let operand = code & BPF_X != 0 ? x : instruction.k
        let holds: Bool
        switch code & 0xf0 {
        case BPF_JA: return Int(instruction.k)
        case BPF_JEQ: holds = a == operand
        case BPF_JGT: holds = a > operand
        case BPF_JGE: holds = a >= operand
        case BPF_JSET: holds = a & operand != 0
        default: throw Failure.unknownInstruction(instruction.code)
        }
        return Int(holds ? instruction.jt : instruction.jf)
    }
}
