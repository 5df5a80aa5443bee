public import RingwakeCore

/// Where a session stands.
public enum AudioSessionState: String, Hashable, Sendable, CaseIterable {
    /// Not active: new, deactivated, or its server was restarted.
    case inactive
    /// It has asked to be active, and the audio server has not acknowledged everything.
    case activating
    case active
    /// Another session took its place. It becomes active again by ``AudioSession/setActive(_:notifyOthers:)`` alone.
    case interrupted
    case deactivating
    /// The audio server is gone.
    case lost
}

/// What a session is told by itself: AVAudioSession's notifications.
public enum AudioSessionNotice: Hashable, Sendable {
    /// It is interrupted: what it plays is silenced. See `AVAudioSession.interruptionNotification`.
    case interruptionBegan(AudioInterruptionReason)
    /// What interrupted it is over. With `shouldResume`, make it active again and go on; without, wait for the user.
    /// There is no promise that this comes.
    case interruptionEnded(shouldResume: Bool)
    /// Its sound goes, or comes from, elsewhere. See `AVAudioSession.routeChangeNotification`.
    case routeChanged(AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
    /// Another session that is to be heard alone has begun to play, or has ended: silence what is not essential, such
    /// as a game's music. See `AVAudioSession.silenceSecondaryAudioHintNotification`.
    case secondaryAudioShouldBeSilenced(Bool)
    /// The audio server is gone, and the streams with it.
    case mediaServicesWereLost
    /// The audio server is there again: make streams anew, and make the session active again when that is right. It has
    /// kept its configuration.
    case mediaServicesWereReset
    /// A change of the configuration that was in force already was refused by the audio server: the former one is.
    case configurationRefused(AudioSessionError)
}

extension AudioSessionNotice {
    init(_ notice: AudioNotice) {
        self =
            switch notice {
            case .interruptionBegan(let reason): .interruptionBegan(reason)
            case .interruptionEnded(let shouldResume): .interruptionEnded(shouldResume: shouldResume)
            case .routeChanged(let reason, let previous, let current):
                .routeChanged(reason, previous: previous, current: current)
            case .secondaryAudioShouldBeSilenced(let isSilenced): .secondaryAudioShouldBeSilenced(isSilenced)
            case .mediaServicesWereLost: .mediaServicesWereLost
            case .mediaServicesWereReset: .mediaServicesWereReset
            }
    }
}
