internal import CRingwakeLinux
internal import CallAudio
internal import ControlProtocol
internal import FileSystem
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Serves the clients of a listening socket, one after the other, and ends when no other client waits: the next one
/// starts the program again. First undoes effects that could not be undone without an audio server.
///
/// Accepts connections all the time, also while a client is served: a refused client must not stand in the queue before
/// one that is allowed. The socket's mode keeps other users out, but where it does not, anybody may connect in a loop.
/// So the line to the client and the audio server come first in each turn, a turn accepts a bounded number, and the
/// queue rests after each client that was refused.
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
    /// Whether a client was refused since the timer was set.
    private var isRefusing = false
    /// Runs while the queue rests.
    private var restTimer: Timer?
    private var isOver = false

    private static let maximumAttempts = 3
    private static let strangersTime = Duration.seconds(5)
    /// Maximum connections per turn while a client is served. Refusing one takes some microseconds.
    private static let maximumAccepts = 16
    /// The same while none is: the daemon may be in the queue, which holds 4096 connections.
    private static let maximumIdleAccepts = 256
    /// How long the queue rests after a client was refused. A connect loop costs a few percent of a processor then, and
    /// the daemon still gets through a full queue in less than its time for an activation.
    private static let restTime = Duration.milliseconds(5)
    // Encoded once: a refused client must cost little.
    private static let refusal = AudioEngineLine.encoded(
        .unavailable(
            "this user may not use the audio server of user \(geteuid()); '--allow' in its ringwake-audio.service lets it"
        ))
    private static let occupied = AudioEngineLine.encoded(
        .unavailable("others are served, and wait to be: one at a time"))

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
        stopListening()
        if let waiting { close(waiting) }
        waiting = nil
        restoring?.end()
        life?.end()
        if restoring == nil, life == nil { finish(0) }
    }

    private func begin() {
        do throws(RunLoopError) {
            // After everything else that is ready in this turn.
            source = try parts.runLoop.watch(descriptor, for: .read, cause: .client) { [self] _ in
                parts.runLoop.enqueue { [self] in accept() }
            }
        } catch {
            parts.logger.error("the socket cannot be watched", metadata: ["why": "\(error)"])
            return finish(1)
        }
        accept()
        settle()
    }

    private func stopListening() {
        if let restTimer { parts.runLoop.cancel(restTimer) }
        restTimer = nil
        source?.cancel()
        source = nil
    }

    private func finish(_ status: Int32) {
        guard !isOver else { return }
        isOver = true
        stopListening()
        if let strangersTimer { parts.runLoop.cancel(strangersTimer) }
        completion(status)
    }

    // MARK: - Clients

    private func accept() {
        guard restTimer == nil else { return }
        let limit = life == nil ? AgentListener.maximumIdleAccepts : AgentListener.maximumAccepts
        var isRefused = false
        for _ in 0..<limit where source != nil {
            let client = ringwake_accept(descriptor, nil, nil)
            if client >= 0 {
                if !isAllowed(client) || !take(client) { isRefused = true }
            } else if errno == EAGAIN {
                break
            } else if errno != EINTR, errno != ECONNABORTED {
                parts.logger.error("no client can be taken", metadata: ["why": "\(String(cString: strerror(errno)))"])
                return end()
            }
        }
        if isRefused { rest() }
    }

    /// Accepts nothing for a moment.
    private func rest() {
        guard let source else { return }
        do throws(RunLoopError) {
            try source.update([])
        } catch {
            return parts.logger.debug("the socket is watched on", metadata: ["why": "\(error)"])
        }
        let end = parts.runLoop.refreshNow().advanced(by: AgentListener.restTime)
        restTimer = parts.runLoop.schedule(at: end, tolerance: .milliseconds(1)) { [self] in
            restTimer = nil
            do throws(RunLoopError) {
                try self.source?.update(.read)
            } catch {
                parts.logger.error("the socket cannot be watched", metadata: ["why": "\(error)"])
                self.end()
            }
        }
    }

    /// - Returns: False if the client was refused: another one waits already.
    private func take(_ client: Int32) -> Bool {
        if life == nil, restoring == nil {
            serve(client)
            return true
        }
        guard waiting == nil else {
            refuse(client, AgentListener.occupied)
            return false
        }
        waiting = client
        restoring?.end()
        return true
    }

    private func refuse(_ client: Int32, _ why: [UInt8]) {
        AgentSocket.send(why, client)
        close(client)
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
        if strangersTimer == nil {
            let who = isKnown ? "user \(user)" : "a client of unknown user"
            parts.logger.warning("client refused", metadata: ["who": "\(who)", "pid": "\(process)"])
        }
        refuse(client, AgentListener.refusal)
        isRefusing = true
        waitForStrangers()
        return false
    }

    private func waitForStrangers() {
        guard strangersTimer == nil else { return }
        isRefusing = false
        let end = parts.runLoop.now.advanced(by: AgentListener.strangersTime)
        strangersTimer = parts.runLoop.schedule(at: end, tolerance: .seconds(1)) { [self] in
            strangersTimer = nil
            if isRefusing { return waitForStrangers() }
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
