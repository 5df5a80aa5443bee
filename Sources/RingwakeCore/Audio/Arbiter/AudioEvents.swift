/// What the calls need of audio, as far as they are known: derived from the coordinator after each event.
package struct CallAudioNeeds: Hashable, Sendable, Codable {
    /// The call that is in focus: answered, fulfilled and not held.
    package struct Focus: Hashable, Sendable, Codable {
        package var call: CallKey
        package var client: AudioClient
        package var configuration: AudioSessionConfiguration
        package var isMuted: Bool

        package init(
            call: CallKey, client: AudioClient, configuration: AudioSessionConfiguration, isMuted: Bool = false
        ) {
            self.call = call
            self.client = client
            self.configuration = configuration
            self.isMuted = isMuted
        }
    }

    /// The call whose audio is to be active.
    package var focus: Focus?
    /// Another call is about to be in focus: others are being held for it, or it is being answered or gone on with. What
    /// the call that leaves had done to others stays in force meanwhile.
    package var isFocusComing = false
    /// A call rings.
    package var isRinging = false
    /// A call has been reported and has not ended: the server is connected to.
    package var isAnyCall = false
    /// Processes whose streams are nobody's business: what rings, handlers of calls.
    package var exempt: Set<Int32> = []

    package static let none = CallAudioNeeds()

    package init() {}
}

/// How a user's settings have calls treat others.
package struct CallAudioSettings: Hashable, Sendable, Codable {
    /// What a connected call does to others.
    package var others = AudioPlan.Others.interrupt
    /// What a ringing call does to others.
    package var othersWhileRinging = AudioPlan.Others.leave
    /// How long an activation may take before the call goes on without.
    package var activationTime = Duration.seconds(2)
    /// How long the server stays connected after the last session.
    package var linger = Duration.seconds(10)
    /// Whether there is anything to hold a connection to a server: without, sessions are told what they may do all the
    /// same, and nothing is done.
    package var hasEngine = true

    package init() {}
}

/// Everything that can happen to the sessions of one user.
package enum AudioEvent: Hashable, Sendable {
    /// A client opens a session. With a lease it stands in the foreground, and may interrupt others.
    case opened(AudioSessionID, AudioClient, hasLease: Bool)
    /// The client closed its session, or, where it died, its connection did.
    case closed(AudioSessionID, hasDied: Bool)
    case leaseChanged(AudioSessionID, hasLease: Bool)
    /// The client says what its session is; what is in force changes by the difference alone.
    case configured(AudioSessionID, AudioSessionConfiguration)
    /// The client asks for the speaker, or takes that back.
    case outputOverridden(AudioSessionID, isSpeaker: Bool)
    case activationRequested(AudioSessionID)
    case deactivationRequested(AudioSessionID, notifiesOthers: Bool)
    /// The calls need something else.
    case calls(CallAudioNeeds)
    /// The user chooses an output for calls and recordings; nil: none in particular. The number is the driver's, and of
    /// no other choice: the answer has it.
    case outputChosen(String?, number: UInt64)
    case settingsChanged(CallAudioSettings)
    case wokeFromSleep
    /// The holder of the server's connection tells something.
    case reported(AudioEngineReport)
    /// The holder of the server's connection is gone, or could not be started: why, for a person.
    case engineGone(String)
    /// The time that ``AudioArbiter/nextDeadline`` named has come.
    case deadlineReached
}

/// Everything that the sessions can ask for.
package enum AudioEffect: Hashable, Sendable {
    /// Have the holder of the server's connection there: start it.
    case startEngine
    /// Tell it this.
    case send(AudioEngineRequest)
    /// It is not needed any more: it goes by itself when its line is closed.
    case stopEngine
    /// Tell the session's client.
    case notify(AudioSessionID, AudioNotice)
    /// What the client asked for is done: the activation, the deactivation or the configuration that it asked for and
    /// that has not been answered. Exactly one for each, in their order.
    case answer(AudioSessionID, Result<AudioRoute, AudioSessionError>)
    /// What came of the choice of this number, exactly once for each. Nil: it is made, and the route is as it is with it,
    /// or it is remembered, as there is no server. Else why it was not done.
    case answerChoice(UInt64, AudioSessionError?)
    /// The call's audio has changed. It is `activated` exactly once for an activation, and `deactivated` exactly once after
    /// each; `failed` where it could not be activated, or was lost. The call goes on.
    case call(CallKey, CallAudioChange)
    /// The event did not fit and changed nothing.
    case refused(AudioSessionID, AudioSessionError)
    /// For the log.
    case problem(String)
}

/// What the client of a session is told by itself.
package enum AudioNotice: Hashable, Sendable, Codable {
    case interruptionBegan(AudioInterruptionReason)
    case interruptionEnded(shouldResume: Bool)
    case routeChanged(AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
    /// Another session that is not mixable is active and plays; or that is over.
    case secondaryAudioShouldBeSilenced(Bool)
    case mediaServicesWereLost
    /// The server is there again: the session is inactive and has its configuration.
    case mediaServicesWereReset
}

extension AudioSessionID {
    /// The session of the calls.
    package static let call = AudioSessionID(number: 0)
    /// The session that ringing has.
    package static let ringing = AudioSessionID(number: 1)
    /// The first of a client; smaller numbers are the daemon's own.
    package static let firstClient = AudioSessionID(number: 16)
}
