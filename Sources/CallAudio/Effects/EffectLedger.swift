internal import FileSystem
package import RingwakeCore

/// Everything that is in force because of us: what the journal holds.
package struct EffectLedger: Hashable, Sendable, Codable {
    /// What was done, each target once.
    package private(set) var records: [EffectTarget: AudioEffectRecord] = [:]
    /// What the server had stored for each kind of streams before the first effect on one of them.
    package var kinds: [String: KindRecord] = [:]
    /// Players that were paused.
    package var players: [MediaPlayer] = []
    /// The boot in which players were paused: no player outlives it, whatever it is called.
    package var boot: String?
    /// The newest streams before the first effect: younger ones may have begun with what we set for their kind.
    package var baseline: Baseline?

    package struct Baseline: Hashable, Sendable, Codable {
        package var cookie: UInt32
        package var playing: UInt32
        package var recording: UInt32
    }

    /// What is known of the server's memory of one kind of streams.
    package struct KindRecord: Hashable, Sendable, Codable {
        /// What it had stored; nil: nothing, or nobody knows.
        package var before: StoredStream?
        /// The server lists what it stores, so that nil above means nothing.
        package var isListed: Bool
        /// Values that our commands gave streams of this kind, and took back: what the server stores of these is ours.
        package var ours: [EffectValue] = []
        /// Effects of streams that ended with them: of each sort the first.
        package var gone: [AudioEffectRecord] = []
        /// Of each sort the last effect: what a stream that begins with it is to be given back.
        package var last: [AudioEffectRecord] = []

        /// A kind's streams have a handful of values; what is older is no longer what the server stores.
        static let maximumValues = 64

        package init(before: StoredStream?, isListed: Bool) {
            self.before = before
            self.isListed = isListed
        }

        /// A kind that has no effect yet. With whatever a stream is given the server stores all that it has: muting two of
        /// a kind, it stores the volume of the one that comes last.
        init(of kind: String, before: StoredStream?, isListed: Bool, in image: AudioServerImage) {
            self.init(before: before, isListed: isListed)
            for stream in image.playing.values.sorted(by: { $0.index < $1.index }) where stream.restoreID == kind {
                if !stream.volume.isEmpty { note(.volume(stream.volume)) }
            }
        }

        mutating func remember(_ record: AudioEffectRecord) {
            last.removeAll { $0.target.isSameSort(as: record.target) }
            last.append(record)
            note(record.before)
            note(record.set)
        }

        /// Streams end in any order, and are buried later still: it is by their beginnings that one follows another.
        mutating func bury(_ record: AudioEffectRecord) {
            if record.isTaken { return leave(record, isNow: false) }
            guard !isUsers(record.target) else { return }
            guard let first = gone.firstIndex(where: { $0.target.isSameSort(as: record.target) }) else {
                return gone.append(record)
            }
            if record.cookie == gone[first].cookie, record.isElder(than: gone[first]) { gone[first] = record }
        }

        /// The user changed what we had set, which the server has stored: what older streams had is none of its any more.
        ///
        /// - Parameter isNow: It has just been seen; else a younger stream may have been changed since, by us too.
        mutating func leave(_ record: AudioEffectRecord, isNow: Bool) {
            let isOver = { (other: AudioEffectRecord) in
                other.target.isSameSort(as: record.target)
                    && (isNow || other.target == record.target || other.isElder(than: record))
            }
            gone.removeAll(where: isOver)
            guard !last.contains(where: { $0.target.isSameSort(as: record.target) && !isOver($0) }) else { return }
            last.removeAll(where: isOver)
            last.append(record)
        }

        /// What was last changed of this sort was changed by the user.
        func isUsers(_ target: EffectTarget) -> Bool {
            last.contains { $0.isTaken && $0.target.isSameSort(as: target) }
        }

        mutating func note(_ value: EffectValue) {
            guard !ours.contains(value) else { return }
            ours.append(value)
            if ours.count > Self.maximumValues { ours.removeFirst() }
        }
    }

    package init() {}

    package var isEmpty: Bool { records.isEmpty && players.isEmpty && kinds.isEmpty }

    /// How many effects are in force.
    package var count: Int { records.count + players.count }

    package subscript(_ target: EffectTarget) -> AudioEffectRecord? { records[target] }

    package mutating func insert(_ record: AudioEffectRecord, in image: AudioServerImage) {
        if baseline == nil || records.isEmpty { baseline = EffectLedger.baseline(of: image) }
        records[record.target] = record
        guard let kind = record.restoreID else { return }
        kinds[kind]?.remember(record)
        if [record.before, record.set].contains(where: { image.isDefault($0, for: record.target) }) {
            kinds[kind]?.note(.noDevice)
        }
    }

    /// The stream ended as it was made: what its kind had is to be put back when the kind is free.
    package mutating func bury(_ target: EffectTarget) {
        guard let record = records.removeValue(forKey: target), let kind = record.restoreID else { return }
        kinds[kind]?.bury(record)
    }

    package mutating func remove(_ target: EffectTarget) { records[target] = nil }

    package mutating func setOwners(_ owners: Set<AudioSessionID>, of target: EffectTarget) {
        records[target]?.owners = owners
    }

    /// The user changed it: it is not undone.
    package mutating func leave(_ target: EffectTarget) { leave(target, isNow: true) }

    /// It is no effect any more, and somebody else may have made it as it is.
    package mutating func release(_ target: EffectTarget, in image: AudioServerImage) {
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

    /// Streams that are there no more and ended otherwise than we had set them: the user has done that.
    package mutating func noticeEnds(
        from former: AudioServerImage, to image: AudioServerImage?, but unconfirmed: Set<EffectTarget>
    ) {
        for (target, record) in records where target.isOfStream && !unconfirmed.contains(target) {
            guard record.cookie == former.cookie, former.stream(of: target)?.isSettled == true,
                image?.cookie != former.cookie || image?.stream(of: target) == nil,
                let last = former.value(of: target), !last.isSame(as: record.set), !last.isSame(as: record.before)
            else { continue }
            leave(target, isNow: false)
            // So is what is remembered of its kind's elder streams that ended before.
            for (other, elder) in records
            where elder.restoreID == record.restoreID && record.restoreID != nil && other.isSameSort(as: target)
                && former.stream(of: other) == nil && elder.isElder(than: record)
            {
                records[other]?.isTaken = true
            }
        }
    }

    /// A record of a stream of this kind, whose target is of the same sort: a stream may have begun with what it set.
    package func record(ofKind kind: String, where matches: (EffectTarget) -> Bool) -> AudioEffectRecord? {
        if let known = kinds[kind], known.isListed, known.last.contains(where: { $0.isTaken && matches($0.target) }) {
            // Now it begins with what the user set. PipeWire stores that a moment later, or never.
            return nil
        }
        return records.values.filter { $0.restoreID == kind && matches($0.target) }.min { $0.order < $1.order }
    }

    /// Names this boot of the machine.
    package static var presentBoot: String? {
        (try? FileSystem.read("/proc/sys/kernel/random/boot_id", maximumSize: 256)).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    static func baseline(of image: AudioServerImage) -> Baseline {
        Baseline(
            cookie: image.cookie, playing: image.playing.keys.max() ?? 0, recording: image.recording.keys.max() ?? 0)
    }

    // A dictionary whose keys are no strings is a flat list in JSON: the records alone say as much.
    private enum CodingKeys: String, CodingKey { case records, kinds, players, boot, baseline }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        for record in try container.decode([AudioEffectRecord].self, forKey: .records) {
            records[record.target] = record
        }
        kinds = try container.decode([String: KindRecord].self, forKey: .kinds)
        players = try container.decode([MediaPlayer].self, forKey: .players)
        boot = try container.decodeIfPresent(String.self, forKey: .boot)
        baseline = try container.decodeIfPresent(Baseline.self, forKey: .baseline)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(records.values.sorted { $0.order < $1.order }, forKey: .records)
        try container.encode(kinds, forKey: .kinds)
        try container.encode(players, forKey: .players)
        try container.encodeIfPresent(boot, forKey: .boot)
        try container.encodeIfPresent(baseline, forKey: .baseline)
    }
}

extension AudioEffectRecord {
    /// Its stream began before the other's. What has the index of another instance of the server is of a former one.
    func isElder(than other: AudioEffectRecord) -> Bool { cookie != other.cookie || target.index < other.target.index }
}

extension EffectTarget {
    fileprivate var index: UInt32 { playing ?? recording ?? 0 }
}

extension EffectValue {
    /// What PulseAudio stores of the device of a stream that was moved to the default one.
    static let noDevice = EffectValue.name("")
}

extension AudioServerImage {
    fileprivate func isDefault(_ value: EffectValue, for target: EffectTarget) -> Bool {
        guard case .name(let device) = value else { return false }
        switch target {
        case .playingDevice: return device == defaultSink
        case .recordingDevice: return device == defaultSource
        default: return false
        }
    }
}
