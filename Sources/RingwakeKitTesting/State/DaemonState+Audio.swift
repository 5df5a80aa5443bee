internal import RingwakeCore

// The audio of calls: the daemon's own arbiter, with nobody behind it who could fail.
extension DaemonState {
    /// Looks what the calls need now, and tells what comes of it.
    mutating func followAudio() {
        let needs = coordinator.audioNeeds(after: audioNeeds) { _ in [] }
        guard needs != audioNeeds else { return }
        audioNeeds = needs
        for case .call(let key, let change) in audio.handle(.calls(needs), at: now) {
            submit(.audioChanged(key, change))
        }
    }
}

extension CallAudioSettings {
    static var withoutEngine: CallAudioSettings {
        var settings = CallAudioSettings()
        settings.hasEngine = false
        return settings
    }
}
