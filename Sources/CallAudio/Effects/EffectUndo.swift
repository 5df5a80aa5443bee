/// Undoes effects, each only if the server still has the value that we set.
struct EffectUndo {
    let image: AudioServerImage
    let unconfirmed: Set<EffectTarget>
    let refused: Set<EffectTarget>
    /// Whether to wait for what may still appear; else it is left as it is.
    let isPatient: Bool
    /// Whether the effects are from an earlier run, which may have ended between a refusal and its repair.
    let isRestoring: Bool

    func undo(_ record: AudioEffectRecord, _ changes: inout EffectChanges) {
        let target = record.target
        guard record.cookie == image.cookie || !target.isOfStream else {
            changes.ended[target] = .gone
            return
        }
        guard image.has(target) else {
            // A server that has just started shows its devices a moment later.
            if target.isOfStream || !isRestoring { changes.ended[target] = .gone } else { wait(for: target, &changes) }
            return
        }
        guard !record.isTaken else {
            changes.ended[target] = .left
            return
        }
        // A stream without a device, or a card without a profile, has nothing to compare for a moment.
        guard let current = image.value(of: target) else { return wait(for: target, &changes) }
        let isBefore = current.isSame(as: record.before)
        guard isOurs(current, record), !isBefore || unconfirmed.contains(target) else {
            changes.ended[target] = isBefore ? .back : .left
            return
        }
        guard image.canTake(record.before, for: target) else { return wait(for: target, &changes) }
        changes.steps.append(.init(target: target, value: record.before, isUndo: true))
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
                && (isRestoring || refused.contains(record.target))
        case .playingDevice, .recordingDevice:
            // The device that we moved it to is gone, so the server moved it elsewhere.
            return !image.canTake(record.set, for: record.target)
        default: return false
        }
    }
}
