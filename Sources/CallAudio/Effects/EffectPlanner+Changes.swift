package import RingwakeCore

/// The difference between what is wanted and what is in force.
package struct EffectChanges: Hashable, Sendable {
    /// To be in the ledger, and in the journal on disk, before ``commands`` leave.
    package var made: [AudioEffectRecord] = []
    /// Commands with the targets that they are for, in the order in which the server is to do them.
    package var steps: [Step] = []
    /// Records that need no command to end: the user's value stays, the stream is gone, the value is there again.
    package var ended: [EffectTarget: Ending] = [:]
    package var owners: [EffectTarget: Set<AudioSessionID>] = [:]
    /// Mutes that the user changed.
    package var taken: Set<EffectTarget> = []
    /// Something cannot be done or undone before the server has shown more.
    package var isWaiting = false

    package struct Step: Hashable, Sendable {
        package var target: EffectTarget
        package var value: EffectValue
        package var command: AudioServerCommand
        package var isUndo: Bool
    }

    package enum Ending: Hashable, Sendable {
        /// It was as before already.
        case back
        /// The user changed it meanwhile.
        case left
        /// The stream or the device is gone.
        case gone
    }

    package var isEmpty: Bool { made.isEmpty && steps.isEmpty && ended.isEmpty && owners.isEmpty && taken.isEmpty }
}

extension EffectPlanner {
    /// What to do now.
    package func changes() -> EffectChanges {
        var changes = EffectChanges()
        let wants = wants.filter { !refused.contains($0.key) }
        for (target, want) in wants.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            if let record = ledger[target], record.cookie == image.cookie || !target.isOfStream {
                keep(record, want, &changes)
            } else {
                make(target, want, &changes)
            }
        }
        changes.taken = Set(ledger.records.values.filter(isTaken).map(\.target))
        var kept: Set<String> = []
        for record in ledger.records.values.sorted(by: { $0.order < $1.order }) where wants[record.target] == nil {
            if isRemembered(record, &kept) || (route.isProvisional && !record.isOfProfile) { continue }
            EffectUndo(
                image: image, unconfirmed: unconfirmed, refused: refused, isPatient: isPatient, isMending: isMending
            )
            .undo(record, &changes)
        }
        if route.isProvisional { changes.isWaiting = true }
        if isPatient { holdUndoing(&changes) }
        changes.steps.sort { EffectStage($0.target, $0.value) < EffectStage($1.target, $1.value) }
        return changes
    }

    /// Until a card has the devices of the profile that it was given back, nothing else is undone: what is heard again
    /// would come from the loudspeaker.
    private func holdUndoing(_ changes: inout EffectChanges) {
        let isSwitched = changes.steps.contains { $0.isUndo && EffectStage($0.target, $0.value) == .profile }
        guard isSwitched || image.isDeviceComing else { return }
        let count = changes.steps.count
        changes.steps.removeAll { $0.isUndo && EffectStage($0.target, $0.value) > .profile }
        if changes.steps.count < count { changes.isWaiting = true }
    }

    private func keep(_ record: AudioEffectRecord, _ want: Want, _ changes: inout EffectChanges) {
        let target = record.target
        if record.owners != want.owners { changes.owners[target] = want.owners }
        if released.contains(target), image.value(of: target)?.isSame(as: record.set) == false {
            var record = record
            record.isTaken = false
            record.owners = want.owners
            return append(record, &changes)
        }
        guard case .exact(let value) = want.value, !value.isSame(as: record.set),
            let current = image.value(of: target), image.canTake(value, for: target)
        else { return }
        // The user's value stays. A stream whose device went was put elsewhere by the server, not by the user.
        let isOurs = current.isSame(as: record.set) || !image.canTake(record.set, for: target)
        guard isOurs || unconfirmed.contains(target) else { return }
        var record = record
        record.set = value
        record.owners = want.owners
        append(record, &changes)
    }

    /// Somebody else changed a mute that we had set. A volume is compared when it is undone: nobody hits our value again by
    /// chance, and it may show something else for a moment while a stream is moved.
    private func isTaken(_ record: AudioEffectRecord) -> Bool {
        guard !record.isTaken, !unconfirmed.contains(record.target), case .muted(let isMuted) = record.set,
            record.cookie == image.cookie || !record.target.isOfStream,
            image.stream(of: record.target)?.isSettled ?? true
        else { return false }
        return image.value(of: record.target) == .muted(!isMuted)
    }

    private func make(_ target: EffectTarget, _ want: Want, _ changes: inout EffectChanges) {
        guard let current = image.value(of: target) else { return }
        let stream = image.stream(of: target)
        var record = AudioEffectRecord(
            target: target, before: current, set: current, owners: want.owners, cookie: image.cookie,
            restoreID: stream?.restoreID, channels: stream?.channels ?? [])
        if let before = inherited(target, current) {
            record.before = before
            changes.made.append(record)
            return
        }
        if let before = shared(target, current) {
            record.before = before
            if want.value == .ducked || want.value == .exact(current) {
                changes.made.append(record)
                return
            }
        }
        switch (want.value, current) {
        case (.exact(let value), _):
            let isUsers = target.isOfDevice || (isUsersToUnmute(target) && !released.contains(target))
            if isUsers, let known = settled[target], known.isSame(as: value) { return }
            record.set = value
        case (.ducked, .volume(let volume)): record.set = .volume(DuckingGain.ducked(volume))
        default: return
        }
        guard !record.set.isSame(as: current), image.canTake(record.set, for: target) else { return }
        append(record, &changes)
    }

    private func append(_ record: AudioEffectRecord, _ changes: inout EffectChanges) {
        guard let command = record.command(setting: record.set) else { return }
        changes.made.append(record)
        changes.steps.append(.init(target: record.target, value: record.set, command: command, isUndo: false))
    }

    /// What a stream's kind had before us, where the stream began with what we had set for its kind.
    private func inherited(_ target: EffectTarget, _ current: EffectValue) -> EffectValue? {
        guard let kind = image.stream(of: target)?.restoreID, isYoung(target),
            let other = ledger.record(ofKind: kind, where: { $0.isSameSort(as: target) })
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

    /// What was there before another program made it as it is: whoever is done first puts that back, and the other one
    /// finds it so.
    private func shared(_ target: EffectTarget, _ current: EffectValue) -> EffectValue? {
        for other in others() {
            guard let record = other[target], record.cookie == image.cookie || !target.isOfStream,
                record.set.isSame(as: current)
            else { continue }
            return record.before
        }
        return nil
    }

    /// The stream began after the first effect.
    private func isYoung(_ target: EffectTarget) -> Bool {
        guard let baseline = ledger.baseline, baseline.cookie == image.cookie else { return true }
        if let playing = target.playing { return playing > baseline.playing }
        return target.recording.map { $0 > baseline.recording } ?? false
    }

    /// Of a stream that ended while others are to be quiet: what its kind had before is needed for the next one of it, so
    /// one of each sort stays.
    private func isRemembered(_ record: AudioEffectRecord, _ kept: inout Set<String>) -> Bool {
        guard let playing = record.target.playing, let kind = record.restoreID, image.playing[playing] == nil,
            record.cookie == image.cookie, plan.sessions.contains(where: { $0.others != .leave })
        else { return false }
        switch record.target {
        case .playingVolume: return kept.insert("volume\u{0}\(kind)").inserted
        case .playingMute: return kept.insert("mute\u{0}\(kind)").inserted
        default: return false
        }
    }
}

extension AudioEffectRecord {
    var isOfProfile: Bool {
        if case .profile = target { return true }
        return false
    }
}

extension EffectTarget {
    func isSameSort(as other: EffectTarget) -> Bool {
        switch (self, other) {
        case (.playingVolume, .playingVolume), (.playingMute, .playingMute), (.playingDevice, .playingDevice),
            (.recordingMute, .recordingMute), (.recordingDevice, .recordingDevice):
            true
        default: false
        }
    }
}
