/// Microphones that somebody muted while a call or a recording went on: they stay muted until all of it is over.
///
/// A microphone's mute is the user's, and is lifted for an activation alone. Whoever mutes it afterwards, by a key of his
/// keyboard perhaps, is not to be heard because the call is held and gone on with, or another one takes its place.
struct MicrophoneHand: Hashable, Sendable {
    /// Names of sources.
    private(set) var muted: Set<String> = []
    /// Sources whose mute we are putting back, which has not been seen yet.
    private var returning: Set<String> = []

    /// What is asked of the server: that we mute is not the user's doing.
    mutating func ask(_ step: EffectChanges.Step) {
        guard case .sourceMute(let name) = step.target else { return }
        if step.value == .muted(true) { returning.insert(name) } else { returning.remove(name) }
    }

    /// The server has not done it.
    mutating func fail(_ step: EffectChanges.Step) {
        if case .sourceMute(let name) = step.target { returning.remove(name) }
    }

    /// - Parameter isWatching: Something goes on for which microphones are open, or will be again.
    mutating func notice(from former: AudioServerImage, to image: AudioServerImage, isWatching: Bool) {
        guard former.cookie == image.cookie else {
            self = MicrophoneHand()
            return
        }
        for source in image.sources.values where source.monitors == nil {
            guard source.isMuted else {
                muted.remove(source.name)
                continue
            }
            guard let before = former.source(named: source.name), !before.isMuted else { continue }
            if returning.remove(source.name) != nil { continue }
            // Each port has a mute of its own, which comes with it.
            if isWatching, before.activePort == source.activePort { muted.insert(source.name) }
        }
    }

    /// Everything is over: the next activation is another matter.
    mutating func forget() { muted = [] }
}
