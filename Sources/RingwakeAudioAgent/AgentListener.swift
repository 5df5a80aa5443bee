internal import CRingwakeLinux
internal import CallAudio
internal import FileSystem
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Serves the clients of a listening socket, one after the other, and ends when no other client waits: the next one
/// starts the program again. First undoes effects that could not be undone without an audio server.
///
/// Accepts connections all the time: every user may connect, and refused clients must not block others.
final class AgentListener {
    private let descriptor: Int32
    private let parts: AudioEngineParts
    private let journal: String
    private let allowed: Set<UInt32>
    private let completion: (Int32) -> Void
    private var source: ReadinessSource?
    private var life: AgentLife?
    /// An allowed client that waits for the current one to end.
    private var waiting: Int32?
    /// Undoes the effects that clients have left, as soon as the server is back.
    private var restoring: JournalRestore?
    private var attempts = 0
    /// Runs after clients were refused: if the program ended, their next try would start it again.
    private var strangersTimer: Timer?
    private var isOver = false

    private static let maximumAttempts = 3
    private static let strangersTime = Duration.seconds(5)

    /// - Parameters:
    ///   - descriptor: A listening unix socket that does not block.
    ///   - allowed: The users that may connect.
    ///   - completion: called with the exit status, once, from the loop.
    init(
        _ descriptor: Int32, _ parts: AudioEngineParts, journal: String, allowed: Set<UInt32>,
        completion: @escaping (Int32) -> Void
    ) {
        self.descriptor = descriptor
        self.parts = parts
        self.journal = journal
        self.allowed = allowed
        self.completion = completion
        parts.runLoop.enqueue { [self] in begin() }
    }

    /// Undoes everything, and ends.
    func end() {
        guard !isOver else { return }
        source?.cancel()
        source = nil
        if let waiting { close(waiting) }
        waiting = nil
        restoring?.end()
        life?.end()
        if restoring == nil, life == nil { finish(0) }
    }

    private func begin() {
        do throws(RunLoopError) {
            source = try parts.runLoop.watch(descriptor, for: .read, cause: .client) { [self] _ in accept() }
        } catch {
            parts.logger.error("the socket cannot be watched", metadata: ["why": "\(error)"])
            return finish(1)
        }
        accept()
        settle()
    }

    private func finish(_ status: Int32) {
        guard !isOver else { return }
        isOver = true
        source?.cancel()
        source = nil
        if let strangersTimer { parts.runLoop.cancel(strangersTimer) }
        completion(status)
    }

    // MARK: - Clients

    private func accept() {
        while source != nil {
            let client = ringwake_accept(descriptor, nil, nil)
            if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard client >= 0 else {
                if errno != EAGAIN {
                    parts.logger.error(
                        "no client can be taken", metadata: ["why": "\(String(cString: strerror(errno)))"])
                    end()
                }
                return
            }
            if isAllowed(client) { take(client) }
        }
    }

    private func take(_ client: Int32) {
        guard life != nil || restoring != nil else { return serve(client) }
        guard waiting == nil else {
            AgentSocket.send(.unavailable("others are served, and wait to be: one at a time"), client)
            close(client)
            return
        }
        waiting = client
        restoring?.end()
    }

    private func serve(_ client: Int32) {
        attempts = 0
        life = AgentLife(client, parts, journal: journal) { [self] status in
            life = nil
            if status != 0 { parts.logger.warning("a client's session failed") }
            serveNext()
        }
    }

    private func serveNext() {
        guard source != nil else { return finish(0) }
        accept()
        if life == nil, let client = waiting {
            waiting = nil
            serve(client)
        }
        settle()
    }

    /// Whether the client's user may connect; another one gets the reason, and is disconnected.
    private func isAllowed(_ client: Int32) -> Bool {
        var (process, user, group) = (pid_t(0), uid_t.max, gid_t.max)
        let isKnown = ringwake_peer_credentials(client, &process, &user, &group) == 0
        if isKnown, allowed.contains(user) { return true }
        let who = isKnown ? "user \(user)" : "a client of unknown user"
        if strangersTimer == nil {
            parts.logger.warning("client refused", metadata: ["who": "\(who)", "pid": "\(process)"])
        }
        AgentSocket.send(
            .unavailable(
                "\(who) may not use the audio server of user \(geteuid()); "
                    + "'--allow' in its ringwake-audio.service lets it"
            ), client)
        close(client)
        waitForStrangers()
        return false
    }

    private func waitForStrangers() {
        guard strangersTimer == nil else { return }
        let end = parts.runLoop.refreshNow().advanced(by: AgentListener.strangersTime)
        strangersTimer = parts.runLoop.schedule(at: end, tolerance: .seconds(1)) { [self] in
            strangersTimer = nil
            settle()
        }
    }

    // MARK: - No client

    /// Undoes the remaining effects, unless a client comes first, and ends.
    private func settle() {
        guard !isOver, life == nil, restoring == nil, waiting == nil else { return }
        guard FileSystem.exists(journal), attempts < AgentListener.maximumAttempts else {
            if strangersTimer == nil { finish(0) }
            return
        }
        attempts += 1
        restoring = JournalRestore([journal], parts, isPatient: true) { [self] _ in
            restoring = nil
            serveNext()
        }
    }
}

extension WakeupCause {
    /// A client connects.
    static let client = WakeupCause("client")
}
