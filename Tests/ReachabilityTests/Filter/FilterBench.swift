import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

/// A filter on a pair of local sockets: the kernel runs it over any bytes, and no netlink is needed for it.
final class FilterBench {
    let attached: AttachedFilter
    private let program: [FilterInstruction]
    private let ends: (sender: Int32, receiver: Int32)

    init(level: Int, scope: FilterScope) throws {
        program = try #require(FilterCompiler.program(level: level, scope: scope)).instructions
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, &ends) == 0)
        self.ends = (ends[0], ends[1])
        attached = try FilterAttachment.attach(scope, wanted: level, to: ends[1])
        try #require(attached.level == level, "\(attached.why ?? "")")
    }

    deinit {
        close(ends.sender)
        close(ends.receiver)
    }

    /// Whether the message passes, by the interpreter and by the kernel, which have to agree.
    func passes(_ message: [UInt8]) throws -> Bool {
        let isExpected = try FilterInterpreter.passes(message, program)
        try #require(send(ends.sender, message, message.count, 0) == message.count)
        var buffer = [UInt8](repeating: 0, count: message.count + 1)
        let count = recv(ends.receiver, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        // A datagram is kept whole or not at all.
        if count >= 0 { #expect(count == message.count) }
        #expect((count >= 0) == isExpected, "the kernel and the interpreter differ over \(message)")
        return isExpected
    }

    /// The levels that let a message through.
    static func levels(_ message: [UInt8], _ scope: FilterScope = FilterScope()) throws -> [Int] {
        try (1...FilterCompiler.maximumLevel).filter { try FilterBench(level: $0, scope: scope).passes(message) }
    }
}

/// Numbers that are the same in each run (SplitMix64).
struct FilterRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
        return z ^ z >> 31
    }
}
