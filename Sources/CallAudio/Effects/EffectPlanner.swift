internal import RingwakeCore

/// Computes the changes from the state in force to the wanted state (``EffectWants``). A value, without I/O.
struct EffectPlanner {
    let image: AudioServerImage
    let plan: AudioPlan
    let route: RouteDecision
    let ledger: EffectLedger
    let tree: ProcessTree
    var busy = BusyStreams()
    /// Targets that the server refused to change.
    var refused: Set<EffectTarget> = []
    /// Targets for which the image doesn't show our value yet.
    var unconfirmed: Set<EffectTarget> = []
    /// The wanted values when the server last had them all: somebody else made a change since then.
    var settled: [EffectTarget: EffectValue] = [:]
    /// Mutes that the server itself removed, and not the user.
    var released: Set<EffectTarget> = []
    /// Microphones that stay muted.
    var microphonesMuted: Set<String> = []
    /// Streams that record a monitor for want of a microphone.
    var strays: Set<UInt32> = []
    /// Processes whose streams aren't changed.
    var yielding: Set<Int32> = []
    /// Processes that have paused: their streams are muted only while they sound.
    var paused: Set<Int32> = []
    /// The effects of other programs like this one on the same server.
    var others: () -> [EffectLedger] = { [] }
    /// Whether to wait for what may still appear; else it is given up.
    var isPatient = true
    /// Whether the ledger is from an earlier run of this program.
    var isRestoring = false

    var ownership: StreamOwnership { StreamOwnership(plan: plan, yielding: yielding, tree: tree) }

    /// The changes to make now.
    func changes() -> EffectChanges {
        var changes = EffectChanges()
        let wants = EffectWants(self).all
        for (target, want) in wants.sorted(by: { $0.key < $1.key }) where !refused.contains(target) {
            if let record = ledger[target], record.cookie == image.cookie || !target.isOfStream {
                keep(record, want, &changes)
            } else {
                make(target, want, &changes)
            }
        }
        changes.taken = Set(ledger.records.values.filter(isTaken).map(\.target))
        let undo = EffectUndo(
            image: image, unconfirmed: unconfirmed, refused: refused, isPatient: isPatient, isRestoring: isRestoring)
        var kept: Set<String> = []
        for record in ledger.ordered where wants[record.target] == nil || refused.contains(record.target) {
            let isOfProfile = if case .profile = record.target { true } else { false }
            if isRemembered(record, &kept) || (route.isProvisional && !isOfProfile) { continue }
            undo.undo(record, &changes)
        }
        if route.isProvisional { changes.isWaiting = true }
        if isPatient { holdUndoing(&changes) }
        changes.steps.sort { $0.stage < $1.stage }
        return changes
    }

    /// The next ``settled``: devices, the devices of streams, and mutes of others' streams that somebody else had
    /// set. Other mutes are not included: a client that should be silent is muted again, whoever unmuted it.
    var settling: [EffectTarget: EffectValue] {
        var values: [EffectTarget: EffectValue] = [:]
        for (target, want) in EffectWants(self).all {
            guard case .exact(let value) = want.value else { continue }
            // It has, or had, the wanted value without us.
            let isSettled = ledger[target] == nil && (settled[target] == value || image.value(of: target) == value)
            if target.isOfDevice || (isUsersToUnmute(target) && isSettled) { values[target] = value }
        }
        return values
    }

    /// Whether it is the mute of others' stream, which a session silences while it is active.
    private func isUsersToUnmute(_ target: EffectTarget) -> Bool {
        guard case .playingMute(let index) = target, busy.playing[index] == nil, let stream = image.playing[index]
        else { return false }
        return ownership.owner(of: stream) == .others
    }

    /// While a card lacks the devices of its restored profile, nothing else is undone: unmuted sound would come from
    /// the loudspeaker.
    private func holdUndoing(_ changes: inout EffectChanges) {
        guard changes.steps.contains(where: { $0.isUndo && $0.stage == .profile }) || image.isDeviceComing else {
            return
        }
        let count = changes.steps.count
        changes.steps.removeAll { $0.isUndo && $0.stage > .profile }
        if changes.steps.count < count { changes.isWaiting = true }
    }

    private func keep(_ record: AudioEffectRecord, _ want: EffectWants.Want, _ changes: inout EffectChanges) {
        let target = record.target
        if record.owners != want.owners { changes.owners[target] = want.owners }
        var record = record
        record.owners = want.owners
        if released.contains(target), image.value(of: target)?.isSame(as: record.set) == false {
            record.isTaken = false
            return changes.make(record)
        }
        guard case .exact(let value) = want.value, !value.isSame(as: record.set),
            let current = image.value(of: target), image.canTake(value, for: target)
        else { return }
        // Keep the user's value. If a stream's device is gone, the server moved the stream, not the user.
        let isOurs = current.isSame(as: record.set) || !image.canTake(record.set, for: target)
        guard isOurs || unconfirmed.contains(target) else { return }
        record.set = value
        changes.make(record)
    }

    /// Whether somebody else changed a mute that we had set. A volume is compared when it is undone: nobody sets our
    /// value by chance, and it may differ for a moment while its stream is moved.
    private func isTaken(_ record: AudioEffectRecord) -> Bool {
        guard !record.isTaken, !unconfirmed.contains(record.target), case .muted(let isMuted) = record.set,
            record.cookie == image.cookie || !record.target.isOfStream,
            image.stream(of: record.target)?.isSettled ?? true
        else { return false }
        return image.value(of: record.target) == .muted(!isMuted)
    }

    private func make(_ target: EffectTarget, _ want: EffectWants.Want, _ changes: inout EffectChanges) {
        guard let current = image.value(of: target) else { return }
        let stream = image.stream(of: target)
        var record = AudioEffectRecord(
            target: target, before: current, set: current, owners: want.owners, cookie: image.cookie,
            restoreID: stream?.restoreID, channels: stream?.channels ?? [])
        if let before = inherited(target, current) {
            record.before = before
            return changes.made.append(record)
        }
        if let before = shared(target, current) {
            record.before = before
            if want.value == .ducked || want.value == .exact(current) { return changes.made.append(record) }
        }
        switch (want.value, current) {
        case (.exact(let value), _):
            let isUsers = target.isOfDevice || (isUsersToUnmute(target) && !released.contains(target))
            if isUsers, let known = settled[target], known.isSame(as: value) { return }
            record.set = value
        case (.ducked, .volume(let volume)): record.set = .volume(DuckingGain.ducked(volume))
        default: return
        }
        if !record.set.isSame(as: current), image.canTake(record.set, for: target) { changes.make(record) }
    }

    /// The kind's value before us, for a stream that began with a value that we had set for its kind.
    private func inherited(_ target: EffectTarget, _ current: EffectValue) -> EffectValue? {
        guard let kind = image.stream(of: target)?.restoreID, isYoung(target),
            let other = ledger.record(ofKind: kind, like: target)
        else { return nil }
        if case .name = current { return nil }
        if current.isSame(as: other.set) { return other.before }
        // With another number of channels, the server has spread the kind's volume over them.
        guard case .volume(let volume) = current, case .volume(let set) = other.set,
            case .volume(let old) = other.before,
            let level = set.max(), let oldLevel = old.max(), volume.count != set.count,
            volume.allSatisfy({ EffectValue.volume([$0]).isSame(as: .volume([level])) })
        else { return nil }
        return .volume(volume.map { _ in oldLevel })
    }

    /// The value from before another program changed it. The first program to finish restores it, and the other one
    /// finds it restored.
    private func shared(_ target: EffectTarget, _ current: EffectValue) -> EffectValue? {
        others().lazy.compactMap { $0[target] }.first {
            ($0.cookie == image.cookie || !target.isOfStream) && $0.set.isSame(as: current)
        }?.before
    }

    /// Whether the stream began after the first effect.
    private func isYoung(_ target: EffectTarget) -> Bool {
        guard let baseline = ledger.baseline, baseline.cookie == image.cookie else { return true }
        return baseline.isOlder(than: target)
    }

    /// Whether to keep a record after its stream has ended: one of each sort, while others have to be quiet. The next
    /// stream of the kind needs the kind's former value.
    private func isRemembered(_ record: AudioEffectRecord, _ kept: inout Set<String>) -> Bool {
        guard let playing = record.target.playing, !record.target.isOfDevice, let kind = record.restoreID,
            image.playing[playing] == nil, record.cookie == image.cookie,
            plan.sessions.contains(where: { $0.others != .leave })
        else { return false }
        return kept.insert("\(record.target.property)\u{0}\(kind)").inserted
    }
}
