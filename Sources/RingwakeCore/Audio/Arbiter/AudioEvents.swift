/// The audio needs of the calls, derived from the coordinator after each event.
package struct CallAudioNeeds: Hashable, Sendable, Codable {
    /// The call that is in focus: answered, fulfilled and not held.
    package struct Focus: Hashable, Sendable, Codable {
        package var call: CallKey
        /// The other calls of its conference that are heard, the oldest first: all share the session.
        package var others: [CallKey] = []
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

        /// All calls that are heard.
        var calls: [CallKey] { [call] + others }

        /// Whether the session goes on for another one: a call that has it goes on.
        package func continues(as other: Focus) -> Bool { calls.contains { other.calls.contains($0) } }
    }

    /// The call whose audio should be active.
    package var focus: Focus?
    /// Another call is about to come into focus: other calls are being held for it, or it is being answered or resumed.
    /// Meanwhile the effects of the leaving call on others stay in force.
    package var isFocusComing = false
    /// A call rings.
    package var isRinging = false
    /// A call has been reported and has not ended, so the server stays connected.
    package var isAnyCall = false
    /// Processes that are never silenced or ducked: ringtone players and call handlers.
    package var exempt: Set<Int32> = []

    package static let none = CallAudioNeeds()

    package init() {}
}

/// A user's settings for how calls treat other audio.
package struct CallAudioSettings: Hashable, Sendable, Codable {
    /// What a connected call does to others.
    package var others = AudioPlan.Others.interrupt
    /// What a ringing call does to others.
    package var othersWhileRinging = AudioPlan.Others.leave
    /// How long an activation may take before the call continues without audio.
    package var activationTime = Duration.seconds(2)
    /// How long the server stays connected after the last session.
    package var linger = Duration.seconds(10)
    /// Whether there is an engine. Without one, sessions get the same answers and notices, and nothing changes on the
    /// machine.
    package var hasEngine = true

    package init() {}
}

/// Everything that can happen to the sessions of one user.
package enum AudioEvent: Hashable, Sendable {
    /// A client opens a session. With a lease, the session is in the foreground and may interrupt others.
    case opened(AudioSessionID, AudioClient, hasLease: Bool)
    /// The client closed its session, or died, which closed its connection.
    case closed(AudioSessionID)
    case leaseChanged(AudioSessionID, hasLease: Bool)
    /// The client configures its session. Only the difference takes effect.
    case configured(AudioSessionID, AudioSessionConfiguration)
    /// The client turns its speaker override on or off.
    case outputOverridden(AudioSessionID, isSpeaker: Bool)
    case activationRequested(AudioSessionID)
    case deactivationRequested(AudioSessionID, notifiesOthers: Bool)
    /// The needs of the calls have changed.
    case calls(CallAudioNeeds)
    /// The user chooses an output for calls and recordings; nil: none in particular. The driver gives each choice its
    /// own number, and the answer repeats it.
    case outputChosen(String?, number: UInt64)
    case settingsChanged(CallAudioSettings)
    case wokeFromSleep
    /// The engine reports something.
    case reported(AudioEngineReport)
    /// The engine is gone, or could not be started: the reason, for a person.
    case engineGone(String)
    /// The time of ``AudioArbiter/nextDeadline`` has come.
    case deadlineReached
}

/// Everything that the arbiter can ask its driver to do.
package enum AudioEffect: Hashable, Sendable {
    /// Start the engine.
    case startEngine
    /// Send a request to the engine.
    case send(AudioEngineRequest)
    /// Stop the engine: it exits by itself when its connection is closed.
    case stopEngine
    /// Notify the session's client.
    case notify(AudioSessionID, AudioNotice)
    /// The answer to the client's oldest unanswered request: an activation, a deactivation or a configuration. Each
    /// request gets exactly one answer, in order.
    case answer(AudioSessionID, Result<AudioRoute, AudioSessionError>)
    /// The result of the output choice with this number, exactly once per choice. Nil: the choice is part of the route,
    /// or is stored because there is no server. Otherwise the reason why it failed.
    case answerChoice(UInt64, AudioSessionError?)
    /// The call's audio has changed: `activated` exactly once per activation, `deactivated` exactly once after each,
    /// `failed` if it could not be activated or was lost. The call continues.
    case call(CallKey, CallAudioChange)
    /// The event did not fit and changed nothing.
    case refused(AudioSessionID, AudioSessionError)
    /// For the log.
    case problem(String)
}

/// What the client of a session is notified of.
package enum AudioNotice: Hashable, Sendable, Codable {
    case interruptionBegan(AudioInterruptionReason)
    case interruptionEnded(shouldResume: Bool)
    case routeChanged(AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
    /// An input became available, or the last one is gone. Sent to every open session.
    case inputAvailabilityChanged(Bool)
    /// True: another session that is not mixable is active and plays. False: it no longer does.
    case secondaryAudioShouldBeSilenced(Bool)
    case mediaServicesWereLost
    /// The server is there again: the session is inactive and has its configuration.
    case mediaServicesWereReset
}

extension AudioSessionID {
    /// The session of the calls.
    package static let call = AudioSessionID(number: 0)
    /// The session of ringing.
    package static let ringing = AudioSessionID(number: 1)
    /// The first session of a client. Smaller numbers are the daemon's own.
    package static let firstClient = AudioSessionID(number: 16)
}
