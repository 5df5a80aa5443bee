import CRingwakeSystemd
import Glibc

/// Sits between the bus's socket and sd-bus, and drops messages that are larger than ``DBusLimits`` allows.
///
/// sd-bus itself reads messages of up to 128 MiB into memory, and checks each character: any program on the bus could
/// use up the memory of a small machine, or block us for a second. So incoming messages are framed here and forwarded
/// through a socket pair, one at a time; outgoing ones are sent directly. Nothing blocks, and the pair is never
/// watched: sd-bus is called whenever it was fed.
final class InboundGate {
    /// The result of one step.
    enum Step {
        /// Bytes were read: sd-bus may have something to read.
        case fed
        /// There is nothing to read.
        case idle
        /// A message is being dropped; the call with this serial number gets no other reply.
        case dropping(replyTo: UInt64?, bytes: UInt64)
        /// The other side has closed, or sent something else than a handshake.
        case ended
    }

    private enum Phase {
        /// The handshake's answers, in lines.
        case handshake(linesLeft: Int, line: [UInt8])
        /// Between messages, or within a header.
        case header([UInt8])
        case body(left: UInt64)
        /// Within the head of a message that is being dropped.
        case searched(left: UInt64, header: MessageHeader, head: [UInt8])
        /// Within the rest of it.
        case discarded(left: UInt64)
    }

    /// sd-bus asks for a challenge, an identity and descriptors, and gets a line to each (D-Bus Specification,
    /// "Authentication Protocol").
    private static let handshakeLines = 3
    private static let maximumLineBytes = 1_024
    /// Bytes forwarded at once: fits the socket pair, whatever its buffer.
    private static let chunkBytes = 16_384
    /// The kernel's limit for one message of a socket (SCM_MAX_FD).
    private static let maximumDescriptors = 253

    /// The bus's socket; sd-bus owns it.
    private let socket: Int32
    /// Where sd-bus's input is written.
    private let pair: Int32
    private var phase = Phase.handshake(linesLeft: handshakeLines, line: [])
    /// Read, but not accepted by the pair yet.
    private var unsent: ArraySlice<UInt8> = []
    /// Received, but not forwarded yet.
    private var descriptors: [Int32] = []
    /// Buffer for the descriptors of one read.
    private var numbers = [Int32](repeating: -1, count: maximumDescriptors)

    /// - Parameter pair: owned by this object from now on.
    init(socket: Int32, pair: Int32) {
        self.socket = socket
        self.pair = pair
    }

    deinit {
        dropDescriptors()
        _ = Glibc.close(pair)
    }

    /// Reads some of what has arrived. Call it when sd-bus has read everything that it was fed.
    func step() -> Step {
        if !unsent.isEmpty { return forward([]) }
        switch phase {
        case .handshake(let linesLeft, let line): return handshake(linesLeft, line)
        case .header(let bytes): return header(bytes)
        case .body(let left):
            return receive(upTo: left) { bytes in
                let rest = left - UInt64(bytes.count)
                self.phase = rest == 0 ? .header([]) : .body(left: rest)
                return self.forward(bytes)
            }
        case .searched(let left, let header, let head): return search(left, header, head)
        case .discarded(let left): return discard(left)
        }
    }

    /// Reads byte by byte: bytes after the last line belong to the first message.
    private func handshake(_ linesLeft: Int, _ line: [UInt8]) -> Step {
        var line = line
        while line.last != UInt8(ascii: "\n") {
            guard line.count < Self.maximumLineBytes else { return .ended }
            let step = receive(upTo: 1) { bytes in
                line += bytes
                return .fed
            }
            guard case .fed = step else {
                phase = .handshake(linesLeft: linesLeft, line: line)
                return step
            }
        }
        phase = linesLeft > 1 ? .handshake(linesLeft: linesLeft - 1, line: []) : .header([])
        return forward(line)
    }

    private func header(_ begun: [UInt8]) -> Step {
        var bytes = begun
        let step = receive(upTo: UInt64(MessageHeader.fixedBytes - begun.count)) {
            bytes += $0
            return .fed
        }
        guard case .fed = step else { return step }
        guard bytes.count == MessageHeader.fixedBytes else {
            phase = .header(bytes)
            return self.header(bytes)
        }
        guard let header = MessageHeader(bytes) else {
            // Not a message: sd-bus reports that and ends.
            phase = .header([])
            return forward(bytes)
        }
        let left = header.totalBytes - UInt64(bytes.count)
        guard header.totalBytes <= DBusLimits.maximumMessageBytes else {
            dropDescriptors()
            return search(left, header, bytes)
        }
        phase = left == 0 ? .header([]) : .body(left: left)
        // sd-bus needs more than the fixed header, so read the rest too, which has mostly arrived.
        let more = receive(upTo: left) {
            bytes += $0
            let rest = left - UInt64($0.count)
            self.phase = rest == 0 ? .header([]) : .body(left: rest)
            return .fed
        }
        if case .ended = more { return .ended }
        return forward(bytes)
    }

    /// Reads enough of a message that is dropped to find the call that it replies to.
    private func search(_ left: UInt64, _ header: MessageHeader, _ head: [UInt8]) -> Step {
        let wanted = min(left, header.searchedBytes - UInt64(head.count))
        guard wanted > 0 else {
            phase = left == 0 ? .header([]) : .discarded(left: left)
            return .dropping(replyTo: header.replySerial(in: head), bytes: header.totalBytes)
        }
        phase = .searched(left: left, header: header, head: head)
        return receive(upTo: wanted) { bytes in
            self.dropDescriptors()
            self.phase = .searched(left: left - UInt64(bytes.count), header: header, head: head + bytes)
            return .fed
        }
    }

    private func discard(_ left: UInt64) -> Step {
        receive(upTo: left) { bytes in
            self.dropDescriptors()
            let rest = left - UInt64(bytes.count)
            self.phase = rest == 0 ? .header([]) : .discarded(left: rest)
            return .fed
        }
    }

    // MARK: - Sockets

    /// Reads at most so many bytes, and at most one chunk; adds their descriptors to the waiting ones.
    private func receive(upTo count: UInt64, _ take: ([UInt8]) -> Step) -> Step {
        let capacity = Int(min(count, UInt64(Self.chunkBytes)))
        guard capacity > 0 else { return .idle }
        var numberCount = 0
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, initialized in
            repeat {
                numberCount = numbers.count
                length = ringwake_dbus_receive(socket, buffer.baseAddress, capacity, &numbers, &numberCount)
            } while length == -Int(EINTR)
            initialized = max(0, length)
        }
        if length == -Int(EAGAIN) { return .idle }
        guard length > 0 else { return .ended }
        descriptors += numbers.prefix(numberCount)
        return take(bytes)
    }

    /// Forwards bytes to sd-bus, after those that the pair has not accepted yet, with the descriptors that came with
    /// them.
    private func forward(_ bytes: [UInt8]) -> Step {
        unsent += bytes
        let length = unsent.withUnsafeBufferPointer {
            ringwake_dbus_send(pair, $0.baseAddress, $0.count, descriptors, descriptors.count)
        }
        // The pair is full although sd-bus has read everything: the kernel has no memory, and sd-bus can't continue.
        guard length > 0 else { return .ended }
        unsent = unsent.dropFirst(length)
        dropDescriptors()
        return .fed
    }

    /// Closes descriptors that the pair has copies of, or that nobody wants.
    private func dropDescriptors() {
        for number in descriptors { _ = Glibc.close(number) }
        descriptors = []
    }
}
