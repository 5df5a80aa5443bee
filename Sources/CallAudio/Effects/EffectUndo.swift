/// Takes effects back: each only where the server still has what we set.
struct EffectUndo {
    let image: AudioServerImage
    let unconfirmed: Set<EffectTarget>
    let refused: Set<EffectTarget>
    /// What is not there yet may still come; else it is given up, and stays as it is.
    let isPatient: Bool
    /// The effects are of another run of this program, which may have died between a refusal and its mending.
    let isMending: Bool

    func undo(_ record: AudioEffectRecord, _ changes: inout EffectChanges) {
        let target = record.target
        guard record.cookie == image.cookie || !target.isOfStream else {
            changes.ended[target] = .gone
            return
        }
        guard image.has(target) else {
            // A server that has just started shows its devices a moment later.
            if target.isOfStream || !isMending { changes.ended[target] = .gone } else { wait(for: target, &changes) }
            return
        }
        guard !record.isTaken else {
            changes.ended[target] = .left
            return
        }
        guard let current = image.value(of: target) else {
            // A stream without a device, a card without a profile: it shows nothing to compare, for a moment.
            wait(for: target, &changes)
            return
        }
        guard isOurs(current, record) else {
            changes.ended[target] = current.isSame(as: record.before) ? .back : .left
            return
        }
        guard !current.isSame(as: record.before) || unconfirmed.contains(target) else {
            changes.ended[target] = .back
            return
        }
        guard image.canTake(record.before, for: target), let command = record.command(setting: record.before) else {
            wait(for: target, &changes)
            return
        }
        changes.steps.append(.init(target: target, value: record.before, command: command, isUndo: true))
    }

    private func wait(for target: EffectTarget, _ changes: inout EffectChanges) {
        if isPatient { changes.isWaiting = true } else { changes.ended[target] = .left }
    }

    private func isOurs(_ current: EffectValue, _ record: AudioEffectRecord) -> Bool {
        if current.isSame(as: record.set) || unconfirmed.contains(record.target) { return true }
        switch record.target {
        case .profile:
            // PulseAudio switches a card off when it refuses a profile.
            return current == .name("off") && record.before != .name("off")
                && (isMending || refused.contains(record.target))
        case .playingDevice, .recordingDevice:
            // The device that we moved it to is gone, so the server put it elsewhere.
            return !image.canTake(record.set, for: record.target)
        default: return false
        }
    }
}
