import CRingwakeLinux
import CRingwakeNGHTTP2
import Cryptography
import Glibc
import Logging
import RingwakeCore
import RunLoop

/// One accepted connection: its socket, its TLS, its HTTP/2 session and its deadlines.
final class HTTP2Connection: PlacedConnection {
    /// Maximum bytes to read in one turn of the loop, so that one peer can't starve the others.
    static let maximumReadBytesPerTurn = 256 * 1024

    let shared: HTTP2ListenerContext
    let address: String
    let network: PeerNetwork
    let acceptedAt: BootClock.Instant
    /// The account whose place the connection has; nil while it has proven nothing.
    private(set) var account: String?
    /// While ``HandshakeQueue`` has the connection, its bytes stay unread.
    var waitsForUs: Bool { SocketInput.isWaiting(on: descriptor) }
    var stage: HTTP2Stage
    var tls: TLSConnection?
    var session: HTTP2Session?
    /// Output of the session that TLS hasn't accepted yet. TLS needs the same bytes again.
    var unsent: [UInt8] = []
    /// What TLS waits for before it accepts more output; empty if it isn't blocked. While it is blocked, nothing is
    /// read: a peer that doesn't read its answers can't send more work.
    var outputWaitsFor: Interest = []
    /// What TLS waits for before it delivers more input.
    var inputWaitsFor: Interest = .read
    var outputDeadline: BootClock.Instant?
    var isFlushScheduled = false
    var isReadScheduled = false
    /// Why the connection has to be refused; set within a callback.
    var refusal: GoAway?
    /// When the client's SETTINGS arrived; nil before.
    private var establishedAt: BootClock.Instant?
    /// Set while the connection waits for the right moment to drain: the reason for GOAWAY, and when to stop waiting.
    private var retirement: (reason: String, deadline: BootClock.Instant)?

    private let descriptor: Int32
    private var source: ReadinessSource?
    private var timer = DeadlineTimer()
    private var handler: (any HTTPConnectionHandler)?
    private var ended: ((HTTP2Connection) -> Void)?

    /// Takes ownership of the descriptor.
    ///
    /// - Parameter ended: called once, when the descriptor has been closed.
    init(
        descriptor: Int32, peer: sockaddr_storage, tls: TLSServerContext, shared: HTTP2ListenerContext,
        ended: @escaping (HTTP2Connection) -> Void
    ) {
        self.descriptor = descriptor
        address = SocketAddress.describe(peer) ?? "unknown"
        network = PeerNetwork(peer)
        acceptedAt = shared.runLoop.now
        self.shared = shared
        self.ended = ended
        stage = .handshaking(deadline: shared.runLoop.now.advanced(by: shared.limits.handshakeDeadline))
        do {
            self.tls = try TLSConnection(context: tls, descriptor: descriptor)
        } catch {
            log("a connection could not be set up", error.message)
        }
    }

    /// Starts the handshake. The connection must already be in its listener's table, which keeps it alive.
    func start() {
        // Both fail only if the socket is already gone. The kernel sends keep-alives without waking us. They find a
        // client that vanished silently, by default after two idle hours (tcp(7), tcp_keepalive_time).
        _ = ringwake_set_no_delay(descriptor)
        _ = ringwake_set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        guard tls != nil else { return close() }
        do {
            // A strong reference: the loop keeps the connection until it is closed.
            source = try shared.runLoop.watch(descriptor, for: .read, cause: .provider) { _ in self.advance() }
        } catch {
            log("a connection cannot be watched", "\(error)")
            return close()
        }
        requireStageDeadline()
    }

    /// Continues with what the socket allows.
    private func advance() {
        switch stage {
        case .handshaking:
            if shared.handshakes.mayContinue(self) { continueHandshake() } else { watch([]) }
        case .preface, .established, .draining:
            if outputWaitsFor.isEmpty {
                read()
            }
            flush()
        case .lingering:
            if !SocketInput.discard(from: descriptor, using: shared.input) { close() }
        case .closed:
            break
        }
    }

    /// Continues the TLS handshake, when ``HandshakeQueue`` says so.
    func continueHandshake() {
        guard case .handshaking = stage, let tls else { return }
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
            fail(.init(openSSL: reason), reason)
            close()
        }
    }

    /// Reports a connection that ends before its first request.
    func fail(_ reason: FailedConnection.Reason, _ detail: String) {
        shared.onFailure(FailedConnection(peer: address, reason: reason, detail: detail))
    }

    private func beginSession(_ tls: TLSConnection) {
        if let handOff = shared.handOff, handOff.takes(tls.negotiatedProtocol) { return leave(to: handOff, tls) }
        let handler = shared.makeHandler(PeerInfo(address: address, certificate: tls.peerCertificate))
        self.handler = handler
        do {
            // The session ends when the connection closes, and sends no events after that.
            session = try HTTP2Session(shared: shared, handler: handler) { [unowned self] in self.handle($0) }
        } catch {
            log("a connection could not be set up", error.message)
            return close()
        }
        if session?.account != nil { prove() }
        if case .closed = stage { return }
        stage = .preface(deadline: shared.runLoop.now.advanced(by: shared.limits.prefaceDeadline))
        requireStageDeadline()
        if let retirement { setRetirement(retirement.reason) }
        // The client's first bytes may have arrived with the end of the handshake. Then OpenSSL has them, and epoll
        // doesn't report them. The flush also sends our SETTINGS.
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
            establishedAt = shared.runLoop.now
            // An idle connection has no timer.
            timer.cancel(on: shared.runLoop)
            requireDeadlines()
        case .isProven:
            prove()
        case .hasMetBound(let bound):
            guard refusal == nil else { return }
            shared.report(bound, of: self)
            refusal = GoAway(bound)
        case .isBroken(let reason):
            refusal = GoAway(reason, NGHTTP2_PROTOCOL_ERROR)
        case .isToEnd(let reason):
            retire(reason: reason)
        }
    }

    /// Takes a place of the account that the client has proven to belong to.
    private func prove() {
        guard account == nil, let proven = session?.account else { return }
        if shared.prove(self, proven) { account = proven } else { refusal = GoAway(.placesOfSender) }
    }

    /// Why the client must no longer be connected.
    var revocation: String? { handler?.revocation }

    /// Whether nothing is being requested or answered.
    var isIdle: Bool {
        guard case .established = stage, let session else { return false }
        return session.streams.isEmpty && unsent.isEmpty
    }

    /// Whether the client has shown a certificate, or still may.
    var mayHaveCertificate: Bool { if case .handshaking = stage { true } else { tls?.peerCertificate != nil } }

    // MARK: - Ending

    /// Drains when that disturbs nobody: a new connection after its first request, others when every request has been
    /// answered. A client library may forget its open requests at a GOAWAY. Waits ``ConnectionLimits/drainGrace`` at most.
    func retire(reason: String) {
        switch stage {
        case .handshaking(let deadline):
            let latest = shared.runLoop.now.advanced(by: shared.limits.drainDeadline)
            stage = .handshaking(deadline: min(deadline, latest))
            requireStageDeadline()
            retirement = (reason, latest)
        case .preface, .established:
            setRetirement(reason)
            // A request may have arrived that hasn't been read. This may be a call from within the session, which must
            // not be entered again.
            shared.runLoop.enqueue { self.advance() }
        case .draining, .lingering, .closed:
            break
        }
    }

    private func setRetirement(_ reason: String) {
        let deadline = shared.runLoop.now.advanced(by: shared.limits.drainGrace)
        retirement = (reason, deadline)
        require(deadline)
    }

    /// Drains a connection that waits for it, if this is the moment.
    func drainIfRetired() -> Bool {
        guard let retirement, let session, session.streams.isEmpty, unsent.isEmpty,
            session.hasHadRequest || isOld
        else { return false }
        drain(reason: retirement.reason)
        return true
    }

    /// Whether the client has been connected for so long that it is idle if it has sent no request.
    private var isOld: Bool {
        establishedAt.map { $0.advanced(by: shared.limits.drainGrace) <= shared.runLoop.now } ?? false
    }

    /// Sends GOAWAY at once, and closes when every stream has been answered, or at the deadline.
    func drain(reason: String) {
        retirement = nil
        switch stage {
        case .handshaking: close()
        case .preface, .established:
            stage = .draining(deadline: shared.runLoop.now.advanced(by: shared.limits.drainDeadline))
            requireStageDeadline()
            session?.goAway(GoAway(reason))
        case .draining, .lingering, .closed:
            break
        }
    }

    /// Sends GOAWAY, and closes without waiting for answers.
    func refuse(_ refusal: GoAway) {
        log("a connection was refused", refusal.reason)
        session?.goAway(refusal)
        send()
        linger()
    }

    /// Closes the connection because it has met a bound, with a GOAWAY if that is possible without waiting. It frees the
    /// place now, so it must not be called within a callback of the session.
    func displace(for bound: ConnectionBound) {
        shared.report(bound, of: self)
        session?.goAway(GoAway(bound.reason))
        send()
        close()
    }

    /// Shuts down our direction, and waits for the peer to close.
    func linger() {
        guard !stage.isEnding else { return }
        guard unsent.isEmpty else { return close() }
        stage = .lingering(deadline: shared.runLoop.now.advanced(by: shared.limits.lingerDeadline))
        requireStageDeadline()
        tls?.shutdown()
        endSession()
        _ = Glibc.shutdown(descriptor, Int32(SHUT_WR))
        watch(.read)
    }

    /// Ends a drained connection without waiting for the client, which may look at it at its next request only (libcurl).
    /// Everything that has arrived is read, so closing sends no reset that could destroy the GOAWAY.
    func finish() {
        linger()
        guard case .lingering = stage else { return }
        SocketInput.discardAll(from: descriptor, using: shared.input)
        close()
    }

    /// Closes the connection at once. Idempotent.
    func close() {
        if case .closed = stage { return }
        stopWatching()
        tls?.shutdown()
        endSession()
        _ = Glibc.close(descriptor)
        end()
    }

    /// Leaves the socket to another protocol.
    private func leave(to handOff: ProtocolHandOff, _ tls: TLSConnection) {
        stopWatching()
        self.tls = nil
        end()
        handOff.take(AcceptedTLS(tls: tls, descriptor: descriptor, address: address, network: network))
    }

    private func stopWatching() {
        stage = .closed
        timer.cancel(on: shared.runLoop)
        shared.handshakes.remove(self)
        source?.cancel()
        source = nil
    }

    private func end() {
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

    // MARK: - Readiness and time

    /// Waits for exactly these events.
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

    private func requireStageDeadline() { if let deadline = stage.deadline { require(deadline) } }

    private func checkDeadlines() {
        let now = shared.runLoop.now
        if let deadline = stage.deadline, deadline <= now { return stageIsLate() }
        if let retirement, retirement.deadline <= now {
            drain(reason: retirement.reason)
            return requireDeadlines()
        }
        if let outputDeadline, outputDeadline <= now {
            shared.report(.slowReader, of: self)
            return close()
        }
        if let inputDeadline = session?.inputDeadline, inputDeadline <= now {
            return refuseAsSlow()
        }
        session?.expireStreams(at: now)
        requireDeadlines()
    }

    private func requireDeadlines() {
        [stage.deadline, retirement?.deadline, outputDeadline, session?.inputDeadline, session?.nearestStreamDeadline]
            .forEach { if let deadline = $0 { require(deadline) } }
    }

    private func stageIsLate() {
        switch stage {
        case .handshaking:
            shared.report(.slowConnection, of: self)
            close()
        case .lingering:
            close()
        case .preface:
            refuseAsSlow()
        case .draining:
            linger()
        case .established, .closed:
            break
        }
    }

    private func refuseAsSlow() {
        shared.report(.slowConnection, of: self)
        refuse(GoAway(.slowConnection))
    }

    /// Peers can cause these at will, so the level is debug.
    func log(_ message: Logger.Message, _ reason: String) {
        shared.logger.debug(message, metadata: ["peer": "\(address)", "reason": "\(reason)"])
    }
}
