import RingwakeCore
import Testing

/// An arbiter with clients, calls, a clock and an audio server that answers when it is told to. What must hold after
/// every event is looked at after every event.
struct AudioScenario {
    private(set) var arbiter: AudioArbiter
    var now = BootInstant(nanoseconds: 1_000_000_000)
    /// The plan that the server has been asked for and has not answered.
    var asked: (number: UInt64, plan: AudioPlan, resumes: Bool)? { checks.asked }
    private(set) var checks = AudioChecks()
    /// Everything so far.
    private(set) var effects: [AudioEffect] = []
    private(set) var needs = CallAudioNeeds.none
    /// The number of the last choice of an output.
    private(set) var lastChoice: UInt64 = 0

    static let app = AppID("com.example.phone") ?? { preconditionFailure("a valid bundle id") }()
    static let server = AudioServerDescription(name: "test", version: "1", location: "here")
    static let speaker = AudioRoute(
        inputs: [AudioPort(kind: .builtInMicrophone, device: "mic", name: "Microphone")],
        outputs: [AudioPort(kind: .builtInSpeaker, device: "speaker", name: "Speaker")])
    /// The speaker, without a microphone.
    static let deaf = AudioRoute(outputs: speaker.outputs, isInputAvailable: false)
    static let headset = AudioRoute(
        inputs: [AudioPort(kind: .headset, device: "headset", name: "Headset")],
        outputs: [AudioPort(kind: .headphones, device: "headset", name: "Headset")])

    /// - Parameter isConnected: a first session is open, so that the server is connected to.
    init(_ settings: CallAudioSettings = CallAudioSettings(), isConnected: Bool = true) {
        arbiter = AudioArbiter(settings: settings)
        guard isConnected else { return }
        open()
        if settings.hasEngine { connect() }
        effects = []
    }

    @discardableResult
    mutating func send(_ event: AudioEvent) -> [AudioEffect] {
        if case .outputChosen(_, let number) = event { lastChoice = number }
        let before = arbiter
        let new = arbiter.handle(event, at: now)
        checks.look(at: event, new, before: before, after: arbiter, now: now)
        effects += new
        return new
    }

    // MARK: - Clients

    /// Opens a session and says what it is.
    @discardableResult
    mutating func open(
        _ configuration: AudioSessionConfiguration = .standard, hasLease: Bool = true, process: Int32? = nil
    ) -> AudioSessionID {
        let id = arbiter.nextSessionID
        let own = process ?? Int32(1_000 + id.number)
        send(.opened(id, AudioClient(processes: [own], name: "client \(id.number)"), hasLease: hasLease))
        send(.configured(id, configuration))
        return id
    }

    /// A session that is active.
    mutating func openActive(
        _ configuration: AudioSessionConfiguration, hasLease: Bool = true, process: Int32? = nil
    ) -> AudioSessionID {
        let id = open(configuration, hasLease: hasLease, process: process)
        let effects = activate(id)
        #expect(effects.answers(to: id).last?.isSuccess == true)
        return id
    }

    /// Asks for the activation, and has the server do all that is asked of it.
    @discardableResult
    mutating func activate(_ id: AudioSessionID) -> [AudioEffect] { send(.activationRequested(id)) + serve() }

    @discardableResult
    mutating func deactivate(_ id: AudioSessionID, notify: Bool = true) -> [AudioEffect] {
        send(.deactivationRequested(id, notifiesOthers: notify)) + serve()
    }

    func state(_ id: AudioSessionID) -> AudioSessionState? { arbiter.sessions[id]?.machine.state.name }

    // MARK: - The server

    @discardableResult
    mutating func connect(_ route: AudioRoute = speaker) -> [AudioEffect] {
        send(.reported(.connected(AudioScenario.server, route)))
    }

    /// The server does what it was asked for.
    @discardableResult
    mutating func applied(_ route: AudioRoute? = nil, busy: Set<AudioSessionID> = []) -> [AudioEffect] {
        guard let asked else {
            Issue.record("nothing was asked of the server")
            return []
        }
        return send(
            .reported(.applied(number: asked.number, AudioApplied(route: route ?? arbiter.route, busy: busy))))
    }

    @discardableResult
    mutating func refused(_ code: AudioSessionError.Code = .resourceNotAvailable) -> [AudioEffect] {
        guard let asked else {
            Issue.record("nothing was asked of the server")
            return []
        }
        return send(.reported(.refused(number: asked.number, AudioSessionError(code, "no"))))
    }

    /// The server does all that it is asked for, and what follows from that.
    @discardableResult
    mutating func serve() -> [AudioEffect] {
        var effects: [AudioEffect] = []
        while asked != nil { effects += applied() }
        return effects
    }

    /// The user chooses an output.
    @discardableResult
    mutating func choose(_ name: String?) -> [AudioEffect] {
        send(.outputChosen(name, number: lastChoice + 1))
    }

    /// The server has that output, or no such one.
    @discardableResult
    mutating func chosen(_ number: UInt64? = nil, isKnown: Bool = true) -> [AudioEffect] {
        send(.reported(.outputChosen(number: number ?? lastChoice, isKnown: isKnown)))
    }

    // MARK: - Calls

    static func key(_ id: String = "one") -> CallKey { CallKey(app: app, id: CallID(id)) }

    static func focus(
        _ id: String = "one", process: Int32 = 500, isMuted: Bool = false,
        as configuration: AudioSessionConfiguration = .chat
    ) -> CallAudioNeeds.Focus {
        CallAudioNeeds.Focus(
            call: key(id), client: AudioClient(processes: [process], name: id), configuration: configuration,
            isMuted: isMuted)
    }

    /// The calls need something else.
    @discardableResult
    mutating func calls(_ change: (inout CallAudioNeeds) -> Void) -> [AudioEffect] {
        change(&needs)
        return send(.calls(needs))
    }

    /// A call is in focus, and all is done for it.
    @discardableResult
    mutating func call(_ focus: CallAudioNeeds.Focus = focus()) -> [AudioEffect] {
        calls { needs in
            needs.isAnyCall = true
            needs.isRinging = false
            needs.isFocusComing = false
            needs.focus = focus
        } + serve()
    }

    /// No call is there any more.
    @discardableResult
    mutating func hangUp() -> [AudioEffect] { calls { $0 = .none } + serve() }

    // MARK: - Time

    /// Lets the time pass until the next deadline, and reaches it.
    @discardableResult
    mutating func reachDeadline() -> [AudioEffect] {
        guard let deadline = arbiter.nextDeadline else {
            Issue.record("nothing is waited for")
            return []
        }
        now = max(now, deadline)
        return send(.deadlineReached)
    }

    mutating func wait(_ duration: Duration) { now = now.advanced(by: duration) }
}

/// What a session of a test is.
func configuration(
    _ category: AudioCategory, _ mode: AudioMode = .default, _ options: Set<AudioOption> = []
) -> AudioSessionConfiguration {
    do throws(AudioSessionError) {
        return try AudioSessionConfiguration(category, mode: mode, options: options)
    } catch {
        Issue.record("\(error)")
        return .standard
    }
}

extension AudioSessionConfiguration {
    static let music = configuration(.playback)
    static let mixable = configuration(.playback, .default, [.mixWithOthers])
    static let ducking = configuration(.playback, .default, [.duckOthers])
    static let interruptingSpeech = configuration(.playback, .default, [.interruptSpokenAudioAndMixWithOthers])
    static let speech = configuration(.playback, .spokenAudio)
    static let mixableSpeech = configuration(.playback, .spokenAudio, [.mixWithOthers])
    static let recording = configuration(.record)
    static let mixableRecording = configuration(.playAndRecord, .default, [.mixWithOthers])
    static let chat = configuration(.playAndRecord, .voiceChat)
}

extension [AudioEffect] {
    func answers(to id: AudioSessionID) -> [Result<AudioRoute, AudioSessionError>] {
        compactMap { if case .answer(id, let result) = $0 { result } else { nil } }
    }

    func notices(to id: AudioSessionID) -> [AudioNotice] {
        compactMap { if case .notify(id, let notice) = $0 { notice } else { nil } }
    }

    /// The codes that requests of the session failed with.
    func failures(of id: AudioSessionID) -> [AudioSessionError.Code] {
        answers(to: id).compactMap { if case .failure(let error) = $0 { error.code } else { nil } }
    }

    var refusals: [AudioSessionError.Code] {
        compactMap { if case .refused(_, let error) = $0 { error.code } else { nil } }
    }

    /// What choices were answered: the code of the error, or nil.
    var choiceAnswers: [AudioSessionError.Code?] {
        reduce(into: []) { if case .answerChoice(_, let error) = $1 { $0.append(error?.code) } }
    }

    var plans: [AudioPlan] {
        compactMap { if case .send(.apply(_, let plan, _)) = $0 { plan } else { nil } }
    }

    /// What calls are told, in short.
    var calls: [String] {
        compactMap {
            switch $0 {
            case .call(let key, .activated): "activated \(key.id)"
            case .call(let key, .deactivated): "deactivated \(key.id)"
            case .call(let key, .failed(let error)): "failed \(key.id) \(error.code.rawValue)"
            case .call(let key, .routeChanged(let reason, _, _)): "route \(key.id) \(reason.rawValue)"
            default: nil
            }
        }
    }
}

extension Result {
    var isSuccess: Bool { if case .success = self { true } else { false } }
}
