internal import RingwakeCore
internal import RunLoop

/// From a request to its answer.
extension AudioEngine {
    func apply(_ number: UInt64, _ plan: AudioPlan, resumes: Bool) {
        var numbers = [number]
        var resumes = resumes
        if case .apply(let earlier, _, let earlierResumes) = queue.last?.kind {
            // It was never begun: the newer plan takes its place, and frees what it would have freed.
            numbers = earlier + numbers
            resumes = resumes || earlierResumes
            queue.removeLast()
        }
        let work = EngineWork(.apply(numbers: numbers, plan, resumes: resumes), since: runLoop.refreshNow())
        guard image != nil else {
            guard plan.isEmpty else {
                return refuse(work, AudioSessionError(.mediaServicesFailed, "no audio server is connected"))
            }
            // Nothing is in force without a server, and nothing is wanted.
            return tell(.applied(number: number, AudioApplied(route: AudioRoute())))
        }
        guard queue.count < Self.maximumQueue else {
            return refuse(work, AudioSessionError(.unspecified, "too many requests wait for the audio server"))
        }
        enqueue(work)
    }

    func enqueue(_ work: EngineWork) {
        queue.append(work)
        advance()
    }

    func refuse(_ work: EngineWork, _ error: AudioSessionError) {
        for number in work.numbers { tell(.refused(number: number, error)) }
    }

    /// Goes on with what is under way, or begins what is next, until something has to be waited for.
    func advance() {
        while !isAwaiting, image != nil {
            if work == nil {
                guard !queue.isEmpty else { return }
                begin(queue.removeFirst())
            }
            guard step() else { return }
        }
    }

    private func begin(_ next: EngineWork) {
        var next = next
        next.former = plan
        next.formerWishes = wishes
        next.formerBusy = busy
        switch next.kind {
        case .apply(_, let plan, _):
            adopt(plan, &next)
        case .close, .mend:
            plan = AudioPlan()
            endPlayerHand()
            microphoneHand.forget()
            busy = BusyStreams()
        case .prepare, .upkeep: break
        }
        work = next
    }

    private func adopt(_ new: AudioPlan, _ work: inout EngineWork) {
        refused = []
        if !new.interrupts { endPlayerHand() }
        if new.isEmpty, !new.isCallWaiting { microphoneHand.forget() }
        if new.sessions.first?.id != plan.sessions.first?.id { wishes.arrived = [] }
        if new.isEmpty {
            let chosen = wishes.isByHand ? nil : wishes.chosen
            wishes = RouteWishes()
            wishes.chosen = chosen
        }
        let wasForced = plan.sessions.first?.isSpeakerForced ?? false
        if !wasForced, new.sessions.first?.isSpeakerForced ?? false {
            // The last one who asks wins.
            wishes.isSpeakerOver = false
            wishes.isSpeakerNewer = true
        }
        work.busySessions = silenceBusyStreams(new)
        plan = new
    }

    /// Streams that run on though their session leaves are silent from now on.
    private func silenceBusyStreams(_ new: AudioPlan) -> Set<AudioSessionID> {
        guard let image else { return [] }
        let leaving = plan.sessions.filter { session in !new.sessions.contains { $0.id == session.id } }
        var former = AudioPlan()
        former.sessions = leaving
        let before = StreamOwnership(plan: former, tree: tree)
        let after = StreamOwnership(plan: new, tree: tree)
        var sessions: Set<AudioSessionID> = []
        func owner(_ stream: AudioServerImage.Stream) -> AudioSessionID? {
            guard stream.isRunning, case .sessions(let owners) = before.owner(of: stream), let first = owners.first
            else { return nil }
            if case .sessions = after.owner(of: stream) { return nil }
            sessions.formUnion(owners.map(\.id))
            return first.id
        }
        for stream in image.playing.values {
            if let id = owner(stream) { busy.playing[stream.index] = id }
        }
        for stream in image.recording.values {
            if let id = owner(stream) { busy.recording[stream.index] = id }
        }
        busy.playing = busy.playing.filter { image.playing[$0.key] != nil }
        busy.recording = busy.recording.filter { image.recording[$0.key] != nil }
        return sessions
    }

    // MARK: - One step

    /// - Returns: False when it has to be waited: for an answer, a device, or anything to do at all.
    private func step() -> Bool {
        guard let image, var work else { return false }
        if case .prepare(let plan) = work.kind { return prepare(plan, image) }
        if takeBackEchoes(image) {
            // What the server stores of their kinds is looked at again when they have been given back.
            work.isMended = false
            self.work = work
        }
        if asksPlayers(work) {
            work.havePlayersBeenAsked = true
            self.work = work
            pausePlayers()
            return false
        }
        let route = decide()
        if work.refusal == nil, !work.numbers.isEmpty, let error = lack(of: route) {
            rollBack(&work, error)
            self.work = work
            return true
        }
        let changes = planner(plan, route, image, work).changes()
        if changes.steps.contains(where: \.isUndo), !work.isFresh {
            // What the user changed a moment ago is not to be overwritten because it has not been seen yet.
            work.isFresh = true
            self.work = work
            look()
            return false
        }
        if !changes.isEmpty {
            guard work.passes < EngineWork.maximumPasses else {
                tell(
                    .problem(
                        "the audio server does not become as it is asked to be: \(changes.steps.count) changes left"))
                return settle()
            }
            return carryOut(changes, image)
        }
        if changes.isWaiting {
            if work.isPatient { return wait() }
            if let card = route.profile?.card, route.isProvisional {
                tell(.problem("\(card) does not become a headset in time: the call goes on without it"))
                wishes.refusedCards.insert(card)
                return true
            }
        }
        return settle()
    }

    func planner(
        _ plan: AudioPlan, _ route: RouteDecision, _ image: AudioServerImage, _ work: EngineWork
    ) -> EffectPlanner {
        EffectPlanner(
            image: image, plan: plan, route: route, ledger: ledger, tree: tree, busy: busy, refused: refused,
            unconfirmed: unconfirmed, settled: settled, released: roleCork.released,
            microphonesMuted: microphoneHand.muted, yielding: playerHand.yielding,
            others: { [weak self] in self?.otherLedgers ?? [] }, isPatient: work.isPatient, isMending: work.isMending)
    }

    /// What the session needs and cannot have.
    private func lack(of route: RouteDecision) -> AudioSessionError? {
        guard let first = plan.sessions.first, !route.isProvisional else { return nil }
        let category = first.configuration.category
        if category.hasOutput, route.output == nil {
            return AudioSessionError(.resourceNotAvailable, "the audio server has no output: connect one")
        }
        if category.hasInput, route.input == nil {
            let code: AudioSessionError.Code = category == .record ? .cannotStartRecording : .resourceNotAvailable
            return AudioSessionError(code, "the audio server has no microphone: connect one")
        }
        return nil
    }

    private func rollBack(_ work: inout EngineWork, _ error: AudioSessionError) {
        work.refusal = error
        plan = work.former
        wishes = work.formerWishes
        busy = work.formerBusy
    }

    private func wait() -> Bool {
        guard patience == nil else { return false }
        let deadline = runLoop.refreshNow().advanced(by: EngineWork.patience)
        patience = runLoop.schedule(at: deadline, tolerance: .milliseconds(50)) { [weak self] in
            guard let self else { return }
            patience = nil
            work?.isPatient = false
            advance()
        }
        return false
    }

    // MARK: - The end of a work

    /// Everything on the server is as it is to be: its memory is mended, players play again, and it is answered.
    private func settle() -> Bool {
        guard var work else { return false }
        patience.map(runLoop.cancel)
        patience = nil
        if !work.isMended {
            work.isMended = true
            self.work = work
            if mendKinds() { return false }
        }
        if !ledger.players.isEmpty, !plan.interrupts {
            let paused = ledger.players
            ledger.players = []
            players.watch([])
            if work.resumes, ledger.boot == EffectLedger.presentBoot {
                return resume(paused)
            }
        }
        finish()
        return true
    }

    private func resume(_ paused: [MediaPlayer]) -> Bool {
        ask { engine, done in
            engine.players.resume(paused) { count in
                done {
                    engine.work?.undone += count
                    engine.work?.left += paused.count - count
                }
            }
        }
        return false
    }

    private func finish() {
        guard let work else { return }
        self.work = nil
        if !isClean, case .close = work.kind {
            tell(.problem("\(ledger.count) effects could not be undone"))
        }
        let decision = decide()
        if let image { settled = planner(plan, decision, image, work).settling }
        switch work.kind {
        case .apply: answer(work, decision.route)
        case .mend: introduce(mended: work.undone)
        case .upkeep(let reason): observeRoute(decision, reason)
        case .prepare, .close: break
        }
        for number in work.choices { tell(.outputChosen(number: number, isKnown: true)) }
        remember(decision)
        observe()
        if work.numbers.isEmpty, work.passes == 0, !work.isMending { return endClosing(work) }
        // The answer does not wait for the disk: what is written now only says that less is to be undone.
        runLoop.enqueue { [weak self] in self?.tidyJournal() }
        endClosing(work)
        // What came meanwhile has been seen by now.
        if !echoes.isEmpty, queue.isEmpty { runLoop.enqueue { [weak self] in self?.lookForEchoes() } }
    }

    private func tidyJournal() {
        // What is under way writes its own.
        if work == nil { writeJournal(ledger) }
    }

    private func lookForEchoes() {
        if work == nil, queue.isEmpty, image != nil { keepUp() }
    }

    private func endClosing(_ work: EngineWork) {
        if case .close = work.kind { runLoop.enqueue { [self] in finishClosing() } }
    }

    private func answer(_ work: EngineWork, _ route: AudioRoute) {
        if let refusal = work.refusal { return refuse(work, refusal) }
        observation.route = route
        let time = work.since.duration(to: runLoop.refreshNow())
        let microseconds = time.components.seconds * 1_000_000 + time.components.attoseconds / 1_000_000_000_000
        let applied = AudioApplied(
            route: route, busy: work.busySessions, inForce: ledger.count, made: work.made, undone: work.undone,
            left: work.left, microseconds: microseconds)
        for number in work.numbers { tell(.applied(number: number, applied)) }
    }
}

extension AudioPlan {
    /// A session of it silences everybody else.
    var interrupts: Bool { sessions.contains { $0.others == .interrupt } }
}
