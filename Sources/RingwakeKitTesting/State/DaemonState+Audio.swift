internal import RingwakeCore

// The audio of calls: the daemon's own arbiter, with nobody behind it who could fail.
extension DaemonState {
    /// Looks what the calls need now, and tells what comes of it.
    mutating func followAudio() {
        let needs = coordinator.audioNeeds(after: audioNeeds) { _ in [] }
        guard needs != audioNeeds else { return }
        audioNeeds = needs
        for effect in audio.handle(.calls(needs), at: now) {
            switch effect {
            case .callActivated(let key, let route): submit(.audioChanged(key, .activated(route)))
            case .callDeactivated(let key): submit(.audioChanged(key, .deactivated))
            case .callFailed(let key, let error): submit(.audioChanged(key, .failed(error)))
            default: break
            }
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
