/// Names one start of a handler. No two are equal as long as the coordinator lives, and what its snapshot restores.
package struct WakeID: Hashable, Comparable, Sendable, Codable {
    package let number: UInt64

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
}

/// How many handlers an app has at a time.
package enum HandlerInstances: String, Sendable, Codable, CaseIterable {
    /// One for all calls: what arrives while it runs it fetches, or it is started again for.
    case app
    /// One for each call.
    case call
}

/// What an app's configuration says of its calls.
package struct AppPolicy: Hashable, Sendable, Codable {
    /// How long each state of a call may last.
    package var deadlines: CallDeadlines
    /// How many handlers it has at a time.
    package var instances: HandlerInstances

    package init(deadlines: CallDeadlines = CallDeadlines(), instances: HandlerInstances = .app) {
        self.deadlines = deadlines
        self.instances = instances
    }
}
