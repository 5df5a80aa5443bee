internal import CRingwakeLinux
internal import Cryptography
internal import DeviceLink
internal import Glibc
internal import HTTPServer
internal import MQTT5
package import RunLoop

/// Who gets what a ``PacketStream`` receives. The calls come from the loop.
protocol PacketStreamOwner: AnyObject {
    func received(_ packet: MQTTPacket)
    /// The peer's bytes are no packets. Nothing more is received.
    func failed(_ error: MQTTError)
    /// The connection is gone. It comes once, unless the owner closes the stream itself.
    func ended(_ cause: String)
}

/// MQTT packets over one TLS connection whose handshake is done, on the loop, for both ends.
final class PacketStream {
    /// Bytes of a read.
    private static let readBytes = 16 << 10
    /// Maximum bytes that are read in a turn, so that one peer can't starve the others.
    private static let maximumReadBytesPerTurn = 128 << 10
    /// Maximum packets of a turn: a packet of 2 bytes costs as much as one of 200.
    private static let maximumPacketsPerTurn = 64
    /// Maximum bytes that the peer hasn't taken. A peer with more doesn't read.
    private static let maximumUnsent = 1 << 20
    /// The buffer of all reads, used by one stream at a time.
    private static let input = UnsafeMutableRawBufferPointer.allocate(byteCount: readBytes, alignment: 16)

    /// The cause of an end: the peer didn't answer any more.
    static let timedOut = String(cString: strerror(ETIMEDOUT))

    weak var owner: (any PacketStreamOwner)?
    private let runLoop: RunLoop
    private let tls: TLSConnection
    private let descriptor: Int32
    private var source: ReadinessSource?
    private var decoder: MQTTDecoder
    /// TLS needs the same bytes again if it could not take them.
    private var unsent: [UInt8] = []
    private var inputWaitsFor: Interest = .read
    private var outputWaitsFor: Interest = []
    private var isFlushScheduled = false
    private var isReadScheduled = false
    private var hasFailed = false
    private var closesWhenSent = false
    private(set) var isClosed = false

    /// Takes ownership of the descriptor.
    init(runLoop: RunLoop, tls: TLSConnection, descriptor: Int32, maximumPacketBytes: Int) {
        self.runLoop = runLoop
        self.tls = tls
        self.descriptor = descriptor
        decoder = MQTTDecoder(maximumPacketBytes: maximumPacketBytes)
    }

    /// Starts reading. What came with the end of the handshake is read in a later turn.
    ///
    /// - Throws: if the loop can't watch the socket. The stream is closed then.
    func begin(cause: WakeupCause) throws(RunLoopError) {
        _ = ringwake_set_no_delay(descriptor)
        do throws(RunLoopError) {
            // A strong reference: the loop keeps the stream until it is closed.
            source = try runLoop.watch(descriptor, for: .read, cause: cause) { _ in self.advance() }
        } catch {
            close()
            throw error
        }
        readLater()
    }

    /// Packets may be this large from now on.
    func allow(packetBytes: Int) { decoder.maximumPacketBytes = packetBytes }

    /// Sends a packet, with all of this turn together.
    func send(_ packet: MQTTPacket) {
        guard !isClosed, !closesWhenSent else { return }
        packet.write(to: &unsent)
        guard unsent.count <= Self.maximumUnsent else { return end("the peer doesn't read") }
        scheduleFlush()
    }

    /// Closes the connection when everything was sent; the owner gets ``PacketStreamOwner/ended(_:)``.
    func closeWhenSent() {
        guard !isClosed else { return }
        closesWhenSent = true
        scheduleFlush()
    }

    /// Closes the connection at once, without telling the owner. Idempotent.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        source?.cancel()
        source = nil
        tls.shutdown()
        _ = Glibc.close(descriptor)
        unsent = []
    }

    /// Closes the connection at once, and frees its local port: the peer doesn't answer. Idempotent.
    func reset() {
        guard !isClosed else { return }
        resetOnClose(descriptor)
        close()
    }

    /// Sets an option of the socket. It fails only if the socket is already gone.
    func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        guard !isClosed else { return }
        _ = ringwake_set_option(descriptor, level, option, value)
    }

    /// Lets the kernel send keep-alives, which wake neither process while they are answered (tcp(7)).
    ///
    /// - Parameter seconds: of silence before each; 0: none.
    func keepAlive(idle seconds: Int32) {
        set(SOL_SOCKET, SO_KEEPALIVE, seconds > 0 ? 1 : 0)
        guard seconds > 0 else { return }
        set(Int32(IPPROTO_TCP), TCP_KEEPIDLE, seconds)
        let repetition = KeepaliveRules.repetition(of: .seconds(Int64(seconds)))
        set(Int32(IPPROTO_TCP), TCP_KEEPINTVL, Int32(clamping: repetition.components.seconds))
        set(Int32(IPPROTO_TCP), TCP_KEEPCNT, KeepaliveRules.repetitions)
    }

    /// How long ago the peer's kernel acknowledged something; nil if the socket is gone.
    var silence: Duration? { information.map { .milliseconds(Int64($0.tcpi_last_ack_recv)) } }

    /// Whether the peer's kernel has not acknowledged all that was sent.
    var hasUnacknowledgedOutput: Bool { (information?.tcpi_unacked ?? 0) > 0 }

    private var information: tcp_info? {
        guard !isClosed else { return nil }
        var info = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
        return info
    }

    /// Whether bytes of the peer wait for a turn of ours.
    var hasUnreadInput: Bool { isReadScheduled || SocketInput.isWaiting(on: descriptor) }

    /// The TLS connection, for its certificate and its exporter.
    var connection: TLSConnection { tls }

    private func end(_ cause: String) {
        guard !isClosed else { return }
        close()
        owner?.ended(cause)
    }

    private func advance() {
        if !outputWaitsFor.isEmpty { flush() }
        if outputWaitsFor.isEmpty { read() }
        watch()
    }

    private func read() {
        var bytesLeft = Self.maximumReadBytesPerTurn
        var packetsLeft = Self.maximumPacketsPerTurn
        while !isClosed {
            // Nothing more is read while packets wait that were read before.
            guard deliver(&packetsLeft), bytesLeft > 0 else { return readLater() }
            switch tls.read(into: Self.input) {
            case .bytes(let count):
                bytesLeft -= count
                guard !hasFailed else { continue }
                decoder.consume(Array(UnsafeRawBufferPointer(rebasing: Self.input[..<count])))
            case .wantsRead:
                inputWaitsFor = .read
                // Without it the peer's next small packet waits for our delayed acknowledgement (tcp(7)).
                return set(Int32(IPPROTO_TCP), TCP_QUICKACK, 1)
            case .wantsWrite:
                inputWaitsFor = .write
                return
            case .closed: return end("the peer closed the connection")
            case .failed(let reason): return end(reason)
            }
        }
    }

    /// Hands over the packets that are there.
    ///
    /// - Parameter packetsLeft: how many it may be at most.
    /// - Returns: false if some may be left.
    private func deliver(_ packetsLeft: inout Int) -> Bool {
        guard !hasFailed else { return true }
        do throws(MQTTError) {
            while !isClosed {
                guard packetsLeft > 0 else { return false }
                guard let packet = try decoder.next() else { return true }
                packetsLeft -= 1
                owner?.received(packet)
            }
        } catch {
            hasFailed = true
            owner?.failed(error)
        }
        return true
    }

    /// OpenSSL may hold decrypted bytes, which epoll doesn't report. A timer, not enqueued work: others come first.
    private func readLater() {
        guard !isReadScheduled else { return }
        isReadScheduled = true
        runLoop.schedule(at: runLoop.now, tolerance: .zero) {
            self.isReadScheduled = false
            self.advance()
        }
    }

    private func scheduleFlush() {
        guard !isFlushScheduled, outputWaitsFor.isEmpty else { return }
        isFlushScheduled = true
        runLoop.enqueue {
            self.isFlushScheduled = false
            self.flush()
            self.watch()
        }
    }

    private func flush() {
        outputWaitsFor = []
        while !isClosed, !unsent.isEmpty {
            let bytes = unsent
            var written = 0
            let result = bytes.withUnsafeBytes { tls.write($0) }
            switch result {
            case .bytes(let count): written = count
            case .wantsRead: outputWaitsFor = .read
            case .wantsWrite: outputWaitsFor = .write
            case .closed: return end("the peer closed the connection")
            case .failed(let reason): return end(reason)
            }
            guard written < bytes.count else {
                // Not `removeAll`, which would keep the buffer.
                unsent = []
                break
            }
            unsent.removeFirst(written)
            if !outputWaitsFor.isEmpty { return }
        }
        guard closesWhenSent, !isClosed else { return }
        tls.shutdown()
        _ = Glibc.shutdown(descriptor, Int32(SHUT_WR))
        // What has arrived is read first: it may hold an acknowledgement, and with unread bytes the kernel would reset
        // the connection, so that the peer may lose what was sent last.
        read()
        end("closed")
    }

    private func watch() {
        guard !isClosed else { return }
        do throws(RunLoopError) {
            try source?.update(outputWaitsFor.isEmpty ? inputWaitsFor : outputWaitsFor)
        } catch {
            end("the connection cannot be watched: \(error)")
        }
    }
}

extension WakeupCause {
    /// An event of a link.
    package static let link = WakeupCause("link")
}
