/// Puts back what the server stores of a kind of streams for the next one of it: it stores whatever its streams have
/// been given, and so what we gave them.
package enum StoredStreamMending {
    /// What a kind whose effects are all undone needs.
    ///
    /// - Parameters:
    ///   - stored: What the server lists of the kind now; nil: nothing.
    ///   - isAgain: It was written a moment ago, and not seen.
    package static func commands(
        kind name: String, _ kind: EffectLedger.KindRecord, stored: StoredStream?, isAgain: Bool = false
    ) -> [AudioServerCommand] {
        guard kind.isListed else { return blind(name, kind.gone, isAgain: isAgain) }
        guard let stored else { return [] }
        var mended = stored
        if !stored.volume.isEmpty, !kind.isUsers(.playingVolume(0)), kind.isOurs(volume: stored.volume) {
            mended.volume = kind.before?.volume ?? []
            mended.channels = kind.before?.channels ?? stored.channels
        }
        let isMuteUsers = kind.isUsers(.playingMute(0)) || kind.isUsers(.recordingMute(0))
        if !isMuteUsers, kind.isOurs(.muted(stored.isMuted)) { mended.isMuted = kind.before?.isMuted ?? false }
        let isDeviceUsers = kind.isUsers(.playingDevice(0)) || kind.isUsers(.recordingDevice(0))
        let device = stored.device.map(EffectValue.name) ?? .noDevice
        if !isDeviceUsers, kind.isOurs(device) { mended.device = kind.before?.device }
        if kind.before == nil, mended.volume.isEmpty, !mended.isMuted, mended.device == nil {
            return [.forget(stored: name)]
        }
        return mended == stored ? [] : [.store(mended)]
    }

    /// The server does not say what it stores (WirePlumber 0.4 lists what was written to it, and not what it saved since):
    /// what the first stream of the kind had before is what it would have stored without us.
    ///
    /// PipeWire passes on only what is new to it, so the entry is written as something else first; once, as a stream that
    /// begins in between has that. What was written and dropped is new to it.
    private static func blind(_ name: String, _ gone: [AudioEffectRecord], isAgain: Bool) -> [AudioServerCommand] {
        guard let entry = blindEntry(name, gone) else { return [] }
        if isAgain { return [.store(entry)] }
        var other = entry
        other.isMuted.toggle()
        return [.store(other), .store(entry)]
    }

    /// What such a kind is to have.
    static func blindEntry(_ name: String, _ gone: [AudioEffectRecord]) -> StoredStream? {
        var entry = StoredStream(name: name, volume: [], channels: [], isMuted: false, device: nil)
        var isTouched = false
        for record in gone.sorted(by: { $0.order < $1.order }) {
            switch (record.target, record.before) {
            case (.playingVolume, .volume(let volume)):
                entry.volume = volume
                let isKnown = record.channels.count == volume.count
                entry.channels = isKnown ? record.channels : usualChannels(volume.count)
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

extension AudioEffectRecord {
    /// It set what was there before.
    fileprivate var isNothing: Bool { before.isSame(as: self.set) }
}

extension EffectLedger.KindRecord {
    func isOurs(_ value: EffectValue) -> Bool { ours.contains { $0.isSame(as: value) } }

    /// The stream is as the last effects on its kind had made others.
    func hasMade(_ stream: AudioServerImage.Stream) -> Bool {
        last.contains { record in
            guard !record.isTaken else { return false }
            switch (record.target, record.set) {
            case (.playingVolume, .volume(let set)):
                // The server spreads what it stores over other channels.
                let spread = stream.volume.count == set.count ? set : stream.volume.map { _ in set.max() ?? 0 }
                return EffectValue.volume(stream.volume).isSame(as: .volume(spread)) && !record.isNothing
            case (.playingMute, .muted(let isMuted)), (.recordingMute, .muted(let isMuted)):
                return stream.isMuted == isMuted && !record.isNothing
            default: return false
            }
        }
    }

    /// A kind's streams may have had another number of channels than what is stored.
    func isOurs(volume: [UInt32]) -> Bool {
        if isOurs(.volume(volume)) { return true }
        guard let level = volume.max() else { return false }
        return ours.contains {
            guard case .volume(let mine) = $0, mine.count != volume.count, let top = mine.max() else { return false }
            return EffectValue.volume([top]).isSame(as: .volume([level]))
        }
    }
}
