extension EffectLedger {
    /// The server's stored values for one kind of streams, as far as known.
    struct KindRecord: Hashable, Sendable, Codable {
        /// The former entry of the server; nil: none, or unknown.
        var before: StoredStream?
        /// Whether the server lists what it stores, so that nil above means none.
        let isListed: Bool
        /// The last mute of such streams that we did not set; nil: no stream was seen. A server that doesn't list its
        /// entries takes them only as a whole, so this belongs to each that is written.
        private(set) var usersMute: Bool?
        /// Values that our commands gave streams of this kind, and undid: stored values equal to one of these are ours.
        private var ours: [EffectValue] = []
        /// Effects of streams that have ended: the first of each sort.
        private(set) var gone: [AudioEffectRecord] = []
        /// The last effect of each sort: a stream that begins with its value has to be undone.
        private(set) var last: [AudioEffectRecord] = []

        /// Maximum of ``ours``. A kind has a handful of values, and the server no longer stores older ones.
        private static let maximumValues = 64

        init(before: StoredStream?, isListed: Bool) { (self.before, self.isListed) = (before, isListed) }

        /// A kind without an effect. With each change the server stores all values of the stream: if two of a kind
        /// are muted, it stores the volume of the second.
        init(of kind: String, before: StoredStream?, isListed: Bool, in image: AudioServerImage) {
            self.init(before: before, isListed: isListed)
            let streams = image.playing.values.filter { $0.restoreID == kind && !$0.volume.isEmpty }
                .sorted { $0.index < $1.index }
            for stream in streams { note(.volume(stream.volume)) }
            usersMute = streams.first?.isMuted
        }

        /// Somebody else has muted or unmuted a stream of this kind.
        mutating func noticeMute(_ isMuted: Bool) { usersMute = isMuted }

        /// Whether the mute may come from what we set for the kind: a new stream gets the stored one a moment later.
        func mayBeOurs(_ isMuted: Bool) -> Bool {
            last.contains { !$0.isTaken && $0.set == .muted(isMuted) }
        }

        mutating func remember(_ record: AudioEffectRecord) {
            last.removeAll { $0.target.isSameSort(as: record.target) }
            last.append(record)
            note(record.before)
            note(record.set)
        }

        /// Streams end in any order, and are removed even later. They are ordered by their beginnings.
        mutating func bury(_ record: AudioEffectRecord) {
            if record.isTaken { return leave(record, isNow: false) }
            guard !isUsers(record.target) else { return }
            guard let first = gone.firstIndex(where: { $0.target.isSameSort(as: record.target) }) else {
                return gone.append(record)
            }
            if record.cookie == gone[first].cookie, record.isElder(than: gone[first]) { gone[first] = record }
        }

        /// The user changed a value that we had set, and the server has stored that. It no longer stores values of
        /// older streams.
        ///
        /// - Parameter isNow: the change has just been seen; else we may have changed a younger stream since.
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

        /// Whether the user made the last change of this sort.
        func isUsers(_ target: EffectTarget) -> Bool {
            last.contains { $0.isTaken && $0.target.isSameSort(as: target) }
        }

        mutating func note(_ value: EffectValue) {
            guard !ours.contains(value) else { return }
            ours.append(value)
            if ours.count > Self.maximumValues { ours.removeFirst() }
        }

        func isOurs(_ value: EffectValue) -> Bool {
            if ours.contains(where: { $0.isSame(as: value) }) { return true }
            // Streams of a kind may have another number of channels than the stored value.
            guard case .volume(let volume) = value, let level = volume.max() else { return false }
            return ours.contains {
                guard case .volume(let mine) = $0, mine.count != volume.count, let top = mine.max() else {
                    return false
                }
                return EffectValue.volume([top]).isSame(as: .volume([level]))
            }
        }

        /// Whether the stream has a value that our last effects set for its kind.
        func hasMade(_ stream: AudioServerImage.Stream) -> Bool {
            last.contains { record in
                guard !record.isTaken, !record.isNothing else { return false }
                switch (record.target, record.set) {
                case (.playingVolume, .volume(let set)):
                    // The server spreads a stored volume over other channels.
                    let spread = stream.volume.count == set.count ? set : stream.volume.map { _ in set.max() ?? 0 }
                    return EffectValue.volume(stream.volume).isSame(as: .volume(spread))
                case (.playingMute, .muted(let isMuted)), (.recordingMute, .muted(let isMuted)):
                    return stream.isMuted == isMuted
                default: return false
                }
            }
        }

        // MARK: - Restoring what the server stores

        /// The commands that repair a kind whose effects are all undone: the server stored the values of its streams,
        /// ours too.
        ///
        /// - Parameters:
        ///   - stored: the entry that the server lists for the kind now; nil: none.
        ///   - isAgain: it was written a moment ago, and did not arrive.
        func commands(_ name: String, stored: StoredStream?, isAgain: Bool = false) -> [AudioServerCommand] {
            guard isListed else { return blindCommands(name, isAgain: isAgain) }
            guard let stored else { return [] }
            var restored = stored
            if !stored.volume.isEmpty, !isUsers(.playingVolume(0)), isOurs(.volume(stored.volume)) {
                restored.volume = before?.volume ?? []
                restored.channels = before?.channels ?? stored.channels
            }
            let isMuteUsers = isUsers(.playingMute(0)) || isUsers(.recordingMute(0))
            if !isMuteUsers, isOurs(.muted(stored.isMuted)) { restored.isMuted = before?.isMuted ?? false }
            let isDeviceUsers = isUsers(.playingDevice(0)) || isUsers(.recordingDevice(0))
            let device = stored.device.map(EffectValue.name) ?? .noDevice
            if !isDeviceUsers, isOurs(device) { restored.device = before?.device }
            if before == nil, restored.volume.isEmpty, !restored.isMuted, restored.device == nil {
                return [.forget(stored: name)]
            }
            return restored == stored ? [] : [.store(restored)]
        }

        /// For a server that doesn't report what it stores (WirePlumber 0.4 lists entries that were written to it,
        /// but not what it has saved since). Without us it would have stored the value that the first stream of the
        /// kind had before.
        ///
        /// PipeWire passes on only entries that are new to it, so another entry is written first; only once, because
        /// a stream that begins in between gets that one. An entry that was written and dropped is new to it.
        private func blindCommands(_ name: String, isAgain: Bool) -> [AudioServerCommand] {
            guard let entry = blindEntry(name) else { return [] }
            if isAgain { return [.store(entry)] }
            var other = entry
            other.isMuted.toggle()
            return [.store(other), .store(entry)]
        }

        /// The entry that the server should have for such a kind; nil if there is nothing to restore.
        func blindEntry(_ name: String) -> StoredStream? {
            // An entry without volume or device leaves those as they are; one without a mute doesn't exist.
            var entry = StoredStream(
                name: name, volume: [], channels: [], isMuted: usersMute ?? false, device: nil)
            var isTouched = false
            for record in gone.sorted(by: { $0.order < $1.order }) {
                switch (record.target, record.before) {
                case (.playingVolume, .volume(let volume)):
                    entry.volume = volume
                    let isKnown = record.channels.count == volume.count
                    entry.channels = isKnown ? record.channels : Self.usualChannels(volume.count)
                    isTouched = true
                case (.playingMute, .muted(let isMuted)), (.recordingMute, .muted(let isMuted)):
                    entry.isMuted = isMuted
                    isTouched = true
                default: break
                }
            }
            return isTouched ? entry : nil
        }

        /// Mono, left and right; else numbered (`PA_CHANNEL_POSITION_AUX0` and on).
        private static func usualChannels(_ count: Int) -> [Int32] {
            switch count {
            case 1: [0]
            case 2: [1, 2]
            default: (0..<count).map { 12 + Int32($0 % 32) }
            }
        }
    }
}
