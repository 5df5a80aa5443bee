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
        askStored { [self] list in
            work?.stored = Dictionary((list ?? []).map { ($0.name, $0) }, uniquingKeysWith: { $1 })
            work?.isStoreRefused = list == nil
        }
    }

    /// Has the image show all streams as they are now.
    func look() { askStored { _ in } }

    /// - Parameter take: Gets what is stored, nothing where the server has no such store, nil where it does not say. It is
    ///   not called when the connection broke, which is told next: nothing is known then, and nothing is to be forgotten.
    private func askStored(_ take: @escaping ([StoredStream]?) -> Void) {
        ask { engine, done in
            engine.server.storedStreams { result in
                done {
                    switch result {
                    case .success(let list): take(list)
                    case .failure(let failure):
                        if failure.kind != .lost { take(nil) }
                    }
                }
            }
        }
    }

    func kindRecord(
        _ kind: String, _ stored: [String: StoredStream], _ image: AudioServerImage
    ) -> EffectLedger.KindRecord {
        if let known = otherLedgers.compactMap({ $0.kinds[kind] }).first {
            return EffectLedger.KindRecord(before: known.before, isListed: known.isListed)
        }
        return EffectLedger.KindRecord(
            of: kind, before: stored[kind], isListed: !image.isPipeWire && work?.isStoreRefused != true, in: image)
    }

    /// Mends what the server stores of kinds that have no effect any more.
    /// - Returns: Whether it is under way.
    func mendKinds() -> Bool {
        let inForce = Set(ledger.records.values.compactMap(\.restoreID))
        let free = ledger.kinds.filter { !inForce.contains($0.key) }
        guard !free.isEmpty else { return false }
        askStored { [self] in mend(free, stored: $0 ?? []) }
        return true
    }

    /// Nothing of the kind is in force any more; but a stream of it may just have begun with what was.
    private func free(_ name: String) {
        guard let kind = ledger.kinds.removeValue(forKey: name), let image else { return }
        let now = runLoop.refreshNow()
        echoes = echoes.filter { $0.value.until > now }
        // Of the streams of a server that was started anew, any may have begun with what the former one had stored.
        let present = ledger.baseline.flatMap { $0.cookie == image.cookie ? $0 : nil }
        let baseline = echoes[name].map(\.baseline) ?? present
        let judged = echoes[name].map(\.judged) ?? []
        echoes[name] = EffectEcho(
            kind: kind, baseline: baseline, until: now.advanced(by: Self.echoTime),
            judged: judged.union(work?.givenBack ?? []))
    }

    /// Streams that began with what we had set for their kind, and that were seen only when that was over.
    /// - Returns: Whether there are any: they are in the ledger now, and on the disk.
    @discardableResult
    func takeBackEchoes(_ image: AudioServerImage) -> Bool {
        guard !echoes.isEmpty else { return false }
        let now = runLoop.refreshNow()
        echoes = echoes.filter { $0.value.until > now }
        let count = ledger.records.count
        for (name, echo) in echoes where ledger.kinds[name] == nil {
            let records = echo.kind.last.filter { !$0.isTaken }
            for stream in image.playing.values where stream.restoreID == name && echo.isYoung(playing: stream.index) {
                adopt(stream, from: records.filter { $0.target.playing != nil }, image, echo)
            }
            for stream in image.recording.values
            where stream.restoreID == name && echo.isYoung(recording: stream.index) {
                adopt(stream, from: records.filter { $0.target.recording != nil }, image, echo)
            }
            echoes[name]?.judge(name, image)
        }
        guard ledger.records.count > count else { return false }
        if !journal.covers(ledger) { writeJournal(ledger) }
        return true
    }

    private func mend(_ kinds: [String: EffectLedger.KindRecord], stored: [StoredStream]) {
        var kinds = kinds
        // What has come meanwhile is not written again.
        for (name, kind) in kinds where work?.writing != nil && !kind.isListed && hasCome(name, kind, stored) {
            kinds[name] = nil
            free(name)
        }
        let commands = kinds.sorted { $0.key < $1.key }.flatMap { name, kind in
            StoredStreamMending.commands(
                kind: name, kind, stored: stored.first { $0.name == name }, isAgain: work?.writing != nil)
        }
        guard !commands.isEmpty else {
            for name in kinds.keys { free(name) }
            return
        }
        if work?.writing == nil { work?.writing = image.map(EffectLedger.baseline) }
        ask { engine, done in
            engine.server.perform(commands) { failures in
                done {
                    guard !failures.contains(where: { $0?.kind == .lost }) else { return }
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
        askStored { [self] in verify(blind, stored: $0 ?? []) }
    }

    private func verify(_ kinds: [String: EffectLedger.KindRecord], stored: [StoredStream]) {
        for (name, kind) in kinds {
            if hasCome(name, kind, stored) { free(name) } else { judge(name, kind) }
        }
        guard kinds.keys.contains(where: { ledger.kinds[$0] != nil }) else { return }
        work?.tries += 1
        guard let tries = work?.tries, tries < Self.maximumTries else {
            for name in kinds.keys where ledger.kinds[name] != nil { giveUp(name) }
            return
        }
        ask { engine, done in
            let deadline = engine.runLoop.refreshNow().advanced(by: Self.storingTime)
            _ = engine.runLoop.schedule(at: deadline, tolerance: .milliseconds(50)) {
                done { engine.work?.isMended = false }
            }
        }
    }

    /// What was written of a kind has come anywhere: the server lists it, or streams begin with it.
    private func hasCome(_ name: String, _ kind: EffectLedger.KindRecord, _ stored: [StoredStream]) -> Bool {
        guard let entry = StoredStreamMending.blindEntry(name, kind.gone) else { return true }
        if stored.contains(where: entry.isSame) { return true }
        let begun = streamsBegun(name)
        return !begun.isEmpty && begun.allSatisfy { $0.isSame(as: entry) }
    }

    /// A client of PipeWire's is not told what is new in the list while streams come and go all the time: then it is these
    /// that show whether what the server stores is still ours.
    private func judge(_ name: String, _ kind: EffectLedger.KindRecord) {
        let begun = streamsBegun(name)
        guard !begun.isEmpty else { return }
        if begun.contains(where: kind.hasMade) {
            work?.kindsFreed.remove(name)
        } else {
            work?.kindsFreed.insert(name)
        }
    }

    private func giveUp(_ name: String) {
        if work?.kindsFreed.contains(name) != true {
            tell(.problem("the audio server does not take back what it stores of \(name)"))
        }
        // Streams that began with what is ours are given back what is theirs.
        free(name)
    }

    /// Streams of a kind that began after what is stored of it was written, and long enough after to have begun with it.
    private func streamsBegun(_ name: String) -> [AudioServerImage.Stream] {
        guard let image, let work, work.tries > 0, let writing = work.writing, writing.cookie == image.cookie else {
            return []
        }
        let playing = image.playing.values.filter { $0.index > writing.playing }
        let recording = image.recording.values.filter { $0.index > writing.recording }
        return (playing + recording).filter { $0.restoreID == name && $0.isSettled }
    }
}

extension AudioServerImage.Stream {
    /// It began with this.
    func isSame(as stored: StoredStream) -> Bool {
        isMuted == stored.isMuted
            && (stored.volume.isEmpty || EffectValue.volume(volume).isSame(as: .volume(stored.volume)))
    }
}

extension StoredStream {
    /// As far as a server says it: PipeWire keeps volumes as fractions, and devices nowhere.
    func isSame(as other: StoredStream) -> Bool {
        name == other.name && isMuted == other.isMuted
            && (volume.isEmpty || EffectValue.volume(volume).isSame(as: .volume(other.volume)))
    }
}
