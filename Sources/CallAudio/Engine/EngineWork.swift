internal import RingwakeCore
internal import RunLoop

/// The wanted state: the plan and the choices for it. If a plan is refused, the former value is restored as a whole.
struct WantedState {
    var plan = AudioPlan()
    var wishes = RouteWishes()
    var busy = BusyStreams()
}

/// One request or reaction, from its beginning to its answer.
struct EngineWork {
    enum Kind {
        /// A plan, for these requests: when several wait, the last plan answers them all.
        case apply(numbers: [UInt64], AudioPlan, resumes: Bool)
        case prepare(AudioPlan)
        /// The server changed under the same plan, or the user made a choice: that is then the reason for another
        /// route.
        case upkeep(AudioRouteChangeReason?)
        /// Undoes what another run left, or what was in force on another instance of the server.
        case restore
        case close
    }

    let kind: Kind
    let since: BootClock.Instant
    /// Choices of an output to answer at its end.
    var choices: [UInt64] = []
    /// What was wanted when it began.
    var former = WantedState()
    /// If set, the former plan is restored, and then this is the answer.
    var refusal: AudioSessionError?
    var busySessions: Set<AudioSessionID> = []
    var made = 0
    var undone = 0
    var left = 0
    /// Targets that commands have undone.
    var givenBack: Set<EffectTarget> = []
    var passes = 0
    /// Whether to wait for what may still appear.
    var isPatient = true
    /// Stored values of kinds without an effect have been restored.
    var isRepaired = false
    /// Kinds of streams have left the ledger.
    var hasFreed = false
    /// What the server stored when this work began; nil: not read.
    var stored: [String: StoredStream]?
    /// The server doesn't report what it stores.
    var isStoreRefused = false
    /// All streams have been read since it began.
    var isFresh = false
    var repair = StoredRepair()

    init(_ kind: Kind, since: BootClock.Instant) { (self.kind, self.since) = (kind, since) }

    /// - Parameter list: nil: the server doesn't report it.
    mutating func take(stored list: [StoredStream]?) {
        stored = Dictionary((list ?? []).map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        isStoreRefused = list == nil
    }

    var numbers: [UInt64] {
        if case .apply(let numbers, _, _) = kind { numbers } else { [] }
    }

    /// Whether a request waits for its end.
    var isAwaited: Bool { !numbers.isEmpty || !choices.isEmpty }

    /// Whether to resume paused players that no longer have to be silent.
    var resumes: Bool {
        switch kind {
        case .apply(_, _, let resumes): resumes
        case .restore, .close: true
        case .prepare, .upkeep: false
        }
    }

    var isRestoring: Bool {
        if case .restore = kind { true } else { false }
    }

    /// How long to wait for devices and streams: a Bluetooth headset takes up to a second to switch.
    static let timeout = Duration.milliseconds(1_200)
    /// More passes than a plan with every sort of effect needs. A further pass means that the server doesn't carry
    /// out its commands.
    static let maximumPasses = 16
}

extension AudioPlan {
    /// Whether one of its sessions silences everybody else.
    var interrupts: Bool { sessions.contains { $0.others == .interrupt } }
}
