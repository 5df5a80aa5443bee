internal import RingwakeCore

/// What the engine asks of the server, of the players and of the disk.
extension AudioEngine {
    /// Does something that is answered later, and goes on then; an answer that outlives its connection is dropped.
    func ask(_ question: (AudioEngine, _ done: @escaping (() -> Void) -> Void) -> Void) {
        let connection = connection
        isAwaiting = true
        question(self) { [weak self] take in
            guard let self, self.connection == connection else { return }
            isAwaiting = false
            image = server.image ?? image
            // It may show what another program has written down since it was looked at.
            work?.others = nil
            take()
            advance()
        }
    }

    func writeJournal(_ ledger: EffectLedger) {
        _ = isWritten(ledger)
    }

    func isWritten(_ ledger: EffectLedger) -> Bool {
        do throws(EffectJournalError) {
            try journal.write(ledger)
            return true
        } catch {
            tell(.problem(error.description))
            return false
        }
    }

    // MARK: - Effects

    /// - Returns: Whether to go on at once: nothing has to be waited for.
    func carryOut(_ changes: EffectChanges, _ image: AudioServerImage) -> Bool {
        let kinds = Set(changes.made.compactMap(\.restoreID)).subtracting(ledger.kinds.keys)
        if !kinds.isEmpty {
            guard let stored = work?.stored else {
                askStored()
                return false
            }
            for kind in kinds { ledger.kinds[kind] = kindRecord(kind, stored, image) }
        }
        work?.passes += 1
        end(changes.ended)
        for (target, owners) in changes.owners { ledger.setOwners(owners, of: target) }
        for target in changes.taken { ledger.leave(target) }
        let before = ledger
        for record in changes.made { ledger.insert(record, in: image) }
        guard journal.covers(ledger) || isWritten(ledger) else {
            // What could not be undone after a crash is not done.
            ledger = before
            refused.formUnion(changes.made.map(\.target))
            return true
        }
        guard !changes.steps.isEmpty else { return true }
        let steps = changes.steps
        for step in steps { microphoneHand.ask(step) }
        ask { engine, done in
            engine.server.perform(steps.map(\.command)) { failures in
                done { engine.take(failures, of: steps) }
            }
        }
        return false
    }

    private func end(_ ended: [EffectTarget: EffectChanges.Ending]) {
        for (target, ending) in ended {
            guard let record = ledger[target] else { continue }
            switch ending {
            case .back: break
            case .left:
                work?.left += 1
                if let image { ledger.release(target, in: image) }
            case .gone where record.restoreID != nil:
                if record.isTaken { work?.left += 1 } else { work?.undone += 1 }
                bury(target)
                continue
            case .gone: if !target.isOfStream { work?.left += 1 }
            }
            forget(target)
        }
    }

    private func bury(_ target: EffectTarget) {
        ledger.bury(target)
        unconfirmed.remove(target)
    }

    private func forget(_ target: EffectTarget) {
        ledger.remove(target)
        unconfirmed.remove(target)
    }

    private func take(_ failures: [AudioServerFailure?], of steps: [EffectChanges.Step]) {
        for (index, step) in steps.enumerated() {
            let failure = index < failures.count ? failures[index] : nil
            if failure != nil { microphoneHand.fail(step) }
            switch (failure?.kind, step.isUndo) {
            case (nil, true):
                work?.undone += 1
                work?.givenBack.insert(step.target)
                forget(step.target)
            case (nil, false):
                work?.made += 1
                if image?.value(of: step.target)?.isSame(as: step.value) != true { unconfirmed.insert(step.target) }
            case (.notFound, _): bury(step.target)
            case (.refused, false): refuse(step, failure?.message ?? "")
            case (.refused, true):
                tell(.problem("the audio server does not take \(step.target) back: \(failure?.message ?? "")"))
                work?.left += 1
                forget(step.target)
            case (.lost, _): break
            }
        }
    }

    /// The record stays: what the refusal has left of the target is looked at next.
    private func refuse(_ step: EffectChanges.Step, _ why: String) {
        tell(.problem("the audio server refuses \(step.target): \(why)"))
        refused.insert(step.target)
        if case .profile(let card) = step.target { wishes.refusedCards.insert(card) }
    }

    /// What other programs wrote down: each before its first command, so whatever the server shows of theirs is there.
    var otherLedgers: [EffectLedger] {
        if let others = work?.others { return others }
        let registered = (journal.registry?.journals ?? []).filter { $0 != journal.place && !siblings.contains($0) }
        let others = (siblings + registered).compactMap { path -> EffectLedger? in
            guard case .ledger(let ledger) = try? EffectJournal.contents(of: path) else { return nil }
            return ledger
        }
        work?.others = others
        return others
    }

    // MARK: - Beforehand

    /// Writes down what a plan would change, so that carrying it out need not wait for the disk.
    func prepare(_ plan: AudioPlan, _ image: AudioServerImage) -> Bool {
        guard var work else { return false }
        if plan.interrupts, !work.havePlayersBeenAsked {
            work.havePlayersBeenAsked = true
            self.work = work
            ask { engine, done in
                engine.players.playing { found in done { engine.work?.players = found } }
            }
            return false
        }
        guard let stored = work.stored else {
            askStored()
            return false
        }
        let route = RoutePlanner(image: image, session: plan.sessions.first, wishes: wishes).decision
        let changes = planner(plan, route, image, work).changes()
        var expected = ledger
        for kind in Set(changes.made.compactMap(\.restoreID)).subtracting(ledger.kinds.keys) {
            expected.kinds[kind] = kindRecord(kind, stored, image)
        }
        for record in changes.made { expected.insert(record, in: image) }
        expected.players += work.players.filter { !expected.players.contains($0) }
        expected.boot = EffectLedger.presentBoot
        if !journal.covers(expected) { writeJournal(expected) }
        self.work = nil
        return true
    }
}
