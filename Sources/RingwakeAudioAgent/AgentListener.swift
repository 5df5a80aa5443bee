internal import CRingwakeLinux
internal import CallAudio
internal import FileSystem
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Serves the clients of a listening socket, one after the other, and is over when one has ended and no other waits: the
/// next one starts the program anew. What could not be put back, for the audio server was gone, is put back first.
final class AgentListener {
    private let descriptor: Int32
    private let parts: AudioEngineParts
    private let journal: String
    private let allowed: Set<UInt32>
    private let completion: (Int32) -> Void
    private var life: AgentLife?
    /// What puts back what the clients have left, as soon as the server is there.
    private var mending: JournalMending?
    private var source: ReadinessSource?
    private var mendings = 0
    private static let maximumMendings = 3
    private var isEnding = false

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
        parts.runLoop.enqueue { [self] in serveNext() }
    }

    /// Ends it, and undoes everything.
    func end() {
        isEnding = true
        mending?.end()
        life?.end()
    }

    private func serveNext() {
        guard !isEnding else { return completion(0) }
        while true {
            let client = ringwake_accept(descriptor, nil, nil)
            if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard client >= 0 else {
                if errno != EAGAIN {
                    parts.logger.error(
                        "no client can be taken", metadata: ["why": "\(String(cString: strerror(errno)))"])
                    return completion(1)
                }
                return settle()
            }
            guard isAllowed(client) else { continue }
            mendings = 0
            life = AgentLife(client, parts, journal: journal) { [self] status in
                life = nil
                if status != 0 { parts.logger.warning("a client's session failed") }
                serveNext()
            }
            return
        }
    }

    /// Nobody waits: puts back what is left, unless a client comes first.
    private func settle() {
        guard FileSystem.exists(journal), mendings < AgentListener.maximumMendings else { return completion(0) }
        mendings += 1
        do throws(RunLoopError) {
            source = try parts.runLoop.watch(descriptor, for: .read, cause: .client) { [self] _ in
                source?.cancel()
                source = nil
                mending?.end()
            }
        } catch {
            parts.logger.error("not everything is put back", metadata: ["why": "\(error)"])
            return completion(1)
        }
        mending = JournalMending([journal], parts, isPatient: true) { [self] _ in
            mending = nil
            source?.cancel()
            source = nil
            serveNext()
        }
    }

    /// Whether the client's user may connect; another one is told that it is not, and let go.
    private func isAllowed(_ client: Int32) -> Bool {
        var (process, user, group) = (pid_t(0), uid_t.max, gid_t.max)
        let isKnown = ringwake_peer_credentials(client, &process, &user, &group) == 0
        if isKnown, allowed.contains(user) { return true }
        let who = isKnown ? "user \(user)" : "a client of unknown user"
        parts.logger.warning("client refused", metadata: ["who": "\(who)", "pid": "\(process)"])
        AgentSocket.tell(
            .unavailable(
                "\(who) may not use the audio server of user \(geteuid()); '--allow' in its ringwake-audio.service lets it"
            ), client)
        close(client)
        return false
    }
}

extension WakeupCause {
    /// A client connects.
    static let client = WakeupCause("client")
}
