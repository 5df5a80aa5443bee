public import RingwakeCore

/// The state of a session.
public enum AudioSessionState: String, Hashable, Sendable, CaseIterable {
    /// Not active: the session is new or deactivated, or the audio server was restarted.
    case inactive
    /// Activation was requested, and the audio server has not acknowledged everything.
    case activating
    case active
    /// Another session interrupted it. It becomes active again only with ``AudioSession/setActive(_:notifyOthers:)``.
    case interrupted
    case deactivating
    /// The connection to the audio server was lost.
    case lost
}

/// A notice to a session: AVAudioSession's notifications.
public enum AudioSessionNotice: Hashable, Sendable {
    /// The session was interrupted, and its streams are silenced. See `AVAudioSession.interruptionNotification`.
    case interruptionBegan(AudioInterruptionReason)
    /// The interruption has ended. With `shouldResume`, activate the session and continue; without, wait for the user.
    /// You may never get this notice.
    case interruptionEnded(shouldResume: Bool)
    /// The session's route has changed. See `AVAudioSession.routeChangeNotification`.
    case routeChanged(AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
    /// A microphone was connected, or the last one removed: see ``AudioSession/isInputAvailable``. The session need not be
    /// active.
    case inputAvailabilityChanged(Bool)
    /// Another session that does not mix has started or stopped playing: silence sound that is not essential, such as a
    /// game's music, or play it again. See `AVAudioSession.silenceSecondaryAudioHintNotification`.
    case secondaryAudioShouldBeSilenced(Bool)
    /// The audio server was lost, and the streams with it.
    case mediaServicesWereLost
    /// The audio server is back: make new streams, and activate the session when appropriate. The session has kept its
    /// configuration.
    case mediaServicesWereReset
    /// The audio server refused a change of the active configuration: the session keeps the former one.
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
            case .inputAvailabilityChanged(let isAvailable): .inputAvailabilityChanged(isAvailable)
            case .secondaryAudioShouldBeSilenced(let isSilenced): .secondaryAudioShouldBeSilenced(isSilenced)
            case .mediaServicesWereLost: .mediaServicesWereLost
            case .mediaServicesWereReset: .mediaServicesWereReset
            }
    }
}
