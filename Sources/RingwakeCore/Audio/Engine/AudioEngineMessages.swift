/// What the owner of the sessions asks of whoever holds the connection to the audio server: in the daemon over a socket
/// to `ringwake-audio`, one JSON object a line; in a program that uses the library alone, by a call.
package enum AudioEngineRequest: Hashable, Sendable, Codable {
    /// Connect to the server, mirror it, and write down beforehand what this plan would change: it is expected soon.
    /// Nothing is changed.
    case prepare(AudioPlan)
    /// Make the server as this plan says, in one batch; answered by `applied` or `refused` of this number. A plan that
    /// comes while another is under way takes its place: each gets its answer, in order.
    ///
    /// `resumes`: what this plan frees was left in good order, so players that were paused for it play again.
    case apply(number: UInt64, AudioPlan, resumes: Bool)
    /// The user chooses an output: a ``AudioPort/device``, or the name of a ``AudioPort/Kind``; nil: none in particular.
    /// In force while a plan with a call or a recording is.
    ///
    /// With a number it is answered by `outputChosen` of that number, and a name that stands for no output of the server
    /// changes nothing; after `lost` there is no answer. Without one it was chosen before, and what has that name may
    /// still come.
    case chooseOutput(String?, number: UInt64? = nil)
    /// The machine has woken from sleep: the route is looked at anew, and told as `wakeFromSleep` if it is another.
    case wokeFromSleep
}

/// What the holder of the connection to the audio server tells.
package enum AudioEngineReport: Hashable, Sendable, Codable {
    /// The first: it is there. `mended`: effects of an earlier one that were undone.
    case ready(version: String, mended: Int)
    /// The server is connected and mirrored; also when it is there again.
    case connected(AudioServerDescription, AudioRoute)
    /// There is no server, or it refuses us: why, for a person. It is connected to as soon as it comes.
    case unavailable(String)
    /// The connection to the server broke. All effects went with it, but for what it has stored, which is mended when it
    /// is back; `connected` follows then, and no plan is in force.
    case lost(String)
    /// The plan is in force: the server has acknowledged everything.
    case applied(number: UInt64, AudioApplied)
    /// The plan could not be carried out and the server is as it was before; the former plan is in force.
    case refused(number: UInt64, AudioSessionError)
    /// The choice of this number is carried out, as far as a plan is in force, and the route that came of it has been
    /// told; or its name is not known to the server, and all is as before.
    case outputChosen(number: UInt64, isKnown: Bool)
    /// The route that counts is another, for a reason of the device's or the user's. What a plan brings about is told by
    /// `applied`.
    case routeChanged(AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
    /// The device that the route went to is gone, and the session whose route counts is not a call.
    case routeDisconnected
    /// The built-in microphone was muted in hardware, or is no more.
    case microphoneMuted(Bool)
    /// Which sessions of the plan have running streams, and whether anybody else plays.
    case activity(running: Set<AudioSessionID>, othersPlay: Bool)
    /// Something could not be done or put back; for the log.
    case problem(String)
}

/// An audio server, as it describes itself. Untrusted text.
package struct AudioServerDescription: Hashable, Sendable, Codable {
    /// Such as `pulseaudio`, or `PulseAudio (on PipeWire 0.3.65)`.
    package var name: String
    package var version: String
    /// Whom it runs as, where and on which host, as far as known.
    package var location: String

    package init(name: String, version: String, location: String) {
        self.name = name
        self.version = version
        self.location = location
    }
}

/// What carrying out a plan came to.
package struct AudioApplied: Hashable, Sendable, Codable {
    /// The route that counts now.
    package var route: AudioRoute
    /// Sessions that left the plan while their streams ran; these are silenced.
    package var busy: Set<AudioSessionID>
    /// Effects that are in force, that were made by this plan, and that were undone by it.
    package var inForce: Int
    package var made: Int
    package var undone: Int
    /// What could not be put back as the user had changed it meanwhile: it stays.
    package var left: Int
    /// From the request to the server's last acknowledgement, in microseconds.
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
