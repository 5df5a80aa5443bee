internal import CRingwakeNetlink
internal import Glibc

/// Requests and their replies: one at a time, matched by number.
final class NetlinkExchange {
    /// Timeout for one datagram, in milliseconds. The kernel has the answer ready, so this should never happen.
    private static let timeout: Int32 = 2_000
    /// Maximum datagrams for one request: at 32 KiB each far more than any table of links or addresses.
    private static let maximumDatagrams = 65_536
    /// Maximum repetitions of a dump that changed meanwhile. Then the last one counts, and events report the rest.
    private static let maximumRepetitions = 10

    /// Dumps that changed under the reader, and were read again.
    private(set) var interruptedDumps: UInt64 = 0

    let socket: NetlinkSocket
    private var sequence: UInt32 = 0

    init(bufferBytes: Int = NetlinkSocket.bufferBytes) throws(ReachabilityError) {
        socket = try NetlinkSocket(bufferBytes: bufferBytes)
        // A kernel before 4.20 refuses it and sends more than requested; the callers filter.
        _ = socket.setOption(NETLINK_GET_STRICT_CHK, 1)
    }

    /// The reply to one request.
    enum Reply<Value> {
        case value(Value)
        /// The kernel's `errno`.
        case refused(Int32)
    }

    /// Asks for one message of a type.
    func ask<Value>(
        _ request: NetlinkRequest, for type: Int, _ read: (NetlinkMessage) -> Value?
    ) throws(KernelLookupError) -> Reply<Value> {
        try send(request)
        for _ in 0..<Self.maximumDatagrams {
            for message in try receive(request.name) where message.sequence == sequence {
                if message.type == type {
                    guard let value = read(message) else { throw Self.unreadable(request.name) }
                    return .value(value)
                }
                if message.type == Int(NLMSG_ERROR) {
                    guard let code = message.errorNumber, code != 0 else { throw Self.unreadable(request.name) }
                    return .refused(code)
                }
            }
        }
        throw KernelLookupError(request: request.name, message: "no answer among too many")
    }

    /// Asks for a whole table.
    /// - Parameters:
    ///   - emptyFor: the `errno` of a table that doesn't exist.
    ///   - read: returns nil for an unwanted entry.
    func dump<Value>(
        _ request: NetlinkRequest, of type: Int, emptyFor: Int32 = 0, _ read: (NetlinkMessage) -> Value?
    ) throws(KernelLookupError) -> [Value] {
        var values: [Value] = []
        for _ in 0...Self.maximumRepetitions {
            values.removeAll(keepingCapacity: true)
            do throws(KernelLookupError) {
                try send(request)
                let ending = try collect(request.name, of: type) { message in
                    if let value = read(message) { values.append(value) }
                }
                guard ending.code == 0 || ending.code == emptyFor else {
                    throw KernelLookupError(
                        request: request.name, message: String(cString: strerror(ending.code)))
                }
                if !ending.isInterrupted { return values }
                interruptedDumps += 1
            } catch {
                // The unread rest of this dump would keep the kernel from starting another.
                drain()
                throw error
            }
        }
        return values
    }

    private func collect(
        _ name: String, of type: Int, _ read: (NetlinkMessage) -> Void
    ) throws(KernelLookupError) -> (isInterrupted: Bool, code: Int32) {
        var isInterrupted = false
        for _ in 0..<Self.maximumDatagrams {
            for message in try receive(name) where message.sequence == sequence {
                if message.flags & NLM_F_DUMP_INTR != 0 { isInterrupted = true }
                switch message.type {
                case type: read(message)
                case Int(NLMSG_DONE): return (isInterrupted, message.errorNumber ?? 0)
                case Int(NLMSG_ERROR):
                    guard let code = message.errorNumber, code != 0 else { throw Self.unreadable(name) }
                    return (isInterrupted, code)
                default: continue
                }
            }
        }
        throw KernelLookupError(request: name, message: "a table without an end")
    }

    private func send(_ request: NetlinkRequest) throws(KernelLookupError) {
        sequence &+= 1
        try request.send(on: socket, sequence: sequence)
    }

    /// The messages of the next datagram of the kernel.
    private func receive(_ name: String) throws(KernelLookupError) -> NetlinkMessages {
        for _ in 0..<Self.maximumDatagrams {
            switch socket.receive() {
            case .datagram(let bytes): return NetlinkMessages(bytes)
            case .foreign, .failure(EINTR): continue
            case .truncated: throw KernelLookupError(request: name, message: "the answer is too long")
            case .failure(let code): throw KernelLookupError(request: name, message: String(cString: strerror(code)))
            case .empty:
                var wait = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&wait, 1, Self.timeout) != 0 else {
                    throw KernelLookupError(request: name, message: "no answer")
                }
            }
        }
        throw KernelLookupError(request: name, message: "too many messages of others")
    }

    private func drain() {
        for _ in 0..<Self.maximumDatagrams {
            if case .empty = socket.receive() { return }
        }
    }

    private static func unreadable(_ name: String) -> KernelLookupError {
        KernelLookupError(request: name, message: "an answer that cannot be read")
    }
}
