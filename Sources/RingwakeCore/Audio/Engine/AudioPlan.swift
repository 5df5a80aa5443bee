/// Identifies one session for as long as its owner lives. No number is used twice, even if the engine restarts.
package struct AudioSessionID: Hashable, Comparable, Sendable, Codable {
    package let number: UInt64

    package init(number: UInt64) { self.number = number }

    package static func < (left: AudioSessionID, right: AudioSessionID) -> Bool { left.number < right.number }
}

/// The owner of a session's streams: these processes, their children and their process groups.
package struct AudioClient: Hashable, Sendable, Codable {
    /// The processes. Empty if they are not known: then the session has no streams to move or mute.
    package var processes: Set<Int32>
    /// The name of the app or the command, for a person. Untrusted text.
    package var name: String

    package init(processes: Set<Int32> = [], name: String) {
        self.processes = processes
        self.name = name
    }
}

/// The complete wanted state of the server. Everything else belongs to the user.
///
/// A plan says what is wanted, not how to get there. The engine applies only the difference: it does not undo and redo
/// an effect that the former plan wanted too.
package struct AudioPlan: Hashable, Sendable, Codable {
    /// One active session.
    package struct Session: Hashable, Sendable, Codable {
        package var id: AudioSessionID
        package var client: AudioClient
        package var configuration: AudioSessionConfiguration
        /// What happens to the sound of processes that are neither in the plan nor exempt.
        package var others: Others
        /// Whether it may use the microphone now: the source is not muted, and the route decides its port.
        package var isInputOpen: Bool
        /// Whether the streams that record for this client are muted.
        package var isMuted: Bool
        /// Whether the user or the client forces the speaker. The next change of the route ends that.
        package var isSpeakerForced: Bool
        /// Whether it is a call, which continues on the next device when its device vanishes.
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

    /// What happens to the sound of programs that cannot be notified.
    package enum Others: String, Sendable, Codable, CaseIterable {
        /// They play as before.
        case leave
        /// They are quieter. Several duckings don't add up.
        case duck
        /// Their players are paused; whatever still plays is muted.
        case interrupt
    }

    /// The active sessions, the one that decides the route first: by priority, then the newest activation.
    package var sessions: [Session]
    /// Clients to silence: their sessions are interrupted, or were deactivated while their streams ran.
    package var silenced: [AudioSessionID: AudioClient]
    /// Clients of active sessions that another session ducks.
    package var ducked: [AudioSessionID: AudioClient]
    /// Processes whose streams the engine never touches, such as ringtone players.
    package var exempt: Set<Int32>
    /// Whether a call that was active may become active again, such as a held one. If the user has muted the microphone
    /// since, it stays muted for that call. It has no other effect.
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

    /// Whether the plan wants nothing of the server.
    package var isEmpty: Bool { sessions.isEmpty && silenced.isEmpty && ducked.isEmpty }

    func contains(_ id: AudioSessionID) -> Bool { sessions.contains { $0.id == id } }
}
