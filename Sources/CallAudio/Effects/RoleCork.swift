internal import RunLoop

/// What a server unmutes by itself, and nobody else: PulseAudio's `module-role-cork`, which Debian loads, mutes music
/// while a stream of a phone plays, and unmutes it when that ends. This is not the user's hand.
///
/// The module tells nobody. So it is taken for its doing that something is unmuted when such a stream has just ended, or
/// is about to be seen to have: what the server tells in one go may be seen in two.
struct RoleCork: Hashable, Sendable {
    /// How far apart both may be seen.
    private static let window = Duration.milliseconds(500)

    /// Mutes that are to be in force again, until they are.
    private(set) var released: Set<EffectTarget> = []
    /// Those that were muted again since: unmuted once more, it was somebody else.
    private var spent: Set<EffectTarget> = []
    /// Streams that were seen to be unmuted just now.
    private var unmuted: [EffectTarget: BootClock.Instant] = [:]
    /// When a stream that may have had others muted was seen to play no more.
    private var ended: BootClock.Instant?

    /// - Parameter isCause: Of a stream that the module may have muted others for.
    mutating func notice(
        from former: AudioServerImage, to image: AudioServerImage, at now: BootClock.Instant,
        isCause: (AudioServerImage.Stream) -> Bool
    ) {
        // PipeWire has no such module.
        guard former.cookie == image.cookie, !image.isPipeWire else {
            self = RoleCork()
            return
        }
        spent.formUnion(released.filter { image.value(of: $0) == .muted(true) })
        released = released.filter { image.value(of: $0) == .muted(false) }
        unmuted = unmuted.filter {
            image.value(of: $0.key) == .muted(false) && $0.value.advanced(by: Self.window) > now
        }
        for stream in image.playing.values where !stream.isMuted && former.playing[stream.index]?.isMuted == true {
            unmuted[.playingMute(stream.index)] = now
        }
        let hasEnded = former.playing.values.contains { stream in
            stream.isHeard && !stream.goesOn(as: image.playing[stream.index]) && isCause(stream)
        }
        if hasEnded { (ended, spent) = (now, []) }
        guard let ended, ended.advanced(by: Self.window) > now else { return }
        released.formUnion(Set(unmuted.keys).subtracting(spent))
    }
}

extension AudioServerImage.Stream {
    fileprivate var isHeard: Bool { isRunning && !isMuted }

    /// The module looks at each device by itself, so that a stream that is moved ends on one of them.
    fileprivate func goesOn(as now: AudioServerImage.Stream?) -> Bool {
        guard let now else { return false }
        return now.isHeard && now.device == device
    }
}
