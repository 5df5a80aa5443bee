public import RingwakeCore

/// The state of a session.
public enum AudioSessionState: String, Hashable, Sendable, CaseIterable {
    /// Not active: new, deactivated, or its server was restarted.
    case inactive
    /// Activation was requested, and the audio server has not acknowledged everything.
    case activating
    case active
    /// Another session replaced it. It becomes active again only by ``AudioSession/setActive(_:notifyOthers:)``.
    case interrupted
    case deactivating
    /// The audio server is gone.
    case lost
}

/// What a session is notified of: AVAudioSession's notifications.
public enum AudioSessionNotice: Hashable, Sendable {
    /// It is interrupted: its streams are silenced. See `AVAudioSession.interruptionNotification`.
    case interruptionBegan(AudioInterruptionReason)
    /// The interruption has ended. With `shouldResume`, activate the session and continue; without, wait for the user.
    /// This notice is not guaranteed.
    case interruptionEnded(shouldResume: Bool)
    /// Its route has changed. See `AVAudioSession.routeChangeNotification`.
    case routeChanged(AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
    /// Another session that does not mix has begun to play, or has ended: silence what is not essential, such as a
    /// game's music. See `AVAudioSession.silenceSecondaryAudioHintNotification`.
    case secondaryAudioShouldBeSilenced(Bool)
    /// The audio server is gone, and the streams with it.
    case mediaServicesWereLost
    /// The audio server is back: make new streams, and activate the session when appropriate. It has kept its
    /// configuration.
    case mediaServicesWereReset
    /// The audio server refused a change of the active configuration: the former one stays in force.
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
