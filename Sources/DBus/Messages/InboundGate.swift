import CRingwakeSystemd
import Glibc

/// Stands between the bus's socket and sd-bus, and lets no message pass that is larger than ``DBusLimits`` allows.
///
/// sd-bus itself takes messages of up to 128 MiB, into memory, and checks each character: any program on the bus could
/// make a small machine run out of memory, or stand still for a second. So what comes is framed here and handed on
/// through a socket pair, one message at a time; what goes out takes the direct way. Nothing waits, and the pair is
/// never watched: sd-bus is called whenever it was fed.
final class InboundGate {
    /// What one step came to.
    enum Step {
        /// Something was taken: sd-bus may have something to read.
        case fed
        /// Nothing has come.
        case idle
        /// A message is being dropped; the call with this serial number gets no other reply.
        case dropping(replyTo: UInt64?, bytes: UInt64)
        /// The other side has closed, or sent what is no handshake.
        case ended
    }

    private enum Phase {
        /// The handshake's answers, in lines.
        case handshake(linesLeft: Int, line: [UInt8])
        /// Between messages, or within a header.
        case header([UInt8])
        case body(left: UInt64)
        /// Within the head of a message that is dropped.
        case searched(left: UInt64, header: MessageHeader, head: [UInt8])
        /// Within the rest of it.
        case discarded(left: UInt64)
    }

    /// sd-bus asks for a challenge, an identity and descriptors, and gets a line to each (D-Bus Specification,
    /// "Authentication Protocol").
    private static let handshakeLines = 3
    private static let maximumLineBytes = 1_024
    /// Bytes handed on at once: fits the socket pair, whatever its buffer.
    private static let chunkBytes = 16_384
    /// The kernel's limit for one message of a socket (SCM_MAX_FD).
    private static let maximumDescriptors = 253

    /// The bus's socket; sd-bus owns it.
    private let socket: Int32
    /// Where sd-bus's input is written.
    private let pair: Int32
    private var phase = Phase.handshake(linesLeft: handshakeLines, line: [])
    /// Read but not taken by the pair.
    private var unsent: ArraySlice<UInt8> = []
    /// Received but not handed on.
    private var descriptors: [Int32] = []
    /// Where the kernel writes those of one piece.
    private var numbers = [Int32](repeating: -1, count: maximumDescriptors)

    /// - Parameter pair: Owned from now on.
    init(socket: Int32, pair: Int32) {
        self.socket = socket
        self.pair = pair
    }

    deinit {
        dropDescriptors()
        _ = Glibc.close(pair)
    }

    /// Takes some of what has come. To be called when sd-bus has read all that it was fed.
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

    /// Byte by byte, for nothing behind the last line may be taken for a part of it.
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
            // No message: sd-bus says so and ends.
            phase = .header([])
            return forward(bytes)
        }
        let left = header.totalBytes - UInt64(bytes.count)
        guard header.totalBytes <= DBusLimits.maximumMessageBytes else {
            dropDescriptors()
            return search(left, header, bytes)
        }
        phase = left == 0 ? .header([]) : .body(left: left)
        // A header of a message without fields is none; sd-bus wants the rest, which is mostly there.
        let more = receive(upTo: left) {
            bytes += $0
            let rest = left - UInt64($0.count)
            self.phase = rest == 0 ? .header([]) : .body(left: rest)
            return .fed
        }
        if case .ended = more { return .ended }
        return forward(bytes)
    }

    /// Reads as much of a message that is dropped as tells whose reply it is.
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

    /// Reads at most so many bytes, one chunk at the most; their descriptors are added to those that wait.
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

    /// Gives sd-bus the bytes, behind those that the pair has not taken yet, and the descriptors that came with them.
    private func forward(_ bytes: [UInt8]) -> Step {
        unsent += bytes
        let length = unsent.withUnsafeBufferPointer {
            ringwake_dbus_send(pair, $0.baseAddress, $0.count, descriptors, descriptors.count)
        }
        // The pair is full though sd-bus has read all: no memory in the kernel. sd-bus cannot go on without.
        guard length > 0 else { return .ended }
        unsent = unsent.dropFirst(length)
        dropDescriptors()
        return .fed
    }

    /// The pair holds them now, or nobody wants them.
    private func dropDescriptors() {
        for number in descriptors { _ = Glibc.close(number) }
        descriptors = []
    }
}
