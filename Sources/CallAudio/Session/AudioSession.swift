public import RingwakeCore
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
    private let hub: SessionHub
    private let seat: SessionSeat

    /// A session that is inactive, of the category `soloAmbient`.
    ///
    /// - Parameter name: What it is called, for a person.
    /// - Throws: `unspecified`: the system has no thread or descriptor left.
    public convenience init(name: String = "audio session") throws(AudioSessionError) {
        try self.init(name: name, hub: SessionHub.ofProcess())
    }

    init(name: String, hub: SessionHub) throws(AudioSessionError) {
        self.hub = hub
        seat = SessionSeat(number: hub.board.makeNumber())
        let shown = String(name.prefix(AudioSession.maximumNameCharacters))
        if let error = hub.board.post(.open(seat, name: shown)) { throw error }
    }

    deinit { close() }

    /// A longer name is cut.
    private static let maximumNameCharacters = 128

    // MARK: - What it is

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
        // Shown before it is asked for: a failure of the loop to keep up takes it back.
        seat.shown.withLock { shown in
            shown.configuration = configuration
            shown.openConfigurations += 1
        }
        if let error = hub.board.post(.configure(seat.number, configuration)) {
            seat.shown.withLock { $0.openConfigurations -= 1 }
            throw error
        }
    }

    /// Sends the sound to the speaker, or takes that back. It lasts until the route changes for another reason or the
    /// session is interrupted (Apple's QA1754). Of effect while the session is active.
    /// - Throws: `expiredSession`.
    public func overrideOutput(_ output: OutputOverride) throws(AudioSessionError) {
        if let error = hub.board.post(.overrideOutput(seat.number, isSpeaker: output == .speaker)) { throw error }
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
        if let error = hub.board.post(.setForeground(seat.number, isForeground)) { throw error }
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
        let request: SessionBoard.Request =
            isActive
            ? .activate(seat.number, completion)
            : .deactivate(seat.number, notifiesOthers: notifyOthers, completion)
        if let error = hub.board.post(request) { completion(.failure(error)) }
    }

    /// Ends the session: an active one is deactivated, and others may go on. Streams of notices finish. Idempotent.
    ///
    /// It does not wait. A process that exits waits for what is to be put back, at most three seconds.
    public func close() {
        _ = hub.board.post(.close(seat.number))
    }

    // MARK: - How things are

    /// Where the session stands. This and what follows may be asked on any thread, and does not wait.
    public var state: AudioSessionState { seat.shown.withLock { $0.state } }

    /// What was set last.
    public var configuration: AudioSessionConfiguration { seat.shown.withLock { $0.configuration } }

    /// Where sound goes and comes from, as the audio server told last.
    public var currentRoute: AudioRoute { seat.shown.withLock { $0.route } }

    /// Whether anybody else's sound is heard: any stream that runs and is not muted.
    public var isOtherAudioPlaying: Bool { seat.shown.withLock { $0.isOtherAudioPlaying } }

    /// Whether another session that is to be heard alone is active and plays.
    public var secondaryAudioShouldBeSilencedHint: Bool { seat.shown.withLock { $0.shouldBeSilenced } }

    /// What the session is told by itself, from now on, until it ends. Each call makes a stream of its own. A stream does
    /// not keep the session. Of more than 256 notices that wait the oldest are dropped.
    public var notices: AsyncStream<AudioSessionNotice> { seat.notices.stream() }

    /// Calls `body` with each notice, one at a time, on the sessions' thread, until the session ends.
    ///
    /// What waits there keeps all sessions of the process waiting. It may call everything here. Capture the session
    /// weakly.
    public func onNotice(_ body: @escaping @Sendable (AudioSessionNotice) -> Void) {
        seat.notices.add(body)
    }
}
