/// All audio sessions of one user, that of the calls among them: the one place that decides who is heard.
///
///     client --opened, configured, activationRequested--> requests --> at most one in work --+
///     coordinator --calls--> CallSession ----------------------------------------------------+--> AudioPlan
///     holder of the server --reported--> Engine                                              |       | differs from
///                                                                                            |       v the one in force
///          answer, notify, callActivated <--- settled <--- applied <--- send(apply) <--------+-------+
///
/// | event | function, in the file |
/// |---|---|
/// | opened, closed, leaseChanged, outputOverridden | `+Sessions` |
/// | configured, activationRequested, deactivationRequested | `+Requests` |
/// | calls | `+Calls` |
/// | outputChosen | `+Choices` |
/// | reported, engineGone | `+Engine` |
/// | settingsChanged, wokeFromSleep, deadlineReached | here |
///
/// Who may become active, who is interrupted and who is ducked stands in `+Rules`; what follows for the server in `+Plan`;
/// how a plan comes into force, and what is told then, in `+Progress`.
///
/// What holds after every event:
/// - at most one `apply` is unanswered; a session is active, and a call told so, only after the `applied` of a plan that
///   holds it (without an engine: at once);
/// - each request of a client is answered exactly once, those of one session in their order, within
///   ``CallAudioSettings/activationTime``; one that is `refused` is so by the very event that brought it, and gets no
///   other answer;
/// - each choice of an output is answered exactly once, within ``choiceTime``;
/// - `callActivated` and `callDeactivated` alternate for each call, and at most one call is active;
/// - sessions, requests and choices are bounded by ``maximumSessions``, ``maximumRequests`` and ``maximumChoices``.
///
/// Decisions where the rules leave room:
/// - An activation of a call that takes too long is told as failed, and the call goes on; if the server acknowledges it
///   later, it is active from then on, and that is told.
/// - A deactivation that the server does not acknowledge in time is answered as done: the session is inactive, and what
///   it did to others is undone as soon as the server answers.
/// - A session that ducks others does not duck one that became active later and ducks others itself.
///
/// A value without clock and I/O: the driver says what time it is, runs the effects in order, and keeps one timer at
/// ``nextDeadline``. It reports nothing of an engine that it was told to stop, its end neither.
package struct AudioArbiter: Hashable, Sendable {
    /// The most sessions of clients that are open at a time.
    package static let maximumSessions = 64
    /// The most requests of one session that wait at a time.
    package static let maximumRequests = 8
    /// How often an engine may end within ``restartWindow`` and be started again.
    package static let maximumRestarts = 3
    package static let restartWindow = Duration.seconds(10)
    /// An engine that has not answered for so long hangs, and is replaced.
    package static let engineTime = Duration.seconds(10)
    /// The most choices of an output that wait for the server at a time.
    package static let maximumChoices = 16
    /// How long a choice of an output may take: the server may have to be connected to, and a headset to be switched. Less
    /// than clients wait for an answer.
    package static let choiceTime = Duration.seconds(5)

    package internal(set) var settings: CallAudioSettings
    /// The sessions of clients that are open.
    package internal(set) var sessions: [AudioSessionID: Session] = [:]
    /// What the calls need, as it was told last.
    package internal(set) var needs = CallAudioNeeds.none
    /// The session of the calls.
    package internal(set) var call = CallSession()
    /// The order of the session that ringing has; nil while it needs none.
    var ringing: UInt64?
    /// It rings; or it did, and the call that rang is being answered.
    var isRinging = false
    /// The connection to the audio server.
    package internal(set) var engine = Engine()
    /// The route that counts, as it was told last.
    package internal(set) var route = AudioRoute()
    /// The plan in force, and the one that is to take its place.
    var progress = Progress()
    /// What clients have asked for and nobody has begun with, the oldest first.
    var requests: [Request] = []
    /// The output that the user has chosen.
    package internal(set) var chosenOutput: String?
    /// Choices that the engine has not answered, or that the plan does not follow yet, the oldest first.
    var choices: [Choice] = []
    /// Sessions that play or record, and whether anybody else plays.
    var activity = Activity()

    /// The newest session's number.
    var lastNumber = AudioSessionID.firstClient.number - 1
    var lastOrder: UInt64 = 0
    var lastApply: UInt64 = 0

    package init(settings: CallAudioSettings = CallAudioSettings()) { self.settings = settings }

    /// One session of a client.
    package struct Session: Hashable, Sendable {
        package let client: AudioClient
        package internal(set) var hasLease: Bool
        package internal(set) var configuration = AudioSessionConfiguration.standard
        package internal(set) var machine = AudioSessionStateMachine() {
            didSet { if machine.state.name != .active { isSpeakerForced = false } }
        }
        package internal(set) var isSpeakerForced = false
        package let openedAt: BootInstant
        /// What its client was told last of others that are to be heard alone.
        var isToldToBeSilent = false
        /// Its client was told last that an interruption is over.
        var isToldToResume = false
    }

    /// What the engine told last of who plays.
    struct Activity: Hashable, Sendable {
        var running: Set<AudioSessionID> = []
        var othersPlay = false
        var isMicrophoneMuted = false
    }

    /// One event on its way through: what time it is, and what it has brought about so far.
    struct Turn {
        let now: BootInstant
        var effects: [AudioEffect] = []
    }

    /// Applies one event.
    package mutating func handle(_ event: AudioEvent, at now: BootInstant) -> [AudioEffect] {
        var turn = Turn(now: now)
        apply(event, &turn)
        proceed(&turn)
        tendChoices(&turn)
        tendEngine(&turn)
        tellHints(&turn)
        return turn.effects
    }

    private mutating func apply(_ event: AudioEvent, _ turn: inout Turn) {
        switch event {
        case .opened(let id, let client, let hasLease): open(id, client, hasLease: hasLease, &turn)
        case .closed(let id, _): close(id, &turn)
        case .leaseChanged(let id, let hasLease): changeLease(id, hasLease, &turn)
        case .configured(let id, let configuration): ask(id, .configure(configuration), &turn)
        case .outputOverridden(let id, let isSpeaker): overrideOutput(id, isSpeaker: isSpeaker, &turn)
        case .activationRequested(let id): ask(id, .activate, &turn)
        case .deactivationRequested(let id, let notifies): ask(id, .deactivate(notifiesOthers: notifies), &turn)
        case .calls(let needs): change(to: needs, &turn)
        case .outputChosen(let name, let number): chooseOutput(name, number, &turn)
        case .settingsChanged(let settings): change(to: settings, &turn)
        case .wokeFromSleep: if engine.isConnected { turn.effects.append(.send(.wokeFromSleep)) }
        case .reported(let report): hear(report, &turn)
        case .engineGone(let why): engineGone(why, &turn)
        case .deadlineReached: passDeadlines(&turn)
        }
    }

    /// When ``AudioEvent/deadlineReached`` is due; nil while nothing is waited for.
    package var nextDeadline: BootInstant? {
        var all = requests.map(\.deadline)
        all.append(contentsOf: [progress.work?.request.deadline, progress.outstanding?.deadline].compactMap(\.self))
        all.append(contentsOf: [call.state.deadline, engine.lingersUntil].compactMap(\.self))
        all.append(contentsOf: choices.compactMap(\.deadline))
        return all.min()
    }

    private mutating func passDeadlines(_ turn: inout Turn) {
        passDeadlinesOfRequests(&turn)
        passDeadlineOfCall(&turn)
        passDeadlinesOfChoices(&turn)
        passDeadlinesOfEngine(&turn)
    }

    mutating func nextOrder() -> UInt64 {
        lastOrder &+= 1
        return lastOrder
    }
}

extension AudioSessionID {
    /// The session of the calls.
    package static let call = AudioSessionID(number: 0)
    /// The session that ringing has.
    package static let ringing = AudioSessionID(number: 1)
    /// The first of a client; smaller numbers are the daemon's own.
    package static let firstClient = AudioSessionID(number: 16)
}
