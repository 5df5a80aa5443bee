internal import RingwakeCore
internal import RunLoop

/// The effects in force that this program made: the ledger, and the server's answers to each step.
struct EffectsInForce {
    var ledger: EffectLedger
    /// Targets that the server refused to change for this plan.
    var refused: Set<EffectTarget> = []
    /// Targets for which the image doesn't show our value yet.
    private(set) var unconfirmed: Set<EffectTarget> = []
    /// ``EffectPlanner/settling`` when the server last had all wanted values.
    var settled: [EffectTarget: EffectValue] = [:]
    private(set) var echoes = EffectEchoes()

    init(_ ledger: EffectLedger) { self.ledger = ledger }

    /// - Returns: Whether the user changed something that the journal has to know.
    mutating func see(_ image: AudioServerImage?, after former: AudioServerImage) -> Bool {
        let before = ledger
        ledger.noticeEnds(from: former, to: image, but: unconfirmed)
        if let image { ledger.noticeMutes(from: former, to: image) }
        return ledger != before
    }

    /// The server reported a change: the values that it shows now are confirmed.
    mutating func confirm(_ image: AudioServerImage) {
        unconfirmed = unconfirmed.filter { target in
            guard let record = ledger[target], let value = image.value(of: target) else { return true }
            return !value.isSame(as: record.set)
        }
    }

    /// Adopts what an earlier run, or an earlier connection, left. Streams of another instance of the server are
    /// gone, but its stored values still exist, and streams may have begun with them.
    /// - Returns: Number of effects that this ended.
    mutating func takeOver(_ image: AudioServerImage) -> Int {
        let (baseline, records) = (ledger.baseline, ledger.ordered)
        ledger.readMutes(image)
        let count = ledger.buryStreams(notOf: image)
        ledger.adopt(records, image) { baseline?.cookie != image.cookie || baseline?.isOlder(than: $0) == true }
        return count
    }

    /// - Returns: Whether streams were found that began with our value before it was undone.
    mutating func takeBackEchoes(_ image: AudioServerImage, at now: BootClock.Instant) -> Bool {
        echoes.takeBack(&ledger, image, at: now)
    }

    /// Kinds that get their first effect by these changes.
    func newKinds(_ changes: EffectChanges) -> Set<String> {
        Set(changes.made.compactMap(\.restoreID)).subtracting(ledger.kinds.keys)
    }

    /// Kinds without an effect, whose stored value has to be repaired.
    var freeKinds: StoredRepair.Kinds {
        let inForce = Set(ledger.records.values.compactMap(\.restoreID))
        return ledger.kinds.filter { !inForce.contains($0.key) }
    }

    /// Removes a kind that needs no more repair.
    mutating func free(
        _ name: String, _ image: AudioServerImage, givenBack: Set<EffectTarget>, at now: BootClock.Instant
    ) {
        guard let kind = ledger.kinds.removeValue(forKey: name) else { return }
        echoes.add(name, kind, ledger: ledger, image, givenBack: givenBack, at: now)
    }

    /// Records changes before their commands are sent.
    mutating func enter(_ changes: EffectChanges, _ image: AudioServerImage, _ work: inout EngineWork) {
        for (target, ending) in changes.ended { end(target, ending, image, &work) }
        for (target, owners) in changes.owners { ledger.setOwners(owners, of: target) }
        for target in changes.taken { ledger.leave(target) }
        for record in changes.made { ledger.insert(record, in: image) }
    }

    /// Drops changes that the journal can't store: a change that could not be undone after a crash isn't made.
    mutating func withdraw(_ changes: EffectChanges, to ledger: EffectLedger) {
        self.ledger = ledger
        refused.formUnion(changes.made.map(\.target))
    }

    private mutating func end(
        _ target: EffectTarget, _ ending: EffectChanges.Ending, _ image: AudioServerImage, _ work: inout EngineWork
    ) {
        guard let record = ledger[target] else { return }
        switch ending {
        case .back: break
        case .left:
            work.left += 1
            ledger.release(target, in: image)
        case .gone where record.restoreID != nil:
            if record.isTaken { work.left += 1 } else { work.undone += 1 }
            ledger.bury(target)
        case .gone: if !target.isOfStream { work.left += 1 }
        }
        remove(target)
    }

    /// Handles the server's answer to a step.
    /// - Returns: Why it failed, for a person.
    mutating func take(
        _ failure: AudioServerFailure?, of step: EffectChanges.Step, _ image: AudioServerImage, _ work: inout EngineWork
    ) -> String? {
        let target = step.target
        switch (failure?.kind, step.isUndo) {
        case (nil, true):
            work.undone += 1
            work.givenBack.insert(target)
            remove(target)
        case (nil, false):
            work.made += 1
            if image.value(of: target)?.isSame(as: step.value) != true { unconfirmed.insert(target) }
        case (.notFound, _):
            ledger.bury(target)
            remove(target)
        case (.refused, false):
            // Keep the record: the next pass checks what the refusal has left of the target.
            refused.insert(target)
            return "the audio server refuses \(target): \(failure?.description ?? "")"
        case (.refused, true):
            work.left += 1
            remove(target)
            return "the audio server does not take \(target) back: \(failure?.description ?? "")"
        case (.lost, _): break
        }
        return nil
    }

    private mutating func remove(_ target: EffectTarget) {
        ledger.remove(target)
        unconfirmed.remove(target)
    }
}
