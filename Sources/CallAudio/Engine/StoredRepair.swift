internal import RingwakeCore
internal import RunLoop

/// Repairs the stored values of kinds whose effects are all undone, and checks whether the repair has arrived.
///
///     read -> write -> (a server that lists its entries: done)
///                   -> read -> arrived: done
///                           -> after ``retryTime``, write and read again, ``maximumTries`` times; then give up,
///                              or begin again later (``LateRepairs``)
///
/// A server that lists its entries has an entry once it has acknowledged it. With another one, only its list and its
/// streams show whether the entry has arrived: PipeWire drops it while WirePlumber, which stores it, has not started
/// yet.
struct StoredRepair {
    typealias Kinds = [String: EffectLedger.KindRecord]

    /// The pause between two tries: PipeWire acknowledges before the program that stores has even started.
    static let retryTime = Duration.milliseconds(150)
    static let maximumTries = 8

    /// How often an entry was written and did not arrive.
    private(set) var tries = 0
    /// The newest streams at the first write.
    private var baseline: EffectLedger.Baseline?
    /// Kinds whose streams, when last seen, had begun after the write without a value of ours.
    private(set) var freed: Set<String> = []

    /// - Returns: The commands that are needed, and the kinds whose entry has arrived meanwhile.
    mutating func begin(
        _ kinds: Kinds, _ stored: [StoredStream], _ image: AudioServerImage
    ) -> (commands: [AudioServerCommand], arrived: Kinds) {
        let isAgain = baseline != nil
        let arrived = kinds.filter { isAgain && !$0.value.isListed && hasArrived($0.key, $0.value, stored, image) }
        let commands = kinds.sorted { $0.key < $1.key }.filter { arrived[$0.key] == nil }.flatMap { name, kind in
            kind.commands(name, stored: stored.first { $0.name == name }, isAgain: isAgain)
        }
        if !isAgain, !commands.isEmpty { baseline = EffectLedger.Baseline(of: image) }
        return (commands, arrived)
    }

    /// - Returns: The kinds whose entry has arrived.
    mutating func check(_ kinds: Kinds, _ stored: [StoredStream], _ image: AudioServerImage) -> Kinds {
        let arrived = kinds.filter { hasArrived($0.key, $0.value, stored, image) }
        for (name, kind) in kinds where arrived[name] == nil {
            // While streams come and go all the time, a client of PipeWire isn't notified of new entries. Then the
            // streams show whether the stored value is still ours.
            let begun = streamsBegun(name, image)
            guard !begun.isEmpty else { continue }
            if begun.contains(where: kind.hasMade) { freed.remove(name) } else { freed.insert(name) }
        }
        if arrived.count < kinds.count { tries += 1 }
        return arrived
    }

    /// The server lists the entry, or streams begin with it.
    private func hasArrived(
        _ name: String, _ kind: EffectLedger.KindRecord, _ stored: [StoredStream], _ image: AudioServerImage
    ) -> Bool {
        guard let entry = kind.blindEntry(name) else { return true }
        if stored.contains(where: entry.isSame) { return true }
        let begun = streamsBegun(name, image)
        return !begun.isEmpty && begun.allSatisfy { $0.isSame(as: entry) }
    }

    /// Streams of a kind that began after the first write, and long enough after it to have begun with the entry.
    private func streamsBegun(_ name: String, _ image: AudioServerImage) -> [AudioServerImage.Stream] {
        guard tries > 0, let baseline, baseline.cookie == image.cookie else { return [] }
        return
            (image.playing.values.filter { $0.index > baseline.playing }
            + image.recording.values.filter { $0.index > baseline.recording })
            .filter { $0.restoreID == name && $0.isSettled }
    }
}

/// Kinds that the server did not take back right after it came: the program that stores may start long after the one
/// that answers us. No event reports its start, so their repair begins again after growing pauses.
struct LateRepairs {
    private static let pauses: [Duration] = [1, 2, 4, 8, 16].map { .seconds($0) }

    private(set) var kinds: Set<String> = []
    /// When to begin again; nil: the repair is due or in progress.
    private(set) var deadline: BootClock.Instant?
    private var rounds = 0

    func isWaiting(_ kind: String) -> Bool { deadline != nil && kinds.contains(kind) }

    /// - Returns: Whether their repair begins again; else it has been tried often enough.
    mutating func postpone(_ names: some Sequence<String>, at now: BootClock.Instant) -> Bool {
        guard rounds < Self.pauses.count else { return false }
        kinds = Set(names)
        deadline = now.advanced(by: Self.pauses[rounds])
        rounds += 1
        return true
    }

    /// Begins again, without waiting any longer.
    mutating func beginAgain() { deadline = nil }
}
