internal import CRingwakeLinux
internal import CallAudio
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Serves the clients of a listening socket, one after the other, and is over when one has ended and no other waits: the
/// next one starts the program anew.
final class AgentListener {
    private let descriptor: Int32
    private let parts: AudioEngineParts
    private let journal: String
    private let allowed: Set<UInt32>
    private let completion: (Int32) -> Void
    private var life: AgentLife?
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
                return completion(0)
            }
            guard isAllowed(client) else { continue }
            life = AgentLife(client, parts, journal: journal) { [self] status in
                life = nil
                if status != 0 { parts.logger.warning("a client's session failed") }
                serveNext()
            }
            return
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
