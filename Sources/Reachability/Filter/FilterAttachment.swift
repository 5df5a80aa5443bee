internal import CRingwakeNetlink
internal import Glibc

/// The filter that a socket has now.
struct AttachedFilter: Hashable, Sendable {
    /// 0 to 4; 0 means no filter.
    let level: Int
    /// How many instructions it has.
    let instructions: Int
    /// Why the level is lower than the wanted one; nil if it isn't.
    let why: String?
}

/// Attaches the highest filter that the kernel accepts to a socket.
enum FilterAttachment {
    /// Why a level can't be attached.
    private struct Refusal: Error {
        let why: String
        /// The kernel had no room: it counts the old filter too until the new one has replaced it.
        var isForRoom = false
    }

    /// Replaces the filter of a socket by one of the wanted level, or of the highest lower level that the kernel
    /// accepts; else removes it. At no moment is a message dropped that both the old filter and the new one pass.
    ///
    /// - Parameter level: 0 to 4; other values count as the nearest of them.
    /// - Throws: It isn't a socket, or it is locked (SO_LOCK_FILTER): the old filter may still be in force.
    static func attach(
        _ scope: FilterScope, wanted level: Int, to descriptor: Int32
    ) throws(ReachabilityError) -> AttachedFilter {
        let wanted = min(max(level, 0), FilterCompiler.maximumLevel)
        var first: Refusal?
        var lacksRoom = false
        for level in stride(from: wanted, to: 0, by: -1) {
            switch try attempt(level, scope, descriptor) {
            case .success(let count):
                if lacksRoom, let better = try improve(from: level, to: wanted, scope, descriptor) { return better }
                return AttachedFilter(level: level, instructions: count, why: first?.why)
            case .failure(let refusal):
                first = first ?? refusal
                lacksRoom = lacksRoom || refusal.isForRoom
            }
        }
        try detach(from: descriptor)
        return AttachedFilter(level: 0, instructions: 0, why: first?.why)
    }

    /// Tries the higher levels once more, after a smaller filter has replaced the old one.
    private static func improve(
        from level: Int, to wanted: Int, _ scope: FilterScope, _ descriptor: Int32
    ) throws(ReachabilityError) -> AttachedFilter? {
        var why: String?
        for level in stride(from: wanted, to: level, by: -1) {
            switch try attempt(level, scope, descriptor) {
            case .success(let count): return AttachedFilter(level: level, instructions: count, why: why)
            case .failure(let refusal): why = why ?? refusal.why
            }
        }
        return nil
    }

    /// Tries one level. Success is the number of its instructions.
    private static func attempt(
        _ level: Int, _ scope: FilterScope, _ descriptor: Int32
    ) throws(ReachabilityError) -> Result<Int, Refusal> {
        guard let instructions = FilterCompiler.instructions(level: level, scope: scope) else {
            return .failure(Refusal(why: "level \(level) cannot be written"))
        }
        guard instructions.count <= FilterProgram.maximumLength else {
            let counts = (grouped(instructions.count), grouped(FilterProgram.maximumLength))
            return .failure(Refusal(why: "level \(level) needs \(counts.0) instructions, \(counts.1) are allowed"))
        }
        switch set(instructions, on: descriptor) {
        case 0: return .success(instructions.count)
        case let error where error == EBADF || error == ENOTSOCK:
            throw ReachabilityError(
                call: "setsockopt(SO_ATTACH_FILTER)", errno: error, advice: "the filter needs a socket.")
        case let error:
            let isForRoom = error == ENOMEM
            let hint = isForRoom ? " (net.core.optmem_max)" : ""
            let message = String(cString: strerror(error))
            return .failure(
                Refusal(why: "the kernel refused level \(level): \(message)\(hint)", isForRoom: isForRoom))
        }
    }

    /// - Returns: The `errno`, or 0.
    private static func set(_ instructions: [FilterInstruction], on descriptor: Int32) -> Int32 {
        var code = instructions.map { sock_filter(code: $0.code, jt: $0.jt, jf: $0.jf, k: $0.k) }
        return code.withUnsafeMutableBufferPointer { buffer in
            var program = sock_fprog(len: UInt16(truncatingIfNeeded: buffer.count), filter: buffer.baseAddress)
            let size = socklen_t(MemoryLayout<sock_fprog>.size)
            return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, size) == 0 ? 0 : errno
        }
    }

    private static func detach(from descriptor: Int32) throws(ReachabilityError) {
        var unused: Int32 = 0
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(descriptor, SOL_SOCKET, SO_DETACH_FILTER, &unused, size) != 0 else { return }
        let error = errno
        // There was no filter.
        guard error != ENOENT else { return }
        throw ReachabilityError(
            call: "setsockopt(SO_DETACH_FILTER)", errno: error, advice: "an old filter may still drop messages.")
    }

    /// 5210 as `5,210`.
    private static func grouped(_ number: Int) -> String {
        let digits = String(number)
        return String(
            digits.enumerated().flatMap { position, digit -> [Character] in
                let remaining = digits.count - position
                return position > 0 && remaining.isMultiple(of: 3) ? [",", digit] : [digit]
            })
    }
}
