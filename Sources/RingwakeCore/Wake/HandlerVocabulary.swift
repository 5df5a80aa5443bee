/// Identifies one start of a handler. No two have the same number while the coordinator lives, nor among the handlers
/// that it restores.
package struct WakeID: Hashable, Comparable, Sendable {
    package let number: UInt64

    /// The range of wake numbers.
    package static let numbers: ClosedRange<UInt64> = 0...(1 << 62)

    package init(number: UInt64) {
        self.number = number
    }

    package static func < (left: WakeID, right: WakeID) -> Bool { left.number < right.number }
}

/// The failures of a handler. Each is a strike against it.
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
    /// A call lost its handler, and no other start of the handler claimed it in time.
    case didNotClaim
}

/// How many handlers an app may have at a time.
package enum HandlerInstances: String, Sendable, Codable, CaseIterable {
    /// One for all calls. It fetches further calls while it runs; otherwise it is started again for them.
    case app
    /// One per call.
    case call
}

/// How a handler that is a command is started.
package enum HandlerStarter: String, Sendable, CaseIterable {
    /// By the daemon, in its own control group and sandbox.
    case exec
    /// By systemd, in its own unit and control group.
    case unit
}

/// The systemd manager of a unit.
package enum SystemdManager: String, Hashable, Sendable, Codable, CaseIterable {
    /// The manager of the daemon's user, on the session bus.
    case user
    /// The manager of the machine, on the system bus. It asks polkit for permission.
    case system
}

/// The message bus of a handler's name.
package enum MessageBus: String, Hashable, Sendable, Codable, CaseIterable {
    case session, system
}

/// The part of an app's configuration that applies to its calls.
package struct AppPolicy: Hashable, Sendable {
    /// The maximum duration of each state of a call.
    package var deadlines: CallDeadlines
    /// How many handlers the app may have at a time.
    package var instances: HandlerInstances
    /// Whether the app or the daemon makes the call ring.
    package var ringer = CallRinger.app
    /// What happens to a call whose handler failed before the ring.
    package var fallback = CallFallback.missed
    /// What happens to a call whose ring the journal can't record.
    package var unrecorded = UnrecordedCall.ring
    /// What happens to a new call while another is in progress.
    package var whenBusy = BusyPolicy.ring
    /// What happens to the other calls in progress when a call is answered, if the user doesn't say.
    package var others = OtherCalls.hold
    /// What happens to its calls when a cellular call begins.
    package var whenCellular = CellularPolicy.hold
    /// Whether its handler may answer its calls by itself.
    package var maySelfAnswer = true
    /// How long its calls ring before they answer themselves, as an intercom's; nil: they don't.
    package var autoAnswer: Duration?
    /// The list whose callers this is for; nil: all.
    package var autoAnswerList: String?

    /// Whether a call from a caller whom the lists know like this answers itself.
    package func answersItself(_ listed: ListVerdict?) -> Bool {
        autoAnswer != nil && (autoAnswerList == nil || listed?.identified?.list == autoAnswerList)
    }
    /// The number of strikes after which its handlers are no longer started.
    package var strikes = StrikeLimit()
    /// Whether a handler is started if none is connected.
    package var isStarted = true
    /// Whether a handler gets its first push when it is started; if not, it has to fetch the push.
    package var wakeBringsPush = true

    package init(deadlines: CallDeadlines = CallDeadlines(), instances: HandlerInstances = .app) {
        self.deadlines = deadlines
        self.instances = instances
    }
}

/// What makes a call ring.
package enum CallRinger: String, Sendable, Codable, CaseIterable {
    /// The app's handler, when it is notified that the call rings.
    case app
    /// The daemon: ring command, vibration, notification.
    case daemon
}

/// What happens to a call whose handler failed before the ring, or is not started because of its strikes.
package enum CallFallback: String, Sendable, Codable, CaseIterable {
    /// It becomes a missed call at once.
    case missed
    /// The daemon makes it ring. When the user answers, the handler gets another chance, unless it has too many
    /// strikes.
    case ring
}

/// What happens to a call that is to ring while the journal can't record that: its disk is full, fails or hangs. Its
/// sender was not answered 200.
package enum UnrecordedCall: String, Sendable, Codable, CaseIterable {
    /// It rings from memory. If the daemon is killed meanwhile, and the sender repeats the push, it rings once more.
    case ring
    /// The journal is asked again until the handler's time to confirm is over. Then the call is missed.
    case missed
}

/// What happens to a call that arrives while another is in progress, including a cellular one.
package enum BusyPolicy: String, Sendable, Codable, CaseIterable {
    /// It rings as a waiting call.
    case ring
    /// When its handler reports it, the handler is asked to end it and to signal busy to the caller.
    case reject
}

/// What happens to the other calls in progress when the user answers a call or resumes a held one.
package enum OtherCalls: String, Sendable, Codable, CaseIterable {
    /// They are held first. If one cannot be held, nothing changes.
    case hold
    /// They are ended first.
    case end
}

/// What happens to a call in progress when a cellular call begins.
package enum CellularPolicy: String, Sendable, Codable, CaseIterable {
    /// It is held; only the user resumes it.
    case hold
    /// It is ended.
    case end
    /// Nothing: the device supports both at once.
    case keep
}

/// The number of strikes within a time after which an app's handlers are no longer started, until the strikes are
/// cleared.
package struct StrikeLimit: Hashable, Sendable {
    /// 0: no limit.
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
