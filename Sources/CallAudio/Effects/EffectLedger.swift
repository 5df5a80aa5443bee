internal import FileSystem
internal import RingwakeCore

/// All effects in force that this program made: the contents of the journal.
struct EffectLedger: Hashable, Sendable, Codable {
    /// Each changed target, once.
    private(set) var records: [EffectTarget: AudioEffectRecord] = [:]
    /// The server's stored values for each kind of streams, from before our first effect on one of them.
    var kinds: [String: KindRecord] = [:]
    /// Players that were ordered to pause.
    private(set) var players: [MediaPlayer] = []
    /// Those of them that were seen paused.
    private(set) var pausedPlayers: Set<MediaPlayer> = []
    /// The boot in which players were paused: no player survives a reboot.
    var boot: String?
    /// The newest streams before the first effect. Younger streams may have begun with a value that we set for their
    /// kind.
    private(set) var baseline: Baseline?

    struct Baseline: Hashable, Sendable, Codable {
        var cookie: UInt32
        var playing: UInt32
        var recording: UInt32

        init(of image: AudioServerImage) {
            cookie = image.cookie
            playing = image.playing.keys.max() ?? 0
            recording = image.recording.keys.max() ?? 0
        }

        /// Whether the stream of this target began after the baseline was taken.
        func isOlder(than target: EffectTarget) -> Bool {
            target.playing.map { $0 > playing } ?? target.recording.map { $0 > recording } ?? false
        }
    }

    init() {}

    var isEmpty: Bool { records.isEmpty && players.isEmpty && kinds.isEmpty }
    /// Number of effects to undo. Where all streams of a kind have ended, its stored value is one.
    var count: Int {
        let kindsOfRecords = Set(records.values.compactMap(\.restoreID))
        return records.count + players.count + kinds.keys.count { !kindsOfRecords.contains($0) }
    }
    /// The records in a fixed order.
    var ordered: [AudioEffectRecord] { records.values.sorted { $0.order < $1.order } }

    /// Processes of players that were seen paused.
    var pausedProcesses: Set<Int32> { Set(pausedPlayers.compactMap(\.process)) }

    subscript(_ target: EffectTarget) -> AudioEffectRecord? { records[target] }

    mutating func insert(_ record: AudioEffectRecord, in image: AudioServerImage) {
        if baseline == nil || records.isEmpty { baseline = Baseline(of: image) }
        records[record.target] = record
        guard let kind = record.restoreID else { return }
        kinds[kind]?.remember(record)
        let defaultDevice: String?
        switch record.target {
        case .playingDevice: defaultDevice = image.defaultSink
        case .recordingDevice: defaultDevice = image.defaultSource
        default: return
        }
        if let name = defaultDevice.map(EffectValue.name), [record.before, record.set].contains(name) {
            kinds[kind]?.note(.noDevice)
        }
    }

    /// Removes a record whose stream ended with our value. When the kind has no effect left, its former stored value
    /// is restored.
    mutating func bury(_ target: EffectTarget) {
        guard let record = records.removeValue(forKey: target), let kind = record.restoreID else { return }
        kinds[kind]?.bury(record)
    }

    mutating func remove(_ target: EffectTarget) { records[target] = nil }

    mutating func addPlayers(_ more: [MediaPlayer], boot: String?) {
        players += more
        self.boot = boot
    }

    mutating func notePaused(_ player: MediaPlayer) { pausedPlayers.insert(player) }

    mutating func removePlayers(where isOver: (MediaPlayer) -> Bool) {
        players.removeAll(where: isOver)
        pausedPlayers.formIntersection(players)
    }

    mutating func setOwners(_ owners: Set<AudioSessionID>, of target: EffectTarget) {
        records[target]?.owners = owners
    }

    /// Marks an effect that the user changed: it isn't undone.
    mutating func leave(_ target: EffectTarget) { leave(target, isNow: true) }

    /// Ends an effect that needs no undoing. Somebody else may have changed the value.
    mutating func release(_ target: EffectTarget, in image: AudioServerImage) {
        if let record = records[target], let value = image.value(of: target), !value.isSame(as: record.set),
            image.canTake(record.set, for: target)
        {
            leave(target, isNow: false)
        }
        remove(target)
    }

    private mutating func leave(_ target: EffectTarget, isNow: Bool) {
        guard var record = records[target], !record.isTaken else { return }
        record.isTaken = true
        records[target] = record
        if let kind = record.restoreID { kinds[kind]?.leave(record, isNow: isNow) }
    }

    /// Marks effects whose streams ended with another value than ours: the user's.
    mutating func noticeEnds(
        from former: AudioServerImage, to image: AudioServerImage?, but unconfirmed: Set<EffectTarget>
    ) {
        for (target, record) in records where target.isOfStream && !unconfirmed.contains(target) {
            guard record.cookie == former.cookie, former.stream(of: target)?.isSettled == true,
                image?.cookie != former.cookie || image?.stream(of: target) == nil,
                let last = former.value(of: target), !last.isSame(as: record.set), !last.isSame(as: record.before)
            else { continue }
            leave(target, isNow: false)
            // The same applies to records of older streams of the kind that ended before.
            for (other, elder) in records
            where elder.restoreID == record.restoreID && record.restoreID != nil && other.isSameSort(as: target)
                && former.stream(of: other) == nil && elder.isElder(than: record)
            {
                records[other]?.isTaken = true
            }
        }
    }

    /// Notices mutes that somebody else changed: the server stores them for the next stream of the kind.
    mutating func noticeMutes(from former: AudioServerImage, to image: AudioServerImage) {
        guard former.cookie == image.cookie, !kinds.isEmpty else { return }
        for stream in image.playing.values {
            if let before = former.playing[stream.index], before.isSettled, before.isMuted != stream.isMuted {
                noticeMute(stream)
            }
        }
    }

    /// Notices mutes that somebody else may have changed while this program did not run.
    mutating func readMutes(_ image: AudioServerImage) {
        guard baseline?.cookie == image.cookie else { return }
        for name in kinds.keys {
            let streams = image.playing.values.filter { $0.restoreID == name && $0.isSettled }
            if let eldest = streams.min(by: { $0.index < $1.index }) { noticeMute(eldest) }
        }
    }

    private mutating func noticeMute(_ stream: AudioServerImage.Stream) {
        guard stream.isSettled, let name = stream.restoreID, let kind = kinds[name] else { return }
        let record = records[.playingMute(stream.index)]
        let isOurs = record.map { !$0.isTaken && $0.set == .muted(stream.isMuted) } ?? kind.mayBeOurs(stream.isMuted)
        if !isOurs { kinds[name]?.noticeMute(stream.isMuted) }
    }

    /// Removes the records of streams of another instance of the server.
    /// - Returns: Number of those whose values the server had stored.
    mutating func buryStreams(notOf image: AudioServerImage) -> Int {
        let gone = records.values.filter { $0.target.isOfStream && $0.cookie != image.cookie }
        for record in gone { bury(record.target) }
        return gone.count { $0.restoreID != nil && !$0.isTaken }
    }

    /// Adds records for streams that began with a value that we had set for their kind. Undoing gives them the kind's
    /// former value.
    /// - Parameters:
    ///   - judged: targets that somebody else is known to have set.
    ///   - kind: the record of their kind, if the ledger has none.
    mutating func adopt(
        _ records: [AudioEffectRecord], _ image: AudioServerImage, without judged: Set<EffectTarget> = [],
        kind: KindRecord? = nil, where isYoung: (EffectTarget) -> Bool
    ) {
        for var record in records where !record.isTaken {
            guard let name = record.restoreID else { continue }
            record.cookie = image.cookie
            for target in image.targets(like: record.target, ofKind: name)
            where isYoung(target) && self[target] == nil && !judged.contains(target)
                && image.value(of: target)?.isSame(as: record.set) == true
            {
                record.target = target
                if let kind, kinds[name] == nil { kinds[name] = kind }
                insert(record, in: image)
            }
        }
    }

    /// A record of the same property of a stream of this kind: a new stream may have begun with the value that it
    /// set.
    func record(ofKind kind: String, like target: EffectTarget) -> AudioEffectRecord? {
        // New streams begin with the user's value, unless the server is PipeWire, which stores it a moment later, or
        // never.
        if let known = kinds[kind], known.isListed, known.isUsers(target) { return nil }
        return records.values.filter { $0.restoreID == kind && $0.target.isSameSort(as: target) }
            .min { $0.order < $1.order }
    }

    /// Whether this ledger contains everything that is needed to undo the other one.
    func covers(_ other: EffectLedger) -> Bool {
        let areRecordsCovered = other.records.values.allSatisfy { record in
            guard let known = records[record.target] else { return false }
            return known.before == record.before && known.set == record.set && known.cookie == record.cookie
                && known.restoreID == record.restoreID
        }
        return areRecordsCovered && other.kinds.allSatisfy { name, kind in kinds[name]?.before == kind.before }
            && other.players.allSatisfy(players.contains)
    }

    /// The id of this boot of the machine.
    static var presentBoot: String? {
        (try? FileSystem.read("/proc/sys/kernel/random/boot_id", maximumSize: 256)).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    // JSON has no keys but strings, so only the records are encoded, which contain their targets.
    private enum CodingKeys: String, CodingKey { case records, kinds, players, pausedPlayers, boot, baseline }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        for record in try container.decode([AudioEffectRecord].self, forKey: .records) {
            records[record.target] = record
        }
        kinds = try container.decode([String: KindRecord].self, forKey: .kinds)
        players = try container.decode([MediaPlayer].self, forKey: .players)
        // Earlier versions don't tell them apart.
        let paused = try container.decodeIfPresent([MediaPlayer].self, forKey: .pausedPlayers) ?? []
        pausedPlayers = Set(paused).intersection(players)
        boot = try container.decodeIfPresent(String.self, forKey: .boot)
        baseline = try container.decodeIfPresent(Baseline.self, forKey: .baseline)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(ordered, forKey: .records)
        try container.encode(kinds, forKey: .kinds)
        try container.encode(players, forKey: .players)
        try container.encode(players.filter(pausedPlayers.contains), forKey: .pausedPlayers)
        try container.encodeIfPresent(boot, forKey: .boot)
        try container.encodeIfPresent(baseline, forKey: .baseline)
    }
}
