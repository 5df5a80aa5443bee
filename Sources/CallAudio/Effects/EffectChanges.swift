internal import RingwakeCore

/// The difference between the wanted state and the state in force.
struct EffectChanges: Hashable, Sendable {
    /// Records that must be in the ledger, and in the journal on the disk, before the commands are sent.
    var made: [AudioEffectRecord] = []
    /// The commands, in the order in which the server has to execute them.
    var steps: [Step] = []
    /// Records that end without a command: the user's value stays, the stream is gone, the old value is there again.
    var ended: [EffectTarget: Ending] = [:]
    var owners: [EffectTarget: Set<AudioSessionID>] = [:]
    /// Mutes that the user changed.
    var taken: Set<EffectTarget> = []
    /// Whether something can't be done or undone before the server has shown more.
    var isWaiting = false

    struct Step: Hashable, Sendable {
        var target: EffectTarget
        var value: EffectValue
        var isUndo: Bool

        var command: AudioServerCommand { .set(target, value) }
        var stage: EffectStage { EffectStage(target, value) }
    }

    enum Ending: Hashable, Sendable {
        /// The old value was there already.
        case back
        /// The user changed it meanwhile.
        case left
        /// The stream or the device is gone.
        case gone
    }

    var isEmpty: Bool { made.isEmpty && steps.isEmpty && ended.isEmpty && owners.isEmpty && taken.isEmpty }

    mutating func make(_ record: AudioEffectRecord) {
        made.append(record)
        steps.append(Step(target: record.target, value: record.set, isUndo: false))
    }
}
