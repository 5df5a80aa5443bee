internal import RingwakeCore
internal import RunLoop

/// What was in force of a kind of streams until a moment ago.
struct EffectEcho {
    let kind: EffectLedger.KindRecord
    /// Streams that are older have been there before; nil: nobody knows which were.
    let baseline: EffectLedger.Baseline?
    let until: BootClock.Instant
    /// What was given back, or seen otherwise: if it is as we had set it later, somebody else did that.
    var judged: Set<EffectTarget>

    func isYoung(playing index: UInt32) -> Bool { baseline.map { index > $0.playing } ?? true }
    func isYoung(recording index: UInt32) -> Bool { baseline.map { index > $0.recording } ?? true }

    /// PulseAudio has a stream begin with what it stores. With PipeWire it comes a moment later, so that nothing is known
    /// of a stream that is seen otherwise.
    mutating func judge(_ name: String, _ image: AudioServerImage) {
        guard kind.isListed else { return }
        for stream in image.playing.values where stream.restoreID == name && stream.isSettled {
            judged.formUnion([.playingVolume(stream.index), .playingMute(stream.index)])
        }
        for stream in image.recording.values where stream.restoreID == name && stream.isSettled {
            judged.insert(.recordingMute(stream.index))
        }
    }
}

/// One thing that the engine brings about, from its beginning to its answer.
struct EngineWork {
    enum Kind {
        /// A plan, for these requests: those whose plans were never begun are answered with the last one.
        case apply(numbers: [UInt64], AudioPlan, resumes: Bool)
        case prepare(AudioPlan)
        /// The server changed, and the plan is the same; or a wish did, which is the reason for another route.
        case upkeep(AudioRouteChangeReason?)
        /// What another run, or another server, left.
        case mend
        case close
    }

    let kind: Kind
    let since: BootClock.Instant
    /// Choices of an output that are answered at its end.
    var choices: [UInt64] = []
    /// What was in force when it began.
    var former = AudioPlan()
    var formerWishes = RouteWishes()
    var formerBusy = BusyStreams()
    /// The server is put back to the former plan, and then this is the answer.
    var refusal: AudioSessionError?
    var busySessions: Set<AudioSessionID> = []
    var made = 0
    var undone = 0
    /// What has been undone by a command.
    var givenBack: Set<EffectTarget> = []
    var left = 0
    var passes = 0
    /// What is not there yet may still come.
    var isPatient = true
    var havePlayersBeenAsked = false
    var isMended = false
    /// Players that play, for a preparation.
    var players: [MediaPlayer] = []
    /// What the server stores, as of this work's beginning; nil: not asked.
    var stored: [String: StoredStream]?
    /// All streams were looked at since it began.
    var isFresh = false
    /// The server does not say what it stores.
    var isStoreRefused = false
    /// What other programs have in force; nil: not looked at.
    var others: [EffectLedger]?
    /// How often what the server stores was written and not found.
    var tries = 0
    /// The newest streams when it was written first.
    var writing: EffectLedger.Baseline?
    /// Kinds whose streams, when last some were seen, had begun after that with nothing of ours.
    var kindsFreed: Set<String> = []

    init(_ kind: Kind, since: BootClock.Instant) {
        self.kind = kind
        self.since = since
    }

    var numbers: [UInt64] {
        if case .apply(let numbers, _, _) = kind { return numbers }
        return []
    }

    /// Somebody waits for its end.
    var isAwaited: Bool { !numbers.isEmpty || !choices.isEmpty }

    /// Players that are not needed silent any more play again.
    var resumes: Bool {
        switch kind {
        case .apply(_, _, let resumes): resumes
        case .mend, .close: true
        case .prepare, .upkeep: false
        }
    }

    var isMending: Bool {
        if case .mend = kind { return true }
        return false
    }

    /// Devices and streams are waited for so long: a Bluetooth headset's switch takes up to a second.
    static let patience = Duration.milliseconds(1_200)
    /// More than a plan with each sort of effect needs; then the server and we are at odds.
    static let maximumPasses = 16
}
