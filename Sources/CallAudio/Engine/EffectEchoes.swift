internal import RunLoop

/// Kinds of streams whose effects were undone a moment ago: a stream may have begun with our value before that, and
/// be seen only afterwards.
struct EffectEchoes {
    private struct Echo {
        let kind: EffectLedger.KindRecord
        /// Older streams existed before the effects; nil: unknown.
        let baseline: EffectLedger.Baseline?
        let until: BootClock.Instant
        /// Targets that were undone, or seen with another value: if one has our value later, somebody else set it.
        var judged: Set<EffectTarget>
    }

    /// How late such a stream may be seen.
    private static let time = Duration.seconds(1)

    private var echoes: [String: Echo] = [:]

    var isEmpty: Bool { echoes.isEmpty }

    /// Adds a kind that has no effect any more.
    mutating func add(
        _ name: String, _ kind: EffectLedger.KindRecord, ledger: EffectLedger, _ image: AudioServerImage,
        givenBack: Set<EffectTarget>, at now: BootClock.Instant
    ) {
        expire(at: now)
        // On a restarted server, any stream may have begun with what the former instance had stored.
        let present = ledger.baseline.flatMap { $0.cookie == image.cookie ? $0 : nil }
        let earlier = echoes[name]
        echoes[name] = Echo(
            kind: kind, baseline: earlier.map(\.baseline) ?? present, until: now.advanced(by: Self.time),
            judged: givenBack.union(earlier?.judged ?? []))
    }

    /// Adds streams that began with our value to the ledger.
    /// - Returns: Whether there were any.
    mutating func takeBack(_ ledger: inout EffectLedger, _ image: AudioServerImage, at now: BootClock.Instant) -> Bool {
        guard !echoes.isEmpty else { return false }
        expire(at: now)
        let count = ledger.records.count
        for (name, echo) in echoes where ledger.kinds[name] == nil {
            ledger.adopt(echo.kind.last, image, without: echo.judged, kind: echo.kind) {
                echo.baseline?.isOlder(than: $0) ?? true
            }
            judge(name, image)
        }
        return ledger.records.count > count
    }

    /// PulseAudio starts a stream with its stored values. PipeWire sets them a moment later, so that another value
    /// proves nothing.
    private mutating func judge(_ name: String, _ image: AudioServerImage) {
        guard echoes[name]?.kind.isListed == true else { return }
        for target: EffectTarget in [.playingVolume(0), .playingMute(0), .recordingMute(0)] {
            let settled = image.targets(like: target, ofKind: name).filter { image.stream(of: $0)?.isSettled == true }
            echoes[name]?.judged.formUnion(settled)
        }
    }

    private mutating func expire(at now: BootClock.Instant) { echoes = echoes.filter { $0.value.until > now } }
}
