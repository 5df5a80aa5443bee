/// Microphones that somebody muted during a call or a recording: they stay muted until all calls and recordings have
/// ended.
///
/// A microphone's mute belongs to the user, and is removed only for an activation. A later mute, perhaps by a key,
/// must not be removed when the call is held and resumed, or another call replaces it.
struct MutedMicrophones: Hashable, Sendable {
    /// Names of sources.
    private(set) var names: Set<String> = []
    /// Sources that we are muting again, and that are not seen muted yet.
    private var returning: Set<String> = []

    /// Notes a command before it is sent: a mute of ours isn't the user's.
    mutating func ask(_ step: EffectChanges.Step) {
        guard case .sourceMute(let name) = step.target else { return }
        if step.value == .muted(true) { returning.insert(name) } else { returning.remove(name) }
    }

    /// The command failed.
    mutating func fail(_ step: EffectChanges.Step) {
        if case .sourceMute(let name) = step.target { returning.remove(name) }
    }

    /// - Parameter isWatching: A call or a recording is active, or a call is held.
    mutating func notice(from former: AudioServerImage, to image: AudioServerImage, isWatching: Bool) {
        guard former.cookie == image.cookie else {
            self = MutedMicrophones()
            return
        }
        for source in image.sources.values where source.monitors == nil {
            guard source.isMuted else {
                names.remove(source.name)
                continue
            }
            guard let before = former.source(named: source.name), !before.isMuted else { continue }
            if returning.remove(source.name) != nil { continue }
            // Each port has its own mute, so a change of the port may change it.
            if isWatching, before.activePort == source.activePort { names.insert(source.name) }
        }
    }

    /// All calls and recordings have ended.
    mutating func forget() { names = [] }
}
