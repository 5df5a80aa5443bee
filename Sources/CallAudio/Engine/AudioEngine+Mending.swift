internal import RingwakeCore
internal import RunLoop

/// After a crash of this program, or of the server.
extension AudioEngine {
    /// The work that takes back what the ledger has of another run, or of a server that is no more.
    ///
    /// Streams of another instance of the server are gone; what it stored of their kinds is there still, and streams may
    /// have begun with it, as they may have while nobody looked after a crash of ours.
    func mending(_ image: AudioServerImage) -> EngineWork {
        var work = EngineWork(.mend, since: runLoop.refreshNow())
        work.isFresh = true
        let baseline = ledger.baseline
        let records = ledger.records.values.filter { $0.target.isOfStream && $0.restoreID != nil && !$0.isTaken }
            .sorted { $0.order < $1.order }
        for record in ledger.records.values where record.target.isOfStream && record.cookie != image.cookie {
            ledger.bury(record.target)
            if record.restoreID != nil, !record.isTaken { work.undone += 1 }
        }
        let isYoung = { (index: UInt32, newest: UInt32?) in
            baseline?.cookie != image.cookie || newest.map { index > $0 } ?? true
        }
        for stream in image.playing.values where isYoung(stream.index, baseline?.playing) {
            adopt(stream, from: records.filter { $0.target.playing != nil }, image)
        }
        for stream in image.recording.values where isYoung(stream.index, baseline?.recording) {
            adopt(stream, from: records.filter { $0.target.recording != nil }, image)
        }
        return work
    }

    /// A stream that has what we had set for its kind gets what the kind had before.
    func adopt(
        _ stream: AudioServerImage.Stream, from records: [AudioEffectRecord], _ image: AudioServerImage,
        _ echo: EffectEcho? = nil
    ) {
        for var record in records where record.restoreID == stream.restoreID {
            switch record.target {
            case .playingVolume: record.target = .playingVolume(stream.index)
            case .playingMute: record.target = .playingMute(stream.index)
            case .recordingMute: record.target = .recordingMute(stream.index)
            default: continue
            }
            guard ledger[record.target] == nil, echo?.judged.contains(record.target) != true,
                image.value(of: record.target)?.isSame(as: record.set) == true
            else { continue }
            record.cookie = image.cookie
            if let echo, let name = stream.restoreID { ledger.kinds[name] = echo.kind }
            ledger.insert(record, in: image)
        }
    }
}
