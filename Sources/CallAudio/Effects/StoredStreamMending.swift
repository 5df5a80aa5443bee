/// Puts back what the server stores of a kind of streams for the next one of it: it stores whatever its streams have
/// been given, and so what we gave them.
package enum StoredStreamMending {
    /// What a kind whose effects are all undone needs.
    ///
    /// - Parameter stored: What the server lists of the kind now; nil: nothing.
    package static func commands(
        kind name: String, _ kind: EffectLedger.KindRecord, stored: StoredStream?
    ) -> [AudioServerCommand] {
        guard kind.isListed else { return blind(name, kind.gone) }
        guard let stored else { return [] }
        var mended = stored
        if !stored.volume.isEmpty, kind.isOurs(volume: stored.volume) {
            mended.volume = kind.before?.volume ?? []
            mended.channels = kind.before?.channels ?? stored.channels
        }
        if kind.isOurs(.muted(stored.isMuted)) { mended.isMuted = kind.before?.isMuted ?? false }
        if let device = stored.device, kind.isOurs(.name(device)) { mended.device = kind.before?.device }
        if kind.before == nil, mended.volume.isEmpty, !mended.isMuted, mended.device == nil {
            return [.forget(stored: name)]
        }
        return mended == stored ? [] : [.store(mended)]
    }

    /// The server does not say what it stores (WirePlumber 0.4 lists what was written to it, and not what it saved since):
    /// what the first stream of the kind had before is what it would have stored without us.
    ///
    /// PipeWire passes on only what is new to it, so the entry is written as something else first.
    private static func blind(_ name: String, _ gone: [AudioEffectRecord]) -> [AudioServerCommand] {
        guard let entry = blindEntry(name, gone) else { return [] }
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

extension EffectLedger.KindRecord {
    func isOurs(_ value: EffectValue) -> Bool { ours.contains { $0.isSame(as: value) } }

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
