/// A request to the engine, which holds the connection to the audio server. The daemon sends it over a socket to
/// `ringwake-audio`, as one JSON object per line; a program that uses the library alone makes a call.
package enum AudioEngineRequest: Hashable, Sendable, Codable {
    /// Connect to the server, mirror its state, and record what this expected plan would change, without changing
    /// anything.
    case prepare(AudioPlan)
    /// Apply this plan to the server in one batch. The answer is `applied` or `refused` with the same number. A plan
    /// that arrives while another is in progress replaces it; each gets its answer, in order.
    ///
    /// `resumes`: whether players that were paused for the sessions that this plan ends play again.
    case apply(number: UInt64, AudioPlan, resumes: Bool)
    /// The user chooses an output: a ``AudioPort/device``, or the name of a ``AudioPort/Kind``; nil: none in
    /// particular. It applies while a plan has a call or a recording.
    ///
    /// With a number, the answer is `outputChosen` with that number, and a name that fits no output of the server
    /// changes nothing. After `lost` there is no answer. Without a number, the output was chosen earlier, and may
    /// appear later.
    case chooseOutput(String?, number: UInt64? = nil)
    /// The machine has woken from sleep: check the route, and report a change as `wakeFromSleep`.
    case wokeFromSleep
}

/// A report of the engine, which holds the connection to the audio server.
package enum AudioEngineReport: Hashable, Sendable, Codable {
    /// The engine runs, and has undone what an earlier one left. `mended`: the number of effects that it undid. Only
    /// `effects` may come before.
    case ready(version: String, mended: Int)
    /// The number of effects to undo, those of an earlier engine too; sent with each change. `isRestoring`: no plan
    /// wants them any more, so they are being undone, or wait for the server or for a player.
    case effects(count: Int, isRestoring: Bool)
    /// The server is connected and mirrored. Sent again after each reconnection.
    case connected(AudioServerDescription, AudioRoute)
    /// There is no server, or it refuses the connection: the reason, for a person. The engine connects as soon as there
    /// is one.
    case unavailable(String)
    /// The connection to the server broke, which ended all effects except those that the server stores. The engine
    /// undoes these when the server is back. `connected` follows then, and no plan is in force.
    case lost(String)
    /// The plan is in force: the server has acknowledged everything.
    case applied(number: UInt64, AudioApplied)
    /// The plan failed, and the server is as before; the former plan is in force.
    case refused(number: UInt64, AudioSessionError)
    /// The choice with this number has taken effect as far as a plan is in force, and the new route has been reported.
    /// Or the server doesn't know the name, and nothing has changed.
    case outputChosen(number: UInt64, isKnown: Bool)
    /// The current route has changed because of a device or the user. `applied` reports the changes that a plan makes.
    case routeChanged(AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
    /// The device of the route is gone, and the session that decides the route is not a call.
    case routeDisconnected
    /// The built-in microphone was muted in hardware, or was unmuted.
    case microphoneMuted(Bool)
    /// The sessions of the plan whose streams run, and whether any other program plays.
    case activity(running: Set<AudioSessionID>, othersPlay: Bool)
    /// Something could not be done or restored; for the log.
    case problem(String)
}

/// An audio server's description of itself. Untrusted text.
package struct AudioServerDescription: Hashable, Sendable, Codable {
    /// Such as `pulseaudio`, or `PulseAudio (on PipeWire 0.3.65)`.
    package var name: String
    package var version: String
    /// The user, the address and the host of the server, as far as known.
    package var location: String

    package init(name: String, version: String, location: String) {
        self.name = name
        self.version = version
        self.location = location
    }
}

/// The result of applying a plan.
package struct AudioApplied: Hashable, Sendable, Codable {
    /// The current route.
    package var route: AudioRoute
    /// Sessions that left the plan while their streams ran; these are silenced.
    package var busy: Set<AudioSessionID>
    /// The number of effects in force. Only daemons of versions before ``AudioEngineReport/effects(count:isRestoring:)``
    /// read it, and they read no answer without it: an upgrade leaves the daemons of users running.
    package var inForce: Int
    /// The number of effects that this plan made, and of those that it undid.
    package var made: Int
    package var undone: Int
    /// The number of effects that were not undone because the user had changed the setting meanwhile.
    package var left: Int
    /// Microseconds from the request to the server's last acknowledgement.
    package var microseconds: Int64

    package init(
        route: AudioRoute, busy: Set<AudioSessionID> = [], inForce: Int = 0, made: Int = 0, undone: Int = 0,
        left: Int = 0, microseconds: Int64 = 0
    ) {
        self.route = route
        self.busy = busy
        self.inForce = inForce
        self.made = made
        self.undone = undone
        self.left = left
        self.microseconds = microseconds
    }
}
