internal import RingwakeCore
internal import RunLoop

/// Brings one instance of an audio server to the state that a plan wants: image + plan + ledger -> steps. A value
/// without I/O and clock.
///
///     begin(work) --> pass: wanted (``EffectWants``) - in force (``EffectLedger``) = changes
///                      |                    |                      |
///                   nothing              waiting                changes
///                      |              (1.2 s at most)              |
///                      v                                           v
///          stored values are repaired                  journal --> commands --> next pass
///                      |
///                      v
///               work is finished
///
/// `awaiting` is the one answer that the work waits for. So a stream that begins during a call, a device that appears
/// and a server that refuses are not special cases: the next pass handles them.
///
/// Players are asked beside the works (``PausedPlayers``): a player that hangs delays nothing.
///
/// Invariants:
/// - Commands are sent only after the journal covers their records; a record that can't be written isn't made.
/// - Undoing is compare-and-set (``EffectUndo``), and never happens before all streams were read again in this work.
/// - A work ends: after ``EngineWork/maximumPasses`` passes and ``StoredRepair/maximumTries`` repairs at most.
struct PlanReconciler {
    typealias Effect = AudioEngineStateMachine.Effect
    typealias Answer = AudioEngineStateMachine.Answer

    var now: BootClock.Instant
    private(set) var image: AudioServerImage
    private(set) var inForce: EffectsInForce
    private(set) var work: EngineWork?
    private(set) var effects: [Effect] = []
    var wanted = WantedState()
    private var players = PausedPlayers()
    private var mutedMicrophones = MutedMicrophones()
    private var roleCorkModule = RoleCorkModule()
    private var strays = StrayRecordings()
    private var awaiting: EngineQuestion?
    private var late = LateRepairs()
    private var waitingEnd: BootClock.Instant?
    private let surroundings: EngineSurroundings

    init(
        _ image: AudioServerImage, _ ledger: EffectLedger, _ surroundings: EngineSurroundings, at now: BootClock.Instant
    ) {
        (self.image, self.surroundings, self.now, inForce) = (image, surroundings, now, EffectsInForce(ledger))
        strays.see(image)
    }

    var ownership: StreamOwnership { StreamOwnership(plan: wanted.plan, tree: surroundings.tree) }
    var decision: RouteDecision { decision(for: wanted.plan) }
    var hasNothingToDo: Bool { wanted.plan.isEmpty && wanted.busy == BusyStreams() && inForce.ledger.isEmpty }

    var nextDeadline: BootClock.Instant? {
        let retry: BootClock.Instant? = if case .retry(let time) = awaiting { time } else { nil }
        return [waitingEnd, players.deadline, retry, late.deadline].compactMap(\.self).min()
    }

    mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        // Players are tended between works: their ledger is older than that of a work that has begun since.
        return players.takeEffects() + effects
    }

    // MARK: - Between works

    mutating func see(_ image: AudioServerImage) {
        let former = self.image
        self.image = image
        strays.see(image)
        surroundings.tree.follow(image)
        // Nobody else knows what the user changed, once the server or this program has died.
        if inForce.see(image, after: former) { effects.append(.write(inForce.ledger)) }
        mutedMicrophones.notice(
            from: former, to: image, isWatching: !wanted.plan.isEmpty || wanted.plan.isCallWaiting)
        let ownership = ownership
        roleCorkModule.notice(from: former, to: image, at: now) { stream in
            if stream.properties["media.role"] == "phone" { return true }
            if case .sessions = ownership.owner(of: stream) { return true }
            return false
        }
    }

    /// The connection broke: streams that ended with it may have had the user's values.
    mutating func lost() { if inForce.see(nil, after: image) { effects.append(.write(inForce.ledger)) } }

    mutating func confirm() { inForce.confirm(image) }

    /// The user chose an output. A plan that is refused later does not undo this.
    mutating func choose(_ name: String?) {
        wanted.wishes.choose(name)
        work?.former.wishes.choose(name)
    }

    /// A player that was ordered to pause does something.
    /// - Returns: Whether its streams have to be checked.
    mutating func changed(_ player: MediaPlayer, _ change: MediaPlayerChange) -> Bool {
        players.changed(player, change, &inForce.ledger, interrupts: wanted.plan.interrupts)
    }

    mutating func answered(_ answer: AudioEngineStateMachine.PlayersAnswer) {
        let ours = Set(wanted.plan.sessions.flatMap(\.client.processes)).union(wanted.plan.exempt)
        let tree = surroundings.tree
        players.answered(answer, &inForce.ledger, boot: surroundings.boot, at: now) { player in
            !(player.process.map { tree.isOne($0, of: ours) } ?? false)
        }
    }

    /// Pauses players once a plan silences everything else, and resumes them when it is over.
    mutating func tendPlayers(after work: EngineWork) {
        let (did, does) = (work.former.plan.interrupts, wanted.plan.interrupts)
        let isAtEnd =
            switch work.kind {
            case .restore, .close: true
            case .apply, .prepare, .upkeep: false
            }
        if does, !did { return players.begin() }
        guard !does, did || isAtEnd else { return }
        let resumes = work.resumes && inForce.ledger.boot == surroundings.boot
        players.end(&inForce.ledger, resumes: resumes, isAtEnd: isAtEnd)
    }

    /// - Returns: Whether there were streams that began with our value before it was undone. They are in the journal
    ///   now.
    @discardableResult
    mutating func takeBackEchoes() -> Bool {
        guard inForce.takeBackEchoes(image, at: now) else { return false }
        effects.append(.write(inForce.ledger))
        return true
    }

    /// - Returns: Whether a work has to begin the repair of stored values again.
    mutating func deadlineReached() -> Bool {
        if let end = waitingEnd, end <= now { stopWaiting() }
        if case .retry(let time) = awaiting, time <= now {
            awaiting = nil
            work?.isRepaired = false
        }
        players.deadlineReached(inForce.ledger, at: now)
        guard let time = late.deadline, time <= now else { return false }
        late.beginAgain()
        return true
    }

    /// Gives up on devices and streams that have not appeared yet.
    mutating func stopWaiting() {
        waitingEnd = nil
        work?.isPatient = false
    }

    // MARK: - The work in progress

    mutating func begin(_ next: EngineWork) {
        work = next
        work?.former = wanted
        surroundings.tree.follow(image)
        switch next.kind {
        case .apply(_, let plan, _): adopt(plan)
        case .close, .restore:
            if next.isRestoring {
                work?.isFresh = true
                work?.undone = inForce.takeOver(image)
            }
            (wanted.plan, wanted.busy) = (AudioPlan(), BusyStreams())
            players.forget()
            mutedMicrophones.forget()
            late.beginAgain()
        case .prepare, .upkeep: break
        }
    }

    /// Continues until the work has to wait.
    /// - Returns: The work, once it is finished.
    mutating func advance() -> EngineWork? {
        while awaiting == nil, let work {
            switch pass(work) {
            case .again: continue
            case .wait: return nil
            case .finished:
                defer { self.work = nil }
                return self.work
            }
        }
        return nil
    }

    private enum Outcome { case again, wait, finished }

    private mutating func ask(_ effect: Effect, _ awaiting: EngineQuestion) -> Outcome {
        effects.append(effect)
        self.awaiting = awaiting
        return .wait
    }

    private mutating func problem(_ text: String?) {
        if let text { effects.append(.report(.problem(text))) }
    }

    private mutating func adopt(_ plan: AudioPlan) {
        inForce.refused = []
        if !plan.interrupts { players.forget() }
        if plan.isEmpty, !plan.isCallWaiting { mutedMicrophones.forget() }
        wanted.wishes.adopt(plan, after: wanted.plan)
        let sessions = wanted.plan.sessions.filter { session in !plan.sessions.contains { $0.id == session.id } }
        work?.busySessions = wanted.busy.add(
            image, leaving: AudioPlan(sessions: sessions), staying: plan, tree: surroundings.tree)
        wanted.plan = plan
    }

    private mutating func pass(_ work: EngineWork) -> Outcome {
        if case .prepare(let plan) = work.kind { return prepare(plan, work) }
        // The stored values of their kinds have to be repaired again, after these streams are undone.
        if takeBackEchoes() { self.work?.isRepaired = false }
        let route = decision
        if work.refusal == nil, !work.numbers.isEmpty, let error = route.lack(for: wanted.plan, after: work.former.plan)
        {
            self.work?.refusal = error
            wanted = work.former
            return .again
        }
        let changes = planner(wanted.plan, route).changes()
        if changes.steps.contains(where: \.isUndo), !work.isFresh {
            // The image may lack a change that the user made a moment ago, which must not be overwritten.
            self.work?.isFresh = true
            return ask(.readStored, .allStreams)
        }
        if !changes.isEmpty {
            if work.passes < EngineWork.maximumPasses { return carryOut(changes) }
            problem("the audio server does not become as it is asked to be: \(changes.steps.count) changes left")
        } else if changes.isWaiting {
            guard !work.isPatient else {
                waitingEnd = waitingEnd ?? now.advanced(by: EngineWork.timeout)
                return .wait
            }
            if let card = route.profile?.card, route.isProvisional {
                problem("\(card) does not become a headset in time: the call goes on without it")
                wanted.wishes.refusedCards.insert(card)
                return .again
            }
        }
        return settle()
    }

    private func decision(for plan: AudioPlan) -> RouteDecision {
        RoutePlanner(image: image, session: plan.sessions.first, wishes: wanted.wishes).decision
    }

    private func planner(_ plan: AudioPlan, _ route: RouteDecision) -> EffectPlanner {
        EffectPlanner(
            image: image, plan: plan, route: route, ledger: inForce.ledger, tree: surroundings.tree, busy: wanted.busy,
            refused: inForce.refused, unconfirmed: inForce.unconfirmed, settled: inForce.settled,
            released: roleCorkModule.released, microphonesMuted: mutedMicrophones.names, strays: strays.streams,
            yielding: players.startedByUser, paused: inForce.ledger.pausedProcesses,
            others: surroundings.others, isPatient: work?.isPatient ?? true, isRestoring: work?.isRestoring ?? false)
    }

    /// Writes to the journal what a plan would change, so that applying it need not wait for the disk.
    private mutating func prepare(_ plan: AudioPlan, _ work: EngineWork) -> Outcome {
        guard work.stored != nil else { return ask(.readStored, .stored) }
        var expected = inForce.ledger
        let changes = planner(plan, decision(for: plan)).changes()
        for kind in inForce.newKinds(changes) { expected.kinds[kind] = kindRecord(kind, work) }
        for record in changes.made { expected.insert(record, in: image) }
        effects.append(.write(expected))
        return .finished
    }

    private func kindRecord(_ kind: String, _ work: EngineWork) -> EffectLedger.KindRecord {
        if let known = surroundings.others().compactMap({ $0.kinds[kind] }).first {
            return EffectLedger.KindRecord(before: known.before, isListed: known.isListed)
        }
        return EffectLedger.KindRecord(
            of: kind, before: work.stored?[kind], isListed: !image.isPipeWire && !work.isStoreRefused, in: image)
    }

    private mutating func carryOut(_ changes: EffectChanges) -> Outcome {
        guard var work else { return .finished }
        let kinds = inForce.newKinds(changes)
        if !kinds.isEmpty, work.stored == nil {
            // Read while it rang, and unchanged since: a call does not wait for the question.
            guard let known = surroundings.stored() else { return ask(.readStored, .stored) }
            work.take(stored: known)
        }
        for kind in kinds { inForce.ledger.kinds[kind] = kindRecord(kind, work) }
        work.passes += 1
        let before = inForce.ledger
        inForce.enter(changes, image, &work)
        self.work = work
        return ask(.cover(inForce.ledger), .journal(changes, before: before))
    }

    /// A stream shows that what stores has started: it had to be given a device.
    private func hasStreams(ofKind name: String) -> Bool {
        image.playing.values.contains { $0.restoreID == name }
            || image.recording.values.contains { $0.restoreID == name }
    }

    /// The server is as wanted: repairs stored values.
    private mutating func settle() -> Outcome {
        waitingEnd = nil
        if work?.isRepaired == false {
            work?.isRepaired = true
            let free = inForce.freeKinds.filter { !late.isWaiting($0.key) || hasStreams(ofKind: $0.key) }
            if !free.isEmpty { return ask(.readStored, .storedToRepair(free)) }
        }
        inForce.settled = planner(wanted.plan, decision).settling
        return .finished
    }

    // MARK: - Answers

    /// The journal was written, or can't be.
    mutating func covered(_ isWritten: Bool) {
        let question = awaiting
        awaiting = nil
        switch question {
        case .journal(let changes, let before):
            guard isWritten else { return inForce.withdraw(changes, to: before) }
            guard !changes.steps.isEmpty else { return }
            for step in changes.steps { mutedMicrophones.ask(step) }
            _ = ask(.perform(changes.steps.map(\.command)), .commands(changes.steps))
        default: preconditionFailure("nothing waits for the journal")
        }
    }

    mutating func answered(_ answer: Answer) {
        let question = awaiting
        awaiting = nil
        switch (question, answer) {
        case (.commands(let steps), .performed(let failures)): take(failures, of: steps)
        case (.stored, .stored(let list)): work?.take(stored: list)
        case (.storedToRepair(let kinds), .stored(let list)): repair(kinds, list ?? [])
        case (.repair(let kinds), .performed(let failures)): repaired(kinds, failures)
        case (.storedToCheck(let kinds), .stored(let list)): check(kinds, list ?? [])
        // The connection is lost; that is reported next.
        default: break
        }
    }

    private mutating func take(_ failures: [AudioServerFailure?], of steps: [EffectChanges.Step]) {
        guard var work else { return }
        for (step, failure) in zip(steps, failures) {
            if failure != nil { mutedMicrophones.fail(step) }
            problem(inForce.take(failure, of: step, image, &work))
            if failure?.kind == .refused, !step.isUndo, case .profile(let card) = step.target {
                wanted.wishes.refusedCards.insert(card)
            }
        }
        self.work = work
    }

    // MARK: - Stored values

    private mutating func free(_ kinds: some Collection<String>) {
        if !kinds.isEmpty { work?.hasFreed = true }
        for name in kinds { inForce.free(name, image, givenBack: work?.givenBack ?? [], at: now) }
    }

    private mutating func repair(_ kinds: StoredRepair.Kinds, _ stored: [StoredStream]) {
        guard let (commands, arrived) = work?.repair.begin(kinds, stored, image) else { return }
        free(arrived.keys)
        let rest = kinds.filter { arrived[$0.key] == nil }
        if commands.isEmpty { free(rest.keys) } else { _ = ask(.perform(commands), .repair(rest)) }
    }

    private mutating func repaired(_ kinds: StoredRepair.Kinds, _ failures: [AudioServerFailure?]) {
        guard !failures.contains(where: { $0?.kind == .lost }) else { return }
        for failure in failures.compactMap(\.self) {
            problem("what the audio server stores is not mended: \(failure)")
        }
        let blind = kinds.filter { !$0.value.isListed && !$0.value.gone.isEmpty }
        free(kinds.keys.filter { blind[$0] == nil })
        if !blind.isEmpty { _ = ask(.readStored, .storedToCheck(blind)) }
    }

    private mutating func check(_ kinds: StoredRepair.Kinds, _ stored: [StoredStream]) {
        guard let arrived = work?.repair.check(kinds, stored, image), let repair = work?.repair else { return }
        free(arrived.keys)
        let rest = kinds.keys.filter { arrived[$0] == nil }
        guard !rest.isEmpty else { return }
        guard repair.tries >= StoredRepair.maximumTries else {
            awaiting = .retry(now.advanced(by: StoredRepair.retryTime))
            return
        }
        var left = rest.filter { !repair.freed.contains($0) }
        let isAfresh = work?.isRestoring == true
        let postponed = left.filter { isAfresh || late.kinds.contains($0) }
        if !postponed.isEmpty, late.postpone(postponed, at: now) { left.removeAll(where: postponed.contains) }
        // PipeWire may have restored it without a notice: see ``StoredRepair``. Streams that begin with our value are
        // undone as echoes.
        for name in left {
            problem(
                "the audio server did not confirm that it restored the stored volume of \(name): Ringwake corrects "
                    + "each new stream that begins with a call's volume")
        }
        free(rest.filter { !late.isWaiting($0) })
    }
}
