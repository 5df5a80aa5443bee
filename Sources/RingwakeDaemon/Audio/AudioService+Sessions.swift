internal import RingwakeCore

// Sessions of clients: of handlers, and of commands.
extension AudioService {
    /// Opens a session for a client, which is told by `notices` what happens to it.
    func open(
        _ client: AudioClient, hasLease: Bool, configuration: AudioSessionConfiguration,
        notices: @escaping (AudioNotice) -> Void
    ) throws(RingwakeError) -> AudioSessionID {
        guard arbiter.hasRoom else {
            throw RingwakeError(.limitReached, "as many audio sessions are open as may be; close one")
        }
        let id = arbiter.nextSessionID
        clients[id] = Client(notices: notices)
        submit(.opened(id, client, hasLease: hasLease))
        submit(.configured(id, configuration))
        update()
        return id
    }

    /// A session is over: closed by its client, or with the connection of one that died.
    func close(_ id: AudioSessionID, hasDied: Bool) {
        submit(.closed(id, hasDied: hasDied))
        let open = clients.removeValue(forKey: id)
        for answer in open?.answers ?? [] {
            answer(.failure(AudioSessionError(.expiredSession, "the session was closed")))
        }
        update()
    }

    func configure(
        _ id: AudioSessionID, _ configuration: AudioSessionConfiguration,
        completion: @escaping (Result<AudioRoute, AudioSessionError>) -> Void
    ) {
        ask(id, .configured(id, configuration), completion)
    }

    func setActive(
        _ id: AudioSessionID, _ isActive: Bool, notifyOthers: Bool,
        completion: @escaping (Result<AudioRoute, AudioSessionError>) -> Void
    ) {
        let event: AudioEvent =
            isActive ? .activationRequested(id) : .deactivationRequested(id, notifiesOthers: notifyOthers)
        ask(id, event, completion)
    }

    /// The client asks for the speaker, or takes that back.
    ///
    /// - Returns: why it was refused.
    func overrideOutput(_ id: AudioSessionID, speaker: Bool) -> AudioSessionError? {
        overrideRefusal = nil
        submit(.outputOverridden(id, isSpeaker: speaker))
        return overrideRefusal
    }

    /// The user chooses an output for calls and recordings; nil: none in particular. The server is connected to for it.
    ///
    /// - Parameter completion: Gets why it was not done; nil: it is so, or is remembered where there is no server.
    func chooseOutput(_ name: String?, completion: @escaping (AudioSessionError?) -> Void) {
        lastChoice &+= 1
        choosers[lastChoice] = completion
        submit(.outputChosen(name, number: lastChoice))
    }

    private func ask(
        _ id: AudioSessionID, _ event: AudioEvent,
        _ completion: @escaping (Result<AudioRoute, AudioSessionError>) -> Void
    ) {
        guard clients[id] != nil else {
            return completion(.failure(AudioSessionError(.expiredSession, "no such session is open")))
        }
        clients[id]?.answers.append(completion)
        submit(event)
    }
}
