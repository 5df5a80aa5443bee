import CRingwakeLinux
import CRingwakeNGHTTP2
import Cryptography
import Glibc
import Logging
import RingwakeCore
import RunLoop

/// One accepted connection: its socket, its TLS, its HTTP/2 session and its deadlines.
///
/// ```
/// handshaking --TLS done--> preface --client's SETTINGS--> established
///                              \______________________________/
///                                drain: GOAWAY |     | refuse: GOAWAY
///                                              v     |
///                 draining --all answered, sent------+--> lingering --peer closed--> closed
/// ```
/// Every stage but `established` has one total deadline; a failure of socket, TLS or HTTP/2, and a deadline that
/// passes, lead to `closed` from each. Lingering reads and drops what the peer still sends, because closing a
/// socket with unread bytes makes the kernel send a reset, which can destroy the GOAWAY on its way.
final class HTTP2Connection {
    enum Stage {
        case handshaking(deadline: BootClock.Instant)
        case preface(deadline: BootClock.Instant)
        case established
        case draining(deadline: BootClock.Instant)
        case lingering(deadline: BootClock.Instant)
        case closed
    }

    /// Bytes read in one turn of the loop, so that one peer cannot starve the others.
    static let maximumReadBytesPerTurn = 256 * 1024

    let shared: HTTP2ListenerContext
    let address: String
    var stage: Stage
    var tls: TLSServerConnection?
    var session: HTTP2Session?
    /// Produced by the session and not yet taken by TLS, which wants the same bytes again.
    var unsent: [UInt8] = []
    /// What TLS waits for before it takes more output; empty when it is not blocked. While it is, nothing is read
    /// either: a peer that does not fetch its answers gives us no more work.
    var outputWaitsFor: Interest = []
    /// What TLS waits for before it gives more input.
    var inputWaitsFor: Interest = .read
    var outputDeadline: BootClock.Instant?
    var isFlushScheduled = false
    var isReadScheduled = false
    /// The reason to refuse the connection, found inside a callback.
    var refusal: String?

    private let descriptor: Int32
    private var source: ReadinessSource?
    private var timer = DeadlineTimer()
    private var handler: (any HTTPConnectionHandler)?
    private var ended: ((HTTP2Connection) -> Void)?

    /// Takes ownership of the descriptor.
    ///
    /// - Parameter ended: called once, when the descriptor has been closed.
    init(
        descriptor: Int32, address: String, tls: TLSServerContext, shared: HTTP2ListenerContext,
        ended: @escaping (HTTP2Connection) -> Void
    ) {
        self.descriptor = descriptor
        self.address = address
        self.shared = shared
        self.ended = ended
        stage = .handshaking(deadline: shared.runLoop.now.advanced(by: shared.limits.handshakeDeadline))
        do {
            self.tls = try TLSServerConnection(context: tls, descriptor: descriptor)
        } catch {
            log("a connection could not be set up", error.message)
        }
    }

    /// Begins; the connection must be in its listener's table, which keeps it alive.
    func start() {
        // Both fail only on a socket that is gone already. Keepalive is the kernel's and wakes nobody: it finds a
        // client that vanished without a word, after two idle hours by default (tcp(7), tcp_keepalive_time).
        _ = ringwake_set_no_delay(descriptor)
        _ = ringwake_set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        guard tls != nil else { return close() }
        do {
            source = try shared.runLoop.watch(descriptor, for: .read, cause: .provider) { _ in
                // Strong: the loop keeps the connection until it is closed.
                self.advance()
            }
        } catch {
            log("a connection cannot be watched", "\(error)")
            return close()
        }
        requireStageDeadline()
    }

    /// Does what the socket allows.
    private func advance() {
        switch stage {
        case .handshaking:
            handshake()
        case .preface, .established, .draining:
            if outputWaitsFor.isEmpty {
                read()
            }
            flush()
        case .lingering:
            discard()
        case .closed:
            break
        }
    }

    private func handshake() {
        guard let tls else { return }
        switch tls.handshake() {
        case .done:
            beginSession(tls)
        case .wantsRead:
            watch(.read)
        case .wantsWrite:
            watch(.write)
        case .closed:
            close()
        case .failed(let reason):
            log("a TLS handshake failed", reason)
            close()
        }
    }

    private func beginSession(_ tls: TLSServerConnection) {
        let handler = shared.makeHandler(PeerInfo(address: address, certificate: tls.peerCertificate))
        self.handler = handler
        do {
            session = try HTTP2Session(shared: shared, handler: handler) { [unowned self] event in
                // The session is ended when the connection closes, and speaks no more.
                self.handle(event)
            }
        } catch {
            log("a connection could not be set up", error.message)
            return close()
        }
        stage = .preface(deadline: shared.runLoop.now.advanced(by: shared.limits.prefaceDeadline))
        requireStageDeadline()
        // The client's first bytes may have come with the end of the handshake: OpenSSL has them, epoll does not
        // know. Our SETTINGS go out with the flush.
        advance()
    }

    private func handle(_ event: HTTP2Session.Event) {
        switch event {
        case .hasOutput:
            scheduleFlush()
        case .hasDeadline(let deadline):
            require(deadline)
        case .isEstablished:
            guard case .preface = stage else { return }
            stage = .established
            // An idle connection has no timer.
            timer.cancel(on: shared.runLoop)
            requireDeadlines()
        case .isAbused:
            refusal = "TooManyRequests"
        }
    }

    /// Whether the client showed a certificate, or may do so yet.
    var mayHaveCertificate: Bool {
        if case .handshaking = stage { return true }
        return tls?.peerCertificate != nil
    }

    // MARK: - Ending

    /// Announces the end with GOAWAY, and closes once every stream is answered or the deadline has passed.
    func drain(reason: String) {
        switch stage {
        case .handshaking:
            close()
        case .preface, .established:
            stage = .draining(deadline: shared.runLoop.now.advanced(by: shared.limits.drainDeadline))
            requireStageDeadline()
            session?.goAway(NGHTTP2_NO_ERROR, reason: reason)
        case .draining, .lingering, .closed:
            break
        }
    }

    /// Announces the end with GOAWAY and closes without waiting for answers.
    func refuse(reason: String) {
        log("a connection was refused", reason)
        session?.goAway(NGHTTP2_ENHANCE_YOUR_CALM, reason: reason)
        send()
        linger()
    }

    /// Says goodbye, and waits for the peer to do so.
    func linger() {
        switch stage {
        case .lingering, .closed: return
        case .handshaking, .preface, .established, .draining: break
        }
        guard unsent.isEmpty else { return close() }
        stage = .lingering(deadline: shared.runLoop.now.advanced(by: shared.limits.lingerDeadline))
        requireStageDeadline()
        tls?.shutdown()
        endSession()
        _ = Glibc.shutdown(descriptor, Int32(SHUT_WR))
        watch(.read)
    }

    /// Ends the connection at once. Idempotent.
    func close() {
        if case .closed = stage { return }
        stage = .closed
        timer.cancel(on: shared.runLoop)
        source?.cancel()
        source = nil
        tls?.shutdown()
        endSession()
        _ = Glibc.close(descriptor)
        let ended = ended
        self.ended = nil
        ended?(self)
    }

    private func endSession() {
        unsent = []
        outputDeadline = nil
        session?.end()
        session = nil
        tls = nil
        let handler = handler
        self.handler = nil
        handler?.connectionClosed()
    }

    private func discard() {
        let count = Glibc.read(descriptor, shared.input.bytes.baseAddress, shared.input.bytes.count)
        if count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) { return }
        close()
    }

    // MARK: - Readiness and time

    /// Waits for this, and nothing else.
    func watch(_ interest: Interest) {
        do {
            try source?.update(interest)
        } catch {
            log("a connection cannot be watched", "\(error)")
            close()
        }
    }

    func require(_ deadline: BootClock.Instant) {
        if case .closed = stage { return }
        timer.require(deadline, on: shared.runLoop, tolerance: shared.limits.deadlineTolerance) {
            self.timer.fired()
            self.checkDeadlines()
        }
    }

    private func requireStageDeadline() {
        if let stageDeadline {
            require(stageDeadline)
        }
    }

    private var stageDeadline: BootClock.Instant? {
        switch stage {
        case .handshaking(let deadline), .preface(let deadline), .draining(let deadline), .lingering(let deadline):
            deadline
        case .established, .closed:
            nil
        }
    }

    private func checkDeadlines() {
        let now = shared.runLoop.now
        if let stageDeadline, stageDeadline <= now {
            return stageIsLate()
        }
        if let outputDeadline, outputDeadline <= now {
            log("a connection was closed", "the peer did not fetch its answers in time")
            return close()
        }
        if let inputDeadline = session?.inputDeadline, inputDeadline <= now {
            return refuse(reason: "IdleTimeout")
        }
        session?.expireStreams(at: now)
        requireDeadlines()
    }

    private func requireDeadlines() {
        for deadline in [stageDeadline, outputDeadline, session?.inputDeadline, session?.nearestStreamDeadline] {
            if let deadline { require(deadline) }
        }
    }

    private func stageIsLate() {
        switch stage {
        case .handshaking, .lingering:
            close()
        case .preface:
            refuse(reason: "IdleTimeout")
        case .draining:
            linger()
        case .established, .closed:
            break
        }
    }

    /// Logs what a peer did or suffered; peers may do so at will, so it is for debugging.
    func log(_ message: Logger.Message, _ reason: String) {
        shared.logger.debug(message, metadata: ["peer": "\(address)", "reason": "\(reason)"])
    }
}
