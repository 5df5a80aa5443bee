internal import RunLoop

/// Mutes that the server itself removes: PulseAudio's `module-role-cork`, which Debian loads, mutes music while a
/// stream of a phone plays, and unmutes it when that ends. Such an unmute isn't the user's.
///
/// The module reports nothing. So an unmute counts as the module's if such a stream has just ended, or is seen to end
/// a moment later: one change of the server may be seen in two parts.
struct RoleCorkModule: Hashable, Sendable {
    /// Maximum time between the two.
    private static let window = Duration.milliseconds(500)

    /// Mutes that have to be set again, until they are.
    private(set) var released: Set<EffectTarget> = []
    /// Mutes that were set again since. If they are removed once more, somebody else did it.
    private var spent: Set<EffectTarget> = []
    /// Streams that were just seen unmuted.
    private var unmuted: [EffectTarget: BootClock.Instant] = [:]
    /// When a stream that may have caused mutes was seen to end.
    private var ended: BootClock.Instant?

    /// - Parameter isCause: whether the module may have muted others for this stream.
    mutating func notice(
        from former: AudioServerImage, to image: AudioServerImage, at now: BootClock.Instant,
        isCause: (AudioServerImage.Stream) -> Bool
    ) {
        // PipeWire has no such module.
        guard former.cookie == image.cookie, !image.isPipeWire else {
            self = RoleCorkModule()
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

    /// The module looks at each device alone, so a stream that is moved ends on its former device.
    fileprivate func goesOn(as now: AudioServerImage.Stream?) -> Bool {
        guard let now else { return false }
        return now.isHeard && now.device == device
    }
}
