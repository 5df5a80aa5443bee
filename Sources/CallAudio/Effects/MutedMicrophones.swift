/// Microphones that somebody muted during a call or a recording: they stay muted until all of it has ended.
///
/// The mute of a microphone belongs to the user, and is removed only for an activation. A mute that comes later,
/// perhaps by a key, must not be removed when the call is held and resumed, or another call replaces it.
struct MutedMicrophones: Hashable, Sendable {
    /// Names of sources.
    private(set) var names: Set<String> = []
    /// Sources that we are muting again, which has not been seen yet.
    private var returning: Set<String> = []

    /// A command leaves: a mute of ours is not the user's.
    mutating func ask(_ step: EffectChanges.Step) {
        guard case .sourceMute(let name) = step.target else { return }
        if step.value == .muted(true) { returning.insert(name) } else { returning.remove(name) }
    }

    /// The server has not carried it out.
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
            // Each port has a mute of its own, which comes with it.
            if isWatching, before.activePort == source.activePort { names.insert(source.name) }
        }
    }

    /// All calls and recordings have ended.
    mutating func forget() { names = [] }
}
