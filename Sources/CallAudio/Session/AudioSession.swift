public import RingwakeCore
internal import RunLoop
internal import Synchronization

/// Declares how a program uses this machine's sound together with other programs: AVAudioSession for Linux.
///
///     let session = try AudioSession()
///     try session.setCategory(.playAndRecord, mode: .voiceChat, options: [.duckOthers])
///     try await session.setActive(true)            // other sound is ducked, the microphone is open
///     defer { session.close() }                    // restores everything
///     for await notice in session.notices { print(notice) }
///
/// It works with the user's PulseAudio, or PipeWire with its pulse server, without a daemon. It does not play or
/// record: the session includes every stream of this process on the audio server, whatever library made it.
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

    /// Sets what the session does. While it is active, this changes only what differs, without a gap.
    ///
    /// Preferred devices stay; options are replaced. If the audio server refuses the change, the session keeps the
    /// former configuration, and you get ``AudioSessionNotice/configurationRefused(_:)``.
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
        // Show it before it is posted. If posting fails, the loop's next update shows the session's own configuration
        // again.
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

    /// Sends the sound to the speaker, or undoes that. The override lasts until the route changes for another reason
    /// or the session is interrupted (Apple's QA1754), and has an effect only while the session is active.
    /// - Throws: `expiredSession`.
    public func overrideOutput(_ output: OutputOverride) throws(AudioSessionError) {
        try post(.overrideOutput(isSpeaker: output == .speaker))
    }

    /// Where ``overrideOutput(_:)`` sends the sound.
    public enum OutputOverride: String, Hashable, Sendable, CaseIterable {
        /// The category decides.
        case none
        case speaker
    }

    /// Sets whether the program is in the foreground, that is, whether the user works with it now; true at first. In
    /// the background, only a session that mixes with others can become active.
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
    /// - Returns: The audio route.
    /// - Throws: For an activation: `insufficientPriority`, `cannotInterruptOthers`, `resourceNotAvailable`,
    ///   `cannotStartRecording`, `mediaServicesFailed`; for a deactivation: `isBusy`: the session's streams still ran,
    ///   **but it is inactive now**; `expiredSession`. After any other error nothing has changed.
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

    /// Ends the session: deactivates it if it is active, so that others may resume. Streams of notices finish.
    /// Idempotent.
    ///
    /// This does not wait. When the process exits, it waits at most three seconds until everything is restored.
    public func close() {
        try? post(.close)
    }

    // MARK: - State

    /// The session's state. You can read this and the following properties on any thread, without waiting.
    public var state: AudioSessionState { shared.shown.withLock { $0.state } }

    /// The last configuration that was set.
    public var configuration: AudioSessionConfiguration { shared.shown.withLock { $0.configuration } }

    /// The route that the audio server reported last.
    public var currentRoute: AudioRoute { shared.shown.withLock { $0.route } }

    /// Whether there is an input to record from, as `AVAudioSession.isInputAvailable` says: false if no microphone is
    /// connected.
    ///
    /// The category need not record. A hands-free Bluetooth device counts too, except while a session records that may not
    /// use it. Without an audio server, and until a new session is connected to it, this is true.
    /// ``AudioSessionNotice/inputAvailabilityChanged(_:)`` reports changes, also while the session is inactive.
    public var isInputAvailable: Bool { shared.shown.withLock { $0.isInputAvailable } }

    /// Whether other programs play: whether any of their running streams is not muted.
    public var isOtherAudioPlaying: Bool { shared.shown.withLock { $0.isOtherAudioPlaying } }

    /// Whether another session that does not mix is active and plays.
    public var secondaryAudioShouldBeSilencedHint: Bool { shared.shown.withLock { $0.shouldBeSilenced } }

    /// The notices from now on, until the session ends. Each call makes a new stream, which does not keep the session
    /// alive. If more than 256 notices are unread, the oldest are dropped.
    public var notices: AsyncStream<AudioSessionNotice> { shared.notices() }

    /// Calls `body` with each notice, one at a time, on the sessions' thread, until the session ends.
    ///
    /// If `body` blocks, it delays all sessions of the process. It may call every method. Capture the session weakly.
    public func onNotice(_ body: @escaping @Sendable (AudioSessionNotice) -> Void) {
        _ = shared.observers.add(.init(body: body))
    }
}
