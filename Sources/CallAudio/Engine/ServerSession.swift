internal import RingwakeCore
internal import RunLoop

/// One connection to an audio server, from its first image until it is lost, with all its state.
///
///     request, choice -------------------> queue --> ``PlanReconciler`` --> answer, reports
///     change --> (devices: after 50 ms) --> upkeep -----^
///
/// Invariants: one work is active at a time, in the order of the requests. A newer plan replaces one that was not
/// begun, and answers for both.
struct ServerSession {
    typealias Effect = AudioEngineStateMachine.Effect

    /// A profile switch causes about six events in as many turns: they are handled together.
    private static let settlingTime = Duration.milliseconds(50)
    /// Maximum queued requests. The owner has few in progress, so a longer queue means a bug.
    private static let maximumQueue = 64

    private var reconciler: PlanReconciler
    private var observation: RouteObservation
    private var queue: [EngineWork] = []
    private var settlingEnd: BootClock.Instant?
    private var effects: [Effect] = []

    /// - Parameter ledger: the effects that an earlier run, or an earlier connection, left: they are undone first.
    init(
        _ image: AudioServerImage, _ ledger: EffectLedger, _ wishes: RouteWishes,
        _ surroundings: EngineSurroundings, at now: BootClock.Instant
    ) {
        reconciler = PlanReconciler(image, ledger, surroundings, at: now)
        reconciler.wanted.wishes = wishes
        observation = RouteObservation(image)
        if ledger.isEmpty { introduce(mended: 0) } else { enqueue(.restore) }
    }

    var image: AudioServerImage { reconciler.image }
    var ledger: EffectLedger { reconciler.inForce.ledger }
    private var plan: AudioPlan { reconciler.wanted.plan }

    /// Whether nothing is in progress or queued.
    var isIdle: Bool { reconciler.work == nil && queue.isEmpty }

    /// Whether no plan wants the effects in the ledger any more.
    var isRestoring: Bool {
        for case .apply(_, let plan, _) in queue.map(\.kind) where !plan.isEmpty { return false }
        let isOver = plan.isEmpty || queue.contains { !$0.numbers.isEmpty }
        return isOver && reconciler.wanted.busy == BusyStreams()
    }

    var nextDeadline: BootClock.Instant? {
        [settlingEnd, reconciler.nextDeadline].compactMap(\.self).min()
    }

    mutating func takeEffects() -> [Effect] {
        effects += reconciler.takeEffects()
        defer { effects = [] }
        return effects
    }

    mutating func handle(_ event: AudioEngineStateMachine.Event, at now: BootClock.Instant) {
        reconciler.now = now
        switch event {
        case .request(.prepare(let plan)): if isIdle { enqueue(.prepare(plan)) }
        case .request(.apply(let number, let plan, let resumes)): apply(number, plan, resumes)
        case .request(.chooseOutput(let name, let number)): choose(name, number)
        case .request(.wokeFromSleep): enqueue(.upkeep(.wakeFromSleep))
        case .server(.changed(let image)): changed(image)
        case .answered(let answer, let image):
            if let image { reconciler.see(image) }
            reconciler.answered(answer)
            advance()
        case .covered(let isWritten):
            reconciler.covered(isWritten)
            advance()
        case .playersAnswered(let answer): reconciler.answered(answer)
        case .playerChanged(let player, let change): if reconciler.changed(player, change) { upkeep() }
        case .deadlineReached: deadlineReached()
        case .turnEnded:
            // A work in progress writes the journal itself.
            guard reconciler.work == nil else { return }
            effects.append(.write(ledger))
            if !reconciler.inForce.echoes.isEmpty, queue.isEmpty { upkeep() }
        case .close: close()
        case .start, .server: break
        }
    }

    /// The connection broke: answers everything that has no answer yet.
    mutating func lost(_ error: AudioSessionError) {
        for one in [reconciler.work].compactMap(\.self) + queue { refuse(one, error) }
        reconciler.lost()
    }

    private mutating func refuse(_ work: EngineWork, _ error: AudioSessionError) {
        for number in work.numbers { report(.refused(number: number, error)) }
    }

    private mutating func report(_ report: AudioEngineReport) { effects.append(.report(report)) }

    // MARK: - What the server shows

    private mutating func changed(_ image: AudioServerImage) {
        reconciler.see(image)
        reconciler.confirm()
        // The work in progress may have waited for this.
        if reconciler.work != nil { return advance() }
        if settlingEnd != nil { return }
        guard RouteObservation.Devices(image) == observation.devices else {
            settlingEnd = reconciler.now.advanced(by: Self.settlingTime)
            return
        }
        noticeChoiceInMixer()
        upkeep()
    }

    private mutating func deadlineReached() {
        if reconciler.deadlineReached() { queue.append(EngineWork(.upkeep(nil), since: reconciler.now)) }
        if let end = settlingEnd, end <= reconciler.now {
            settlingEnd = nil
            if reconciler.work == nil { devicesSettled() }
        }
        advance()
    }

    private mutating func devicesSettled() {
        noticeChoiceInMixer()
        let headsets = observation.see(image)
        if !plan.isEmpty, !headsets.isEmpty {
            // A new headset takes the call, whatever was chosen before.
            reconciler.wanted.wishes.arrived += headsets
            reconciler.wanted.wishes.chosen = nil
            reconciler.wanted.wishes.isSpeakerOver = true
        }
        upkeep()
    }

    /// Keeps a choice that the user made in a mixer.
    private mutating func noticeChoiceInMixer() {
        guard let chosen = observation.choiceInMixer(image) else { return }
        reconciler.wanted.wishes.chosen = chosen
        reconciler.wanted.wishes.isByHand = true
        reconciler.wanted.wishes.isSpeakerOver = true
    }

    /// Adapts the server after a change.
    private mutating func upkeep() {
        reconciler.takeBackEchoes()
        guard reconciler.hasNothingToDo else { return enqueue(.upkeep(nil)) }
        let decision = reconciler.decision
        reportRoute(decision, nil)
        note(decision)
    }

    private mutating func reportRoute(_ decision: RouteDecision, _ reason: AudioRouteChangeReason?) {
        effects += observation.reportRoute(decision.route, reason, image, plan).map(Effect.report)
    }

    private mutating func note(_ decision: RouteDecision) {
        effects += observation.note(decision, image, reconciler.ownership).map(Effect.report)
    }

    // MARK: - Requests

    private mutating func apply(_ number: UInt64, _ plan: AudioPlan, _ resumes: Bool) {
        var (numbers, resumes) = ([number], resumes)
        if case .apply(let earlier, _, let earlierResumes) = queue.last?.kind {
            // That plan was not begun: the newer one replaces it, and resumes players if either does.
            queue.removeLast()
            (numbers, resumes) = (earlier + numbers, resumes || earlierResumes)
        }
        let work = EngineWork(.apply(numbers: numbers, plan, resumes: resumes), since: reconciler.now)
        guard queue.count < Self.maximumQueue else {
            return refuse(work, AudioSessionError(.unspecified, "too many requests wait for the audio server"))
        }
        enqueue(work)
    }

    /// - Parameter number: answered once the choice is carried out; nil: the choice was made before.
    private mutating func choose(_ name: String?, _ number: UInt64?) {
        if let name, let number, !image.hasOutput(name) {
            return report(.outputChosen(number: number, isKnown: false))
        }
        reconciler.choose(name)
        let isAnyAwaited = reconciler.work?.isAwaited == true || queue.contains(where: \.isAwaited)
        guard !plan.isEmpty || isAnyAwaited else {
            if let number { report(.outputChosen(number: number, isKnown: true)) }
            return
        }
        let numbers = number.map { [$0] } ?? []
        if case .upkeep(.override) = queue.last?.kind {
            // It was not begun, so it will carry out the newest choice.
            queue[queue.endIndex - 1].choices += numbers
            return
        }
        var work = EngineWork(.upkeep(.override), since: reconciler.now)
        work.choices = numbers
        enqueue(work)
    }

    /// Refuses queued requests, and undoes everything.
    private mutating func close() {
        for waiting in queue { refuse(waiting, AudioSessionError(.expiredSession, "the audio program ends")) }
        queue = []
        reconciler.stopWaiting()
        enqueue(.close)
    }

    // MARK: - Works

    private mutating func enqueue(_ kind: EngineWork.Kind) { enqueue(EngineWork(kind, since: reconciler.now)) }

    private mutating func enqueue(_ work: EngineWork) {
        queue.append(work)
        advance()
    }

    /// Continues the work in progress, or begins the next one, until the work has to wait.
    private mutating func advance() {
        while true {
            let finished = reconciler.advance()
            effects += reconciler.takeEffects()
            if let finished { finish(finished) }
            guard reconciler.work == nil, !queue.isEmpty else { return }
            reconciler.begin(queue.removeFirst())
        }
    }

    private mutating func finish(_ work: EngineWork) {
        let decision = reconciler.decision
        switch work.kind {
        case .prepare: return
        case .apply: answer(work, decision.route)
        case .restore: introduce(mended: work.undone)
        case .upkeep(let reason): reportRoute(decision, reason)
        case .close: break
        }
        reconciler.tendPlayers(after: work)
        for number in work.choices { report(.outputChosen(number: number, isKnown: true)) }
        note(decision)
        // Don't delay the answer for the disk: this write only records that less has to be undone.
        if !work.numbers.isEmpty || work.passes > 0 || work.hasFreed || work.isRestoring {
            effects.append(.callAfterTurn)
        }
    }

    /// Reports the server, once earlier effects are undone.
    private mutating func introduce(mended: Int) {
        let decision = reconciler.decision
        observation.reported(decision.route)
        effects += [.ready(mended: mended), .report(.connected(image.server, decision.route))]
        note(decision)
    }

    private mutating func answer(_ work: EngineWork, _ route: AudioRoute) {
        if let refusal = work.refusal { return refuse(work, refusal) }
        observation.reported(route)
        let time = work.since.duration(to: reconciler.now).components
        let applied = AudioApplied(
            route: route, busy: work.busySessions, inForce: ledger.count, made: work.made, undone: work.undone,
            left: work.left, microseconds: time.seconds * 1_000_000 + time.attoseconds / 1_000_000_000_000)
        for number in work.numbers { report(.applied(number: number, applied)) }
    }
}
