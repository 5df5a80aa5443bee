internal import RingwakeCore
internal import RunLoop

/// What the server stores of each kind of streams: read before the first effect on one, and mended after the last.
extension AudioEngine {
    /// PipeWire says that a value is stored before the one that stores it may even have started: it is looked at again
    /// after this time, so often.
    private static var storingTime: Duration { .milliseconds(150) }
    private static var maximumTries: Int { 8 }
    /// How long a stream that began before an effect was undone may take to be seen.
    private static var echoTime: Duration { .seconds(1) }

    func askStored() {
        ask { engine, done in
            engine.server.storedStreams { result in
                // A server without such a store has nothing to be mended.
                let list = (try? result.get()) ?? []
                done { engine.work?.stored = Dictionary(list.map { ($0.name, $0) }, uniquingKeysWith: { $1 }) }
            }
        }
    }

    func kindRecord(
        _ kind: String, _ stored: [String: StoredStream], _ image: AudioServerImage
    ) -> EffectLedger.KindRecord {
        if let known = otherLedgers.compactMap({ $0.kinds[kind] }).first {
            return EffectLedger.KindRecord(before: known.before, isListed: known.isListed)
        }
        return EffectLedger.KindRecord(before: stored[kind], isListed: !image.isPipeWire)
    }

    /// Mends what the server stores of kinds that have no effect any more.
    /// - Returns: Whether it is under way.
    func mendKinds() -> Bool {
        let inForce = Set(ledger.records.values.compactMap(\.restoreID))
        let free = ledger.kinds.filter { !inForce.contains($0.key) }
        guard !free.isEmpty else { return false }
        ask { engine, done in
            engine.server.storedStreams { result in
                done { engine.mend(free, stored: (try? result.get()) ?? []) }
            }
        }
        return true
    }

    /// Nothing of the kind is in force any more; but a stream of it may just have begun with what was.
    private func free(_ name: String) {
        guard let kind = ledger.kinds.removeValue(forKey: name), let baseline = ledger.baseline else { return }
        let until = runLoop.refreshNow().advanced(by: Self.echoTime)
        echoes = echoes.filter { $0.value.until > runLoop.now }
        echoes[name] = EffectEcho(kind: kind, baseline: baseline, until: until)
    }

    /// Streams that began with what we had set for their kind, and that were seen only when that was over.
    func takeBackEchoes(_ image: AudioServerImage) {
        guard !echoes.isEmpty else { return }
        let now = runLoop.refreshNow()
        echoes = echoes.filter { $0.value.until > now && $0.value.baseline.cookie == image.cookie }
        for (name, echo) in echoes where ledger.kinds[name] == nil {
            let playing = image.playing.values.filter { $0.restoreID == name && $0.index > echo.baseline.playing }
            let recording = image.recording.values.filter { $0.restoreID == name && $0.index > echo.baseline.recording }
            for stream in playing {
                adopt(stream, from: echo.kind.last.filter { $0.target.playing != nil }, image, echo.kind)
            }
            for stream in recording {
                adopt(stream, from: echo.kind.last.filter { $0.target.recording != nil }, image, echo.kind)
            }
        }
    }

    private func mend(_ kinds: [String: EffectLedger.KindRecord], stored: [StoredStream]) {
        let commands = kinds.sorted { $0.key < $1.key }.flatMap { name, kind in
            StoredStreamMending.commands(kind: name, kind, stored: stored.first { $0.name == name })
        }
        guard !commands.isEmpty else {
            for name in kinds.keys { free(name) }
            return
        }
        ask { engine, done in
            engine.server.perform(commands) { failures in
                done {
                    for failure in failures.compactMap(\.self) {
                        engine.tell(.problem("what the audio server stores is not mended: \(failure)"))
                    }
                    engine.verify(kinds)
                }
            }
        }
    }

    /// A server that lists what it stores has it. Of another one it is seen whether what was written has come anywhere:
    /// PipeWire drops it while WirePlumber, which keeps it, is not there yet.
    private func verify(_ kinds: [String: EffectLedger.KindRecord]) {
        let blind = kinds.filter { !$0.value.isListed && !$0.value.gone.isEmpty }
        for name in kinds.keys where blind[name] == nil { free(name) }
        guard !blind.isEmpty else { return }
        ask { engine, done in
            engine.server.storedStreams { result in
                done { engine.verify(blind, stored: (try? result.get()) ?? []) }
            }
        }
    }

    private func verify(_ kinds: [String: EffectLedger.KindRecord], stored: [StoredStream]) {
        for (name, kind) in kinds {
            let entry = StoredStreamMending.blindEntry(name, kind.gone)
            let isThere = stored.contains { entry?.isSame(as: $0) ?? false }
            if isThere { free(name) }
        }
        guard kinds.keys.contains(where: { ledger.kinds[$0] != nil }) else { return }
        work?.tries += 1
        guard let tries = work?.tries, tries < Self.maximumTries else {
            for name in kinds.keys where ledger.kinds.removeValue(forKey: name) != nil {
                tell(.problem("the audio server does not take back what it stores of \(name)"))
            }
            return
        }
        ask { engine, done in
            let deadline = engine.runLoop.refreshNow().advanced(by: Self.storingTime)
            _ = engine.runLoop.schedule(at: deadline, tolerance: .milliseconds(50)) {
                done { engine.work?.isMended = false }
            }
        }
    }
}

extension StoredStream {
    /// As far as a server says it: PipeWire keeps volumes as fractions, and devices nowhere.
    func isSame(as other: StoredStream) -> Bool {
        name == other.name && isMuted == other.isMuted
            && (volume.isEmpty || EffectValue.volume(volume).isSame(as: .volume(other.volume)))
    }
}
