/// The audio session of one call.
package struct CallAudioState: Hashable, Sendable {
    /// Rises with each activation of this call, over restarts too.
    package internal(set) var activation = 0
    package internal(set) var phase = Phase.inactive

    package enum Phase: Hashable, Sendable {
        case inactive
        /// The handler may play and record.
        case active(AudioRoute)
        /// It could not be activated, or was lost. The call goes on.
        case failed(AudioSessionError)
    }
}

/// What happens to the audio session of a call.
package enum CallAudioChange: Hashable, Sendable {
    case activated(AudioRoute)
    case deactivated
    case failed(AudioSessionError)
    case routeChanged(AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
}

extension CallAudioState {
    /// Whether `change` was one.
    mutating func apply(_ change: CallAudioChange) -> Bool {
        let before = self
        switch (change, phase) {
        case (.activated, .active): return false
        case (.activated(let route), _):
            activation &+= 1
            phase = .active(route)
        case (.deactivated, .active), (.deactivated, .failed): phase = .inactive
        case (.failed(let error), _): phase = .failed(error)
        case (.routeChanged(_, _, let current), .active): phase = .active(current)
        case (.deactivated, .inactive), (.routeChanged, _): return false
        }
        return self != before
    }

    /// Whether its handler may play and record.
    package var isActive: Bool {
        if case .active = phase { true } else { false }
    }
}

extension Call {
    /// After a restart: what the last run had done to the audio server was put back when it ended. An activation may have
    /// been told that was not written down any more, and the next one must not have its number.
    mutating func restoreAudio() {
        switch machine.state {
        case .answering, .connected, .held, .ending: break
        case .queued, .woken, .reported, .confirmed, .ringing, .ended: return
        }
        var state = audio ?? CallAudioState()
        state.activation &+= 1
        state.phase = .inactive
        audio = state
    }

    /// What its audio session is to be.
    package var sessionConfiguration: AudioSessionConfiguration {
        if let audioConfiguration { return audioConfiguration }
        return update.hasVideo == true ? .videoCall : .voiceCall
    }
}
