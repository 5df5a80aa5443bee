public import RingwakeCore
internal import RunLoop
internal import Synchronization

/// How a program uses the sound of this machine together with others: AVAudioSession for Linux.
///
///     let session = try AudioSession()
///     try session.setCategory(.playAndRecord, mode: .voiceChat, options: [.duckOthers])
///     try await session.setActive(true)            // others are quieter now, the microphone is open
///     defer { session.close() }                    // and everything is as it was
///     for await notice in session.notices { print(notice) }
///
/// It works with the user's PulseAudio, or PipeWire with its pulse server, without a daemon. It does not play or
/// record: the streams that this process has on the audio server, by whatever library, are the session's.
///
/// All sessions of a process share one connection to the audio server, on one thread. Callbacks run on it.
public final class AudioSession: Sendable {
    private let service: SessionService
    private let shared = SessionState()

    /// A new session: inactive, of the category `soloAmbient`.
    ///
    /// - Parameter name: A name for people.
    /// - Throws: `unspecified`: the system has no thread or descriptor left.
    public convenience init(name: String = "audio session") throws(AudioSessionError) {
        try self.init(name: name, service: SessionService.ofProcess())
    }

    init(name: String, service: SessionService) throws(AudioSessionError) {
        self.service = service
        try post(.open(name: String(name.prefix(AudioSession.maximumNameCharacters))))
    }

    deinit { close() }

    /// A longer name is cut.
    private static let maximumNameCharacters = 128

    private func post(_ action: SessionRequests.Action) throws(AudioSessionError) {
        try service.requests.post(action, of: shared)
    }

    // MARK: - Configuration

    /// Sets what the session does. While it is active, only the difference is changed, without a gap.
    ///
    /// Preferred devices stay; options are replaced. If the audio server refuses the change,
    /// ``AudioSessionNotice/configurationRefused(_:)`` is sent, and the former configuration stays in force.
    ///
    /// - Throws: `badParam`: the mode or an option does not fit the category; `expiredSession`.
    public func setCategory(
        _ category: AudioCategory, mode: AudioMode = .default, options: Set<AudioOption> = []
    ) throws(AudioSessionError) {
        try configure { former throws(AudioSessionError) in
            try AudioSessionConfiguration(
                category, mode: mode, options: options, preferredOutput: former.preferredOutput,
                preferredInput: former.preferredInput)
        }
    }

    /// Sets the preferred output, for categories that may choose.
    ///
    /// - Parameter output: The server's name of a sink, or the name of a port's kind, such as `headphones`; nil: none.
    /// - Throws: `badParam`: the name is empty or longer than 256 bytes; `expiredSession`.
    public func setPreferredOutput(_ output: String?) throws(AudioSessionError) {
        try configure { former throws(AudioSessionError) in
            try AudioSessionConfiguration(
                former.category, mode: former.mode, options: former.options, preferredOutput: output,
                preferredInput: former.preferredInput)
        }
    }

    /// Sets the preferred input in the same way.
    /// - Throws: As ``setPreferredOutput(_:)``.
    public func setPreferredInput(_ input: String?) throws(AudioSessionError) {
        try configure { former throws(AudioSessionError) in
            try AudioSessionConfiguration(
                former.category, mode: former.mode, options: former.options, preferredOutput: former.preferredOutput,
                preferredInput: input)
        }
    }

    private func configure(
        _ change: (AudioSessionConfiguration) throws(AudioSessionError) -> AudioSessionConfiguration
    ) throws(AudioSessionError) {
        let configuration = try change(configuration)
        // Shown before it is posted; reverted where it cannot be posted.
        shared.shown.withLock { shown in
            shown.configuration = configuration
            shown.openConfigurations += 1
        }
        do throws(AudioSessionError) {
            try post(.configure(configuration))
        } catch {
            shared.shown.withLock { $0.openConfigurations -= 1 }
            throw error
        }
    }

    /// Sends the sound to the speaker, or ends that. It lasts until the route changes for another reason or the session
    /// is interrupted (Apple's QA1754), and has an effect while the session is active.
    /// - Throws: `expiredSession`.
    public func overrideOutput(_ output: OutputOverride) throws(AudioSessionError) {
        try post(.overrideOutput(isSpeaker: output == .speaker))
    }

    /// Where ``overrideOutput(_:)`` sends the sound.
    public enum OutputOverride: String, Hashable, Sendable, CaseIterable {
        /// As the category decides.
        case none
        case speaker
    }

    /// Tells whether the user works with the program right now; true at first. In the background, only a session that
    /// mixes with others can become active.
    /// - Throws: `expiredSession`.
    public func setForeground(_ isForeground: Bool) throws(AudioSessionError) {
        try post(.setForeground(isForeground))
    }

    // MARK: - Activation

    /// Makes the session active or inactive. Returns when the audio server has acknowledged everything that this
    /// changes.
    ///
    /// - Parameters:
    ///   - isActive: Whether it should be active.
    ///   - notifyOthers: For a deactivation: interrupted sessions and players may resume. Without it they stay silent
    ///     until the user starts them; volumes and mutes are restored either way.
    /// - Returns: Where the sound goes and comes from.
    /// - Throws: For an activation: `insufficientPriority`, `cannotInterruptOthers`, `resourceNotAvailable`,
    ///   `cannotStartRecording`, `mediaServicesFailed`; for a deactivation: `isBusy`: the session's streams still ran,
    ///   and **it is inactive all the same**; `expiredSession`. In all other cases nothing has changed.
    @discardableResult
    public func setActive(_ isActive: Bool, notifyOthers: Bool = false) async throws(AudioSessionError) -> AudioRoute {
        let result = await withCheckedContinuation { continuation in
            setActive(isActive, notifyOthers: notifyOthers) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// The same with a completion.
    /// - Parameters:
    ///   - isActive: Whether it should be active.
    ///   - notifyOthers: As in ``setActive(_:notifyOthers:)``.
    ///   - completion: Called once: on the sessions' thread, or, if the session was closed, before this returns.
    public func setActive(
        _ isActive: Bool, notifyOthers: Bool = false,
        completion: @escaping @Sendable (Result<AudioRoute, AudioSessionError>) -> Void
    ) {
        do throws(AudioSessionError) {
            try post(isActive ? .activate(completion) : .deactivate(notifiesOthers: notifyOthers, completion))
        } catch {
            completion(.failure(error))
        }
    }

    /// Ends the session: an active one is deactivated, and others may resume. Streams of notices finish. Idempotent.
    ///
    /// It does not wait. At its exit the process waits for the restoration, at most three seconds.
    public func close() {
        try? post(.close)
    }

    // MARK: - State

    /// The session's state. This and the following can be read on any thread, without waiting.
    public var state: AudioSessionState { shared.shown.withLock { $0.state } }

    /// The last configuration that was set.
    public var configuration: AudioSessionConfiguration { shared.shown.withLock { $0.configuration } }

    /// The route that the audio server reported last.
    public var currentRoute: AudioRoute { shared.shown.withLock { $0.route } }

    /// Whether others play: any running stream that is not muted.
    public var isOtherAudioPlaying: Bool { shared.shown.withLock { $0.isOtherAudioPlaying } }

    /// Whether another session that does not mix is active and plays.
    public var secondaryAudioShouldBeSilencedHint: Bool { shared.shown.withLock { $0.shouldBeSilenced } }

    /// The notices from now on, until the session ends. Each call makes a new stream, which does not keep the session.
    /// Of more than 256 unread notices the oldest are dropped.
    public var notices: AsyncStream<AudioSessionNotice> { shared.notices() }

    /// Calls `body` with each notice, one at a time, on the sessions' thread, until the session ends.
    ///
    /// A body that waits delays all sessions of the process. It may call everything here. Capture the session weakly.
    public func onNotice(_ body: @escaping @Sendable (AudioSessionNotice) -> Void) {
        _ = shared.observers.add(.init(body: body))
    }
}
