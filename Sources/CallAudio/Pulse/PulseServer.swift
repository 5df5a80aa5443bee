internal import CRingwakePulse
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// PulseAudio, or PipeWire behind the same protocol, through libpulse on a run loop.
///
///     let server = PulseServer(runLoop: loop)
///     server.onEvent = { print($0) }
///     server.connect()
///
/// It starts no server. Without one, it waits for the socket to appear and polls nothing. A server on the network is
/// tried once for each ``connect()``.
final class PulseServer: AudioServer {
    /// Timeout for the server to accept us and send everything. After it the server counts as unavailable; it may
    /// still come.
    static let connectionLimit = Duration.seconds(5)
    /// The pauses between the tries after a socket has appeared: its owner may not listen yet.
    static let retries: [Duration] = [10, 30, 100, 300, 1_000].map { .milliseconds($0) }
    /// After a connection that was shorter than this, or failed, the pause before the next one grows.
    static let stableTime = Duration.seconds(10)
    static let shortestPause = Duration.seconds(1)
    static let longestPause = Duration.seconds(30)

    private enum Phase {
        case idle
        /// Connecting, or mirroring the server.
        case connecting(PulseConnection)
        case connected(PulseConnection, PulseMirror)
        /// No server, or a connection that broke at once.
        case waiting
    }

    private(set) var image: AudioServerImage?
    var onEvent: ((AudioServerEvent) -> Void)?

    private let runLoop: RunLoop
    private let mainLoop: PulseMainLoop
    private let address: PulseAddress
    private let name: String
    private var phase = Phase.idle
    private var batches: [PulseBatch] = []
    private var watch: SocketWatch?
    private var timer: Timer?
    private var remainingRetries: ArraySlice<Duration> = []
    private var connectedAt: BootClock.Instant?
    private var pause: Duration = .zero
    private var lastReason: String?
    private var isChangeEnqueued = false
    /// Counts connections: what one of them enqueued is dropped in the next.
    private var epoch: UInt64 = 0
    /// Counts calls of ``close()``: no notification follows one.
    private var closings: UInt64 = 0

    /// Timeout for the image to show what the server has acknowledged.
    var imageTimeout = Duration.seconds(1)

    /// Objects that libpulse has not freed, and unanswered requests.
    var openEvents: Int { mainLoop.eventCount }
    var openRequests: Int {
        switch phase {
        case .connecting(let connection), .connected(let connection, _): connection.openRequests
        case .idle, .waiting: 0
        }
    }

    /// - Parameter name: Our name in the server's list of clients.
    init(runLoop: RunLoop, address: PulseAddress = .standard, name: String = "Ringwake") {
        self.runLoop = runLoop
        self.address = address
        self.name = name
        mainLoop = PulseMainLoop(runLoop: runLoop)
    }

    deinit { close() }

    func connect() {
        switch phase {
        case .connecting, .connected: break
        case .idle, .waiting:
            lastReason = nil
            remainingRetries = []
            attempt()
        }
    }

    func close() {
        epoch &+= 1
        closings &+= 1
        batches = []
        cancelTimer()
        watch?.close()
        watch = nil
        image = nil
        end(nil)
        phase = .idle
    }

    // MARK: - Connecting

    private func attempt() {
        cancelTimer()
        epoch &+= 1
        let connection = PulseConnection(mainLoop: mainLoop)
        phase = .connecting(connection)
        let epoch = epoch
        connection.onReady = { [weak self, weak connection] in
            guard let self, let connection else { return }
            load(connection)
        }
        connection.onEnd = { [weak self] end in self?.later(epoch) { $0.ended(end) } }
        timer = runLoop.schedule(
            at: runLoop.refreshNow().advanced(by: Self.connectionLimit), tolerance: .milliseconds(250)
        ) { [weak self] in self?.isLate(connection) }
        if let end = connection.connect(to: address.server, as: name) { later(epoch) { $0.ended(end) } }
    }

    /// Accepted: mirrors the server. Runs within libpulse.
    private func load(_ connection: PulseConnection) {
        let mirror = PulseMirror(connection: connection, runLoop: runLoop)
        let epoch = epoch
        mirror.load { [weak self] failure in
            // This closure keeps the mirror alive until `loaded` stores it.
            self?.later(epoch) { failure == nil ? $0.loaded(connection, mirror) : connection.fail(PA_ERR_PROTOCOL) }
        }
    }

    private func loaded(_ connection: PulseConnection, _ mirror: PulseMirror) {
        guard let image = mirror.image else { return }
        cancelTimer()
        watch?.close()
        watch = nil
        phase = .connected(connection, mirror)
        self.image = image
        lastReason = nil
        remainingRetries = []
        connectedAt = runLoop.refreshNow()
        mirror.onRound = { [weak self] in self?.roundEnded() }
        notify { $0.onEvent?(.connected(image)) }
    }

    private func isLate(_ connection: PulseConnection) {
        timer = nil
        // Don't give up before libpulse does: a stopped server may be continued.
        reportUnavailable("\(serverText(connection)) does not answer")
    }

    // MARK: - The end of a connection

    private func ended(_ end: PulseConnection.End) {
        switch phase {
        case .idle, .waiting: break
        case .connecting(let connection):
            cancelTimer()
            let server = connection.server
            let reason = reason(end, connection)
            self.end(nil)
            reportUnavailable(reason)
            wait(lastTried: server, isNobodyThere: end.code == PA_ERR_CONNECTIONREFUSED.rawValue)
        case .connected(let connection, _):
            let reason = "\(serverText(connection)): \(end.message)"
            self.end(AudioServerFailure(.lost, reason))
            image = nil
            let open = batches
            batches = []
            for batch in open { notify { _ in batch.finish(loss: AudioServerFailure(.lost, reason)) } }
            notify { $0.onEvent?(.lost(reason)) }
            comeBack()
        }
    }

    /// Releases the connection.
    private func end(_ failure: AudioServerFailure?) {
        switch phase {
        case .idle, .waiting: return
        case .connecting(let connection):
            phase = .waiting
            connection.close(failing: failure)
        case .connected(let connection, let mirror):
            phase = .waiting
            mirror.close()
            connection.close(failing: failure)
        }
    }

    /// Reconnects: immediately after a stable connection; after short ones with growing pauses, or when the server
    /// creates its socket again.
    private func comeBack() {
        let isStable = connectedAt.map { $0.advanced(by: Self.stableTime) <= runLoop.now } ?? false
        guard !isStable, pause > .zero else {
            pause = isStable ? .zero : Self.shortestPause
            return attempt()
        }
        watchSockets(lastTried: nil)
        tryLater()
    }

    /// Waits for a socket to appear. If one exists, a server may hang or be full: no event reports the end of that,
    /// so this tries again with growing pauses.
    private func wait(lastTried: String?, isNobodyThere: Bool) {
        guard case .waiting = phase else { return }
        let sockets = watchSockets(lastTried: lastTried).filter { access($0, F_OK) == 0 }
        guard !sockets.isEmpty else { return }
        guard isNobodyThere else { return tryLater() }
        guard let pause = remainingRetries.popFirst() else {
            if sockets.contains(where: PulseAddress.hasListener) { tryLater() }
            return
        }
        timer = runLoop.schedule(at: runLoop.now.advanced(by: pause), tolerance: .milliseconds(5)) { [weak self] in
            self?.attempt()
        }
    }

    /// Tries again after a pause that grows each time.
    private func tryLater() {
        let pause = max(pause, Self.shortestPause)
        self.pause = min(pause * 2, Self.longestPause)
        timer = runLoop.schedule(at: runLoop.now.advanced(by: pause), tolerance: pause / 4) { [weak self] in
            self?.attempt()
        }
    }

    /// - Returns: The sockets that may appear.
    @discardableResult
    private func watchSockets(lastTried: String?) -> [String] {
        let sockets = address.sockets(
            environment: Self.environment(["PULSE_SERVER", "PULSE_RUNTIME_PATH", "XDG_RUNTIME_DIR"]), user: getuid(),
            lastTried: lastTried)
        guard watch?.isBroken ?? true, !sockets.isEmpty else { return sockets }
        do throws(RunLoopError) {
            watch = try SocketWatch(runLoop: runLoop, sockets: sockets) { [weak self] in self?.socketChanged() }
            // A socket may have appeared before the watch began.
            remainingRetries = Self.retries[...]
        } catch {
            reportUnavailable("there is no audio server, and nothing tells when one comes: \(error)")
        }
        return sockets
    }

    private func socketChanged() {
        remainingRetries = Self.retries[...]
        guard case .waiting = phase else { return }
        attempt()
    }

    private func cancelTimer() {
        if let timer { runLoop.cancel(timer) }
        timer = nil
    }

    // MARK: - Notifications

    /// Runs `body` later in this turn, outside libpulse, unless the connection has ended by then.
    private func later(_ epoch: UInt64, _ body: @escaping (PulseServer) -> Void) {
        runLoop.enqueue { [weak self] in
            guard let self, self.epoch == epoch else { return }
            body(self)
        }
    }

    /// Notifies the owner from the loop, in this order.
    private func notify(_ body: @escaping (PulseServer) -> Void) {
        let closings = closings
        runLoop.enqueue { [weak self] in
            guard let self, self.closings == closings else { return }
            body(self)
        }
    }

    private func reportUnavailable(_ reason: String) {
        guard reason != lastReason else { return }
        lastReason = reason
        notify { $0.onEvent?(.unavailable(reason)) }
    }

    private func serverText(_ connection: PulseConnection) -> String {
        connection.server.map { "the audio server at \($0)" } ?? "the audio server"
    }

    private func reason(_ end: PulseConnection.End, _ connection: PulseConnection) -> String {
        let server = serverText(connection)
        switch pa_error_code(rawValue: end.code) {
        case PA_ERR_CONNECTIONREFUSED:
            let place = connection.server.map { " at \($0)" } ?? ""
            let isLost = address == .standard && Self.environment(["XDG_RUNTIME_DIR", "PULSE_SERVER"]).isEmpty
            return "there is no audio server\(place)" + (isLost ? ", and XDG_RUNTIME_DIR is not set" : "")
        case PA_ERR_ACCESS, PA_ERR_AUTHKEY:
            return "\(server) refuses the user \(getuid()): run as the user who owns it, "
                + "or set PULSE_COOKIE to a cookie that it knows"
        case PA_ERR_TIMEOUT: return "\(server) does not answer"
        default: return "\(server): \(end.message)"
        }
    }

    /// libpulse reads these itself, from the environment of the process.
    private static func environment(_ names: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for name in names { if let value = getenv(name) { values[name] = String(cString: value) } }
        return values
    }
}

// MARK: - Commands

extension PulseServer {
    func perform(
        _ commands: [AudioServerCommand], completion: @escaping ([AudioServerFailure?]) -> Void
    ) {
        guard case .connected(let connection, let mirror) = phase, let image = mirror.image else {
            let failure = AudioServerFailure(.lost, "there is no connection to an audio server")
            return notify { _ in completion(commands.map { _ in failure }) }
        }
        let batch = PulseBatch(commands, runLoop: runLoop, timeout: imageTimeout, completion: completion)
        let earlier = batches
        batches.append(batch)
        batch.send(image: image, connection: connection, mirror: mirror) { [weak self] in self?.progressed($0) }
        for other in earlier { other.forget(batch.subjects) }
        mirror.isAwaited = !batches.isEmpty
    }

    var knownStored: [StoredStream]? {
        // The owner may not have been told of the image yet.
        guard case .connected(_, let mirror) = phase, mirror.isCurrent, !isChangeEnqueued, batches.isEmpty else {
            return nil
        }
        return mirror.stored
    }

    func storedStreams(completion: @escaping (Result<[StoredStream], AudioServerFailure>) -> Void) {
        guard case .connected(_, let mirror) = phase else {
            let failure = AudioServerFailure(.lost, "there is no connection to an audio server")
            return notify { _ in completion(.failure(failure)) }
        }
        var result: Result<[StoredStream], AudioServerFailure>?
        // Read the streams after it: one that isn't mirrored yet may have begun with a stored value.
        let answers = PulseAnswers(2) { [weak self] _ in
            guard let self, let result else { return }
            publish()
            notify { _ in completion(result) }
        }
        mirror.readStored {
            result = $0
            answers.note(nil)
        }
        // The mirror lives until it has answered, even if the connection breaks before.
        mirror.refresh(PulseObject.streams) { withExtendedLifetime(mirror) { answers.note(nil) } }
    }

    private func roundEnded() {
        publish()
        for batch in batches { progressed(batch) }
    }

    /// Publishes the mirror's image, and notifies the owner of a difference.
    private func publish() {
        guard case .connected(_, let mirror) = phase, let image = mirror.image, image != self.image else { return }
        self.image = image
        guard !isChangeEnqueued else { return }
        isChangeEnqueued = true
        let epoch = epoch
        runLoop.enqueue { [weak self] in
            guard let self else { return }
            isChangeEnqueued = false
            if self.epoch == epoch, let image = self.image { onEvent?(.changed(image)) }
        }
    }

    private func progressed(_ batch: PulseBatch) {
        guard case .connected(_, let mirror) = phase, let image = mirror.image else { return }
        guard batch.isComplete(image) else {
            if batch.isAnswered { batch.limit { [weak self] in self?.finish($0) } }
            return
        }
        finish(batch)
    }

    private func finish(_ batch: PulseBatch) {
        guard case .connected(_, let mirror) = phase, batches.contains(where: { $0 === batch }) else { return }
        batches.removeAll { $0 === batch }
        mirror.isAwaited = !batches.isEmpty
        publish()
        notify { _ in batch.finish() }
    }
}
