public import RingwakeCore
internal import RunLoop
internal import Synchronization

/// What a program does with the sound of this machine, and how it gets along with others: AVAudioSession for Linux.
///
///     let session = try AudioSession()
///     try session.setCategory(.playAndRecord, mode: .voiceChat, options: [.duckOthers])
///     try await session.setActive(true)            // others are quieter now, the microphone is open
///     defer { session.close() }                    // and everything is as it was
///     for await notice in session.notices { print(notice) }
///
/// It works on the user's PulseAudio, or PipeWire with its pulse server, and needs no daemon. It does not play or record
/// itself: the streams that this process has with the audio server, by whatever library, are the session's.
///
/// All sessions of a process share one connection to the audio server, on one thread. Callbacks run on it.
public final class AudioSession: Sendable {
    private let service: SessionService
    private let shared = SessionState()

    /// A session that is inactive, of the category `soloAmbient`.
    ///
    /// - Parameter name: What it is called, for a person.
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

    /// Says what the session is. While it is active, what is in force changes by the difference, without a gap.
    ///
    /// Preferred devices stay, options do not: they are those given here. If the audio server refuses the difference,
    /// ``AudioSessionNotice/configurationRefused(_:)`` tells so, and the former configuration stays in force.
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

    /// Says which output the session would like, where it may choose.
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

    /// Says which input the session would like, in the same way.
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
        // Shown before it is posted; taken back where it cannot be posted.
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

    /// Sends the sound to the speaker, or takes that back. It lasts until the route changes for another reason or the
    /// session is interrupted (Apple's QA1754). Of effect while the session is active.
    /// - Throws: `expiredSession`.
    public func overrideOutput(_ output: OutputOverride) throws(AudioSessionError) {
        try post(.overrideOutput(isSpeaker: output == .speaker))
    }

    /// Where ``overrideOutput(_:)`` sends the sound.
    public enum OutputOverride: String, Hashable, Sendable, CaseIterable {
        /// Where the category says.
        case none
        case speaker
    }

    /// Whether the program is what the user is busy with; it is, until it says otherwise. In the background a session
    /// can only be made active if it is mixable: it may not interrupt others.
    /// - Throws: `expiredSession`.
    public func setForeground(_ isForeground: Bool) throws(AudioSessionError) {
        try post(.setForeground(isForeground))
    }

    // MARK: - Activation

    /// Makes the session active or inactive. Returns when the audio server has acknowledged everything that this changes.
    ///
    /// - Parameters:
    ///   - isActive: Whether it is to be active.
    ///   - notifyOthers: Of a deactivation: sessions and players that were interrupted may go on. Without it they stay
    ///     silent until the user plays them; volumes and mutes are put back either way.
    /// - Returns: Where the sound goes and comes from.
    /// - Throws: What activation meets: `insufficientPriority`, `cannotInterruptOthers`, `resourceNotAvailable`,
    ///   `cannotStartRecording`, `mediaServicesFailed`; what deactivation meets: `isBusy`: the session's streams ran, and
    ///   **it is inactive all the same**; `expiredSession`. Otherwise everything is as before.
    @discardableResult
    public func setActive(_ isActive: Bool, notifyOthers: Bool = false) async throws(AudioSessionError) -> AudioRoute {
        let result = await withCheckedContinuation { continuation in
            setActive(isActive, notifyOthers: notifyOthers) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// The same, for those who do not wait.
    /// - Parameters:
    ///   - isActive: Whether it is to be active.
    ///   - notifyOthers: As in ``setActive(_:notifyOthers:)``.
    ///   - completion: Called once: on the sessions' thread, or, when the session was closed, from within.
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

    /// Ends the session: an active one is deactivated, and others may go on. Streams of notices finish. Idempotent.
    ///
    /// It does not wait. A process that exits waits for what is to be put back, at most three seconds.
    public func close() {
        try? post(.close)
    }

    // MARK: - How things are

    /// Where the session stands. This and what follows may be asked on any thread, and does not wait.
    public var state: AudioSessionState { shared.shown.withLock { $0.state } }

    /// What was set last.
    public var configuration: AudioSessionConfiguration { shared.shown.withLock { $0.configuration } }

    /// Where sound goes and comes from, as the audio server told last.
    public var currentRoute: AudioRoute { shared.shown.withLock { $0.route } }

    /// Whether anybody else's sound is heard: any stream that runs and is not muted.
    public var isOtherAudioPlaying: Bool { shared.shown.withLock { $0.isOtherAudioPlaying } }

    /// Whether another session that is to be heard alone is active and plays.
    public var secondaryAudioShouldBeSilencedHint: Bool { shared.shown.withLock { $0.shouldBeSilenced } }

    /// What the session is told by itself, from now on, until it ends. Each call makes a stream of its own. A stream does
    /// not keep the session. Of more than 256 notices that wait the oldest are dropped.
    public var notices: AsyncStream<AudioSessionNotice> { shared.notices() }

    /// Calls `body` with each notice, one at a time, on the sessions' thread, until the session ends.
    ///
    /// What waits there keeps all sessions of the process waiting. It may call everything here. Capture the session
    /// weakly.
    public func onNotice(_ body: @escaping @Sendable (AudioSessionNotice) -> Void) {
        _ = shared.observers.add(.init(body: body))
    }
}
