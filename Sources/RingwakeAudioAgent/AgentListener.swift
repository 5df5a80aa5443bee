internal import CRingwakeLinux
internal import CallAudio
internal import FileSystem
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Serves the clients of a listening socket, one after the other, and is over when one has ended and no other waits: the
/// next one starts the program anew. What could not be put back, for the audio server was gone, is put back first.
///
/// It takes connections all the time: everybody may connect, and those who may not be served must not stand in the way.
final class AgentListener {
    private let descriptor: Int32
    private let parts: AudioEngineParts
    private let journal: String
    private let allowed: Set<UInt32>
    private let completion: (Int32) -> Void
    private var source: ReadinessSource?
    private var life: AgentLife?
    /// A client that may be served, while another one is.
    private var waiting: Int32?
    /// What puts back what the clients have left, as soon as the server is there.
    private var mending: JournalMending?
    private var mendings = 0
    /// Strangers were refused just now: to leave would mean to be started anew for the next.
    private var patience: Timer?
    private var isOver = false

    private static let maximumMendings = 3
    private static let strangersTime = Duration.seconds(5)

    /// - Parameters:
    ///   - descriptor: A listening unix socket that does not block.
    ///   - allowed: The users that may connect.
    ///   - completion: Gets the exit status, once, from the loop.
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

    /// Ends it, and undoes everything.
    func end() {
        guard !isOver else { return }
        source?.cancel()
        source = nil
        if let waiting { close(waiting) }
        waiting = nil
        mending?.end()
        life?.end()
        if mending == nil, life == nil { finish(0) }
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
        if let patience { parts.runLoop.cancel(patience) }
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
        guard life != nil || mending != nil else { return serve(client) }
        guard waiting == nil else {
            AgentSocket.tell(.unavailable("others are served, and wait to be: one at a time"), client)
            close(client)
            return
        }
        waiting = client
        mending?.end()
    }

    private func serve(_ client: Int32) {
        mendings = 0
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

    /// Whether the client's user may connect; another one is told that it is not, and let go.
    private func isAllowed(_ client: Int32) -> Bool {
        var (process, user, group) = (pid_t(0), uid_t.max, gid_t.max)
        let isKnown = ringwake_peer_credentials(client, &process, &user, &group) == 0
        if isKnown, allowed.contains(user) { return true }
        let who = isKnown ? "user \(user)" : "a client of unknown user"
        if patience == nil { parts.logger.warning("client refused", metadata: ["who": "\(who)", "pid": "\(process)"]) }
        AgentSocket.tell(
            .unavailable(
                "\(who) may not use the audio server of user \(geteuid()); '--allow' in its ringwake-audio.service lets it"
            ), client)
        close(client)
        waitForStrangers()
        return false
    }

    private func waitForStrangers() {
        guard patience == nil else { return }
        let end = parts.runLoop.refreshNow().advanced(by: AgentListener.strangersTime)
        patience = parts.runLoop.schedule(at: end, tolerance: .seconds(1)) { [self] in
            patience = nil
            settle()
        }
    }

    // MARK: - Nobody is there

    /// Nobody is served: puts back what is left, unless a client comes first, and leaves.
    private func settle() {
        guard !isOver, life == nil, mending == nil, waiting == nil else { return }
        guard FileSystem.exists(journal), mendings < AgentListener.maximumMendings else {
            if patience == nil { finish(0) }
            return
        }
        mendings += 1
        mending = JournalMending([journal], parts, isPatient: true) { [self] _ in
            mending = nil
            serveNext()
        }
    }
}

extension WakeupCause {
    /// A client connects.
    static let client = WakeupCause("client")
}
