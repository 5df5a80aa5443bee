/// Names one session for as long as its owner lives. No two are equal, over restarts of the audio program too.
package struct AudioSessionID: Hashable, Comparable, Sendable, Codable {
    package let number: UInt64

    package init(number: UInt64) { self.number = number }

    package static func < (left: AudioSessionID, right: AudioSessionID) -> Bool { left.number < right.number }
}

/// Whose streams a session's are: of these processes, their children and their process groups.
package struct AudioClient: Hashable, Sendable, Codable {
    /// The processes; none where they are not known, then the session has no streams of its own to move or mute.
    package var processes: Set<Int32>
    /// What it is called, for a person: an app, a command. Untrusted text.
    package var name: String

    package init(processes: Set<Int32> = [], name: String) {
        self.processes = processes
        self.name = name
    }
}

/// How the server is to be, said as a whole: what is in force besides is the user's own.
///
/// A plan says what is wanted, not how to come there. Whoever carries it out makes the difference to what it has done
/// already: an effect that the former plan wanted too is not undone and made again.
package struct AudioPlan: Hashable, Sendable, Codable {
    /// One active session.
    package struct Session: Hashable, Sendable, Codable {
        package var id: AudioSessionID
        package var client: AudioClient
        package var configuration: AudioSessionConfiguration
        /// What becomes of everybody's sound who is neither in the plan nor exempt.
        package var others: Others
        /// It may take the microphone now: the source is not muted, and its port is the route's.
        package var isInputOpen: Bool
        /// The streams that record for this client are muted.
        package var isMuted: Bool
        /// The user or the client has asked for the speaker; gone with the next change of the route.
        package var isSpeakerForced: Bool
        /// It goes on when its device vanishes, on the next one.
        package var isCall: Bool

        package init(
            id: AudioSessionID, client: AudioClient, configuration: AudioSessionConfiguration, others: Others,
            isInputOpen: Bool = false, isMuted: Bool = false, isSpeakerForced: Bool = false, isCall: Bool = false
        ) {
            self.id = id
            self.client = client
            self.configuration = configuration
            self.others = others
            self.isInputOpen = isInputOpen
            self.isMuted = isMuted
            self.isSpeakerForced = isSpeakerForced
            self.isCall = isCall
        }
    }

    /// What becomes of the sound of those who cannot be told.
    package enum Others: String, Sendable, Codable, CaseIterable {
        /// They are heard as before.
        case leave
        /// They are quieter: a gain, never multiplied.
        case duck
        /// Players are paused; what still sounds is muted.
        case interrupt
    }

    /// The active sessions, the one whose route counts first: by priority, then the newest activation.
    package var sessions: [Session]
    /// Clients of sessions that are interrupted, or were deactivated while their streams ran: these are silent.
    package var silenced: [AudioSessionID: AudioClient]
    /// Clients of active sessions that are ducked by another one.
    package var ducked: [AudioSessionID: AudioClient]
    /// Processes whose streams nobody touches: what rings.
    package var exempt: Set<Int32>
    /// A call that was active may be so again, such as one that is held: a microphone that the user has muted since is
    /// not opened for it. Nothing else comes of it.
    package var isCallWaiting: Bool

    package init(
        sessions: [Session] = [], silenced: [AudioSessionID: AudioClient] = [:],
        ducked: [AudioSessionID: AudioClient] = [:], exempt: Set<Int32> = [], isCallWaiting: Bool = false
    ) {
        self.sessions = sessions
        self.silenced = silenced
        self.ducked = ducked
        self.exempt = exempt
        self.isCallWaiting = isCallWaiting
    }

    /// Nothing is wanted of the server.
    package var isEmpty: Bool { sessions.isEmpty && silenced.isEmpty && ducked.isEmpty }

    func contains(_ id: AudioSessionID) -> Bool { sessions.contains { $0.id == id } }
}
