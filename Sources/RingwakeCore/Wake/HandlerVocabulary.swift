/// Names one start of a handler. No two are equal as long as the coordinator lives, and what its snapshot restores.
package struct WakeID: Hashable, Comparable, Sendable {
    package let number: UInt64

    /// The numbers that starts of handlers get.
    package static let numbers: ClosedRange<UInt64> = 0...(1 << 62)

    package init(number: UInt64) {
        self.number = number
    }

    package static func < (left: WakeID, right: WakeID) -> Bool { left.number < right.number }
}

/// What a handler did not do: each is a strike against it.
package enum HandlerFailure: String, Sendable, Codable, CaseIterable {
    /// Its program could not be started.
    case didNotStart
    /// It did not report its call in time.
    case didNotReport
    /// It reported its call and did not confirm it in time.
    case didNotConfirm
    /// It did not fulfill or fail an action in time.
    case didNotAct
    /// It exited with a call that had not ended.
    case exited
    /// A call outlived it, and no other start of it claimed the call in time.
    case didNotClaim
}

/// How many handlers an app has at a time.
package enum HandlerInstances: String, Sendable, Codable, CaseIterable {
    /// One for all calls: what arrives while it runs it fetches, or it is started again for.
    case app
    /// One for each call.
    case call
}

/// Who starts a handler that is a command.
package enum HandlerStarter: String, Sendable, CaseIterable {
    /// The daemon, in its own control group and sandbox.
    case exec
    /// systemd, in a unit and a control group of its own.
    case unit
}

/// Which systemd a unit belongs to.
package enum SystemdManager: String, Hashable, Sendable, Codable, CaseIterable {
    /// The manager of the user that the daemon runs as, on the session bus.
    case user
    /// The manager of the machine, on the system bus. It asks polkit whether the daemon may.
    case system
}

/// Which message bus a handler's name is on.
package enum MessageBus: String, Hashable, Sendable, Codable, CaseIterable {
    case session, system
}

/// What an app's configuration says of its calls.
package struct AppPolicy: Hashable, Sendable {
    /// How long each state of a call may last.
    package var deadlines: CallDeadlines
    /// How many handlers it has at a time.
    package var instances: HandlerInstances
    /// Who makes it ring: the app itself, or the daemon for it.
    package var ringer = CallRinger.app
    /// What becomes of a call whose handler failed before the call rang.
    package var fallback = CallFallback.missed
    /// What becomes of a call that comes while another goes on.
    package var whenBusy = BusyPolicy.ring
    /// What becomes of the calls that go on when another is answered, if the user does not say.
    package var others = OtherCalls.hold
    /// What becomes of its calls when a cellular call begins.
    package var whenCellular = CellularPolicy.hold
    /// When its handler is not started any more.
    package var strikes = StrikeLimit()
    /// Whether a handler is started where none keeps a connection.
    package var isStarted = true
    /// Whether a handler is given, as it is started, what it is started for; else it has to fetch it.
    package var wakeBringsPush = true

    package init(deadlines: CallDeadlines = CallDeadlines(), instances: HandlerInstances = .app) {
        self.deadlines = deadlines
        self.instances = instances
    }
}

/// Who makes a call ring.
package enum CallRinger: String, Sendable, Codable, CaseIterable {
    /// The app's handler, once it is told that the call rings.
    case app
    /// The daemon: ring command, vibration, notification.
    case daemon
}

/// What becomes of a call whose handler failed before it rang, or is not started because of its strikes.
package enum CallFallback: String, Sendable, Codable, CaseIterable {
    /// It is a missed call at once.
    case missed
    /// The daemon makes it ring. When the user answers, the handler gets another chance, unless it has too many strikes.
    case ring
}

/// What becomes of a call that comes while another one goes on, also a cellular one.
package enum BusyPolicy: String, Sendable, Codable, CaseIterable {
    /// It rings as a waiting call.
    case ring
    /// Its handler is asked to end it when it reports it, and tells the caller that the line is busy.
    case reject
}

/// What becomes of the calls that go on when the user answers another or goes on with a held one.
package enum OtherCalls: String, Sendable, Codable, CaseIterable {
    /// They are held first; what cannot be held leaves all as it was.
    case hold
    /// They are ended first.
    case end
}

/// What becomes of a call that goes on when a cellular call begins.
package enum CellularPolicy: String, Sendable, Codable, CaseIterable {
    /// It is held; nobody but the user goes on with it.
    case hold
    /// It is ended.
    case end
    /// Nothing: the device can do both at a time.
    case keep
}

/// How many strikes within how long end the starting of an app's handler, until somebody clears them.
package struct StrikeLimit: Hashable, Sendable {
    /// 0: never.
    package var count: Int
    package var window: Duration

    package init(count: Int = 5, window: Duration = .seconds(3600)) {
        self.count = count
        self.window = window
    }
}

/// One strike against an app's handler.
package struct Strike: Hashable, Sendable {
    package let at: BootInstant
    package let failure: HandlerFailure
    package let call: CallID

    package init(at: BootInstant, failure: HandlerFailure, call: CallID) {
        self.at = at
        self.failure = failure
        self.call = call
    }
}
