internal import CRingwakeLinux
internal import Cryptography
internal import DeviceLink
internal import Glibc
internal import HTTPServer
internal import RingwakeCore
internal import RunLoop

/// One attempt to reach a gateway: connects to its addresses in a race (``ConnectionRace``), until one TLS handshake is
/// done.
final class LinkConnector {
    /// A connection whose TLS handshake is done.
    typealias Made = (tls: TLSConnection, descriptor: Int32, address: SocketAddress)
    typealias Completion = (Result<Made, RingwakeError>) -> Void

    private struct Attempt {
        let descriptor: Int32
        var source: ReadinessSource?
        /// Nil while TCP connects.
        var tls: TLSConnection?
    }

    private let addresses: [SocketAddress]
    private let context: TLSClientContext
    private let runLoop: RunLoop
    /// 0: any.
    private let localPort: UInt16
    private var race: ConnectionRace<String>
    private var attempts: [Int: Attempt] = [:]
    private var completion: Completion?
    private var timer: Timer?

    /// - Parameters:
    ///   - addresses: in the order of the resolver (RFC 6724).
    ///   - localPort: the port to connect from, so that a packet of the gateway is the same to a sleeping network card.
    ///     Another one is taken if it isn't free, and for a while after this side has closed a connection from it.
    ///   - completion: called once, later, from the loop; never after ``cancel()``.
    init(
        addresses: [SocketAddress], context: TLSClientContext, localPort: UInt16, runLoop: RunLoop,
        completion: @escaping Completion
    ) {
        self.addresses = addresses
        self.context = context
        self.localPort = localPort
        self.runLoop = runLoop
        self.completion = completion
        race = ConnectionRace(families: addresses.map { $0.isIPv6 ? .ipv6 : .ipv4 })
    }

    func start() {
        runLoop.enqueue { [self] in
            guard completion != nil else { return }
            run(race.start(at: now))
        }
    }

    /// Gives up.
    func cancel() {
        completion = nil
        run(race.cancel())
        setTimer()
    }

    private var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    private func run(_ actions: [ConnectionRace<String>.Action]) {
        for action in actions {
            switch action {
            case .start(let index): connect(index)
            case .close(let index): close(index)
            case .won(let index):
                guard let attempt = attempts.removeValue(forKey: index), let tls = attempt.tls else { continue }
                attempt.source?.cancel()
                finish(.success((tls, attempt.descriptor, addresses[index])))
            case .failed(let outcomes): finish(.failure(error(outcomes)))
            }
        }
        setTimer()
    }

    private func finish(_ result: Result<Made, RingwakeError>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    private func error(_ outcomes: [ConnectionRace<String>.Outcome]) -> RingwakeError {
        let texts = zip(addresses, outcomes).compactMap { address, outcome -> String? in
            switch outcome {
            case .failed(let why): "\(address): \(why)"
            case .timedOut(.connecting): "\(address): no answer"
            case .timedOut(.handshaking): "\(address): the TLS handshake took too long"
            case .untried: nil
            }
        }
        return RingwakeError(
            .unreachable, texts.isEmpty ? "it has no address" : texts.prefix(4).joined(separator: "; "))
    }

    private func setTimer() {
        if let timer { runLoop.cancel(timer) }
        timer = nil
        guard let deadline = race.nextDeadline else { return }
        timer = runLoop.schedule(
            at: BootClock.Instant(nanoseconds: deadline.nanoseconds), tolerance: .milliseconds(50)
        ) { [weak self] in
            guard let self else { return }
            timer = nil
            run(race.advance(to: now))
        }
    }

    // MARK: - Attempts

    private func connect(_ index: Int) {
        var error = begin(index, from: localPort)
        // The kernel still has the former connection between the same two ends. Another port is better than no link.
        if error == EADDRNOTAVAIL, localPort != 0 {
            close(index)
            error = begin(index, from: 0)
        }
        guard error == 0, let descriptor = attempts[index]?.descriptor else {
            return fail(index, String(cString: strerror(error)))
        }
        do throws(RunLoopError) {
            attempts[index]?.source = try runLoop.watch(descriptor, for: .write, cause: .link) { [weak self] _ in
                self?.advance(index)
            }
        } catch {
            fail(index, "\(error)")
        }
    }

    /// Starts to connect.
    ///
    /// - Returns: 0, or the error.
    private func begin(_ index: Int, from port: UInt16) -> Int32 {
        let address = addresses[index]
        let descriptor = ringwake_stream_socket(address.isIPv6 ? AF_INET6 : AF_INET)
        guard descriptor >= 0 else { return errno }
        attempts[index] = Attempt(descriptor: descriptor)
        bind(descriptor, to: port, isIPv6: address.isIPv6)
        let kernel = address.kernelAddress
        var storage = kernel.storage
        return ringwake_connect(descriptor, &storage, kernel.length) == 0 || errno == EINPROGRESS ? 0 : errno
    }

    /// If another program has the port, the kernel chooses one.
    private func bind(_ descriptor: Int32, to port: UInt16, isIPv6: Bool) {
        guard port != 0, let any = try? SocketAddress(parsing: isIPv6 ? "[::]:\(port)" : "0.0.0.0:\(port)") else {
            return
        }
        _ = ringwake_set_reuse_address(descriptor)
        var storage = any.kernelAddress.storage
        _ = ringwake_bind(descriptor, &storage, any.kernelAddress.length)
    }

    private func advance(_ index: Int) {
        guard let attempt = attempts[index] else { return }
        if let tls = attempt.tls { return handshake(index, tls, attempt) }
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(attempt.descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 else { return }
        guard error == 0 else { return fail(index, String(cString: strerror(error))) }
        do throws(RingwakeError) {
            let tls = try TLSConnection(context: context, descriptor: attempt.descriptor)
            _ = ringwake_set_no_delay(attempt.descriptor)
            attempts[index]?.tls = tls
            run(race.connected(index, at: now))
            handshake(index, tls, attempt)
        } catch {
            fail(index, error.message)
        }
    }

    private func handshake(_ index: Int, _ tls: TLSConnection, _ attempt: Attempt) {
        switch tls.handshake() {
        case .done: run(race.secured(index))
        case .wantsRead: watch(index, .read)
        case .wantsWrite: watch(index, .write)
        case .closed: fail(index, "the server closed the connection during the TLS handshake")
        case .failed(let why): fail(index, Self.explanation(ofTLS: why))
        }
    }

    /// OpenSSL's words say nothing of links (RFC 7301 section 3.2).
    private static func explanation(ofTLS words: String) -> String {
        guard words.contains("alert no application protocol") else { return words }
        return "this port takes no links of devices; use the gateway's port for links (8883 by default, see "
            + "'ringwake gateway status' there)"
    }

    private func watch(_ index: Int, _ interest: Interest) {
        do throws(RunLoopError) {
            try attempts[index]?.source?.update(interest)
        } catch {
            fail(index, "\(error)")
        }
    }

    private func fail(_ index: Int, _ why: String) {
        close(index)
        run(race.failed(index, why, at: now))
    }

    private func close(_ index: Int) {
        guard let attempt = attempts.removeValue(forKey: index) else { return }
        attempt.source?.cancel()
        resetOnClose(attempt.descriptor)
        _ = Glibc.close(attempt.descriptor)
    }
}
