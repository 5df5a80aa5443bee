package import RingwakeCore

/// Whether the daemon, or an app, can reach its targets.
package struct ConnectionMessage: Codable, Equatable, Sendable {
    /// `online`, `limited` or `offline`.
    package var status: String
    /// Why it isn't online: Reachability's `UnsatisfiedReason` as text, or `someTargetsUnreachable`, `noNameServer`,
    /// `constrained`.
    package var why: String?
    /// Status of each target of the app, in configured order. Nil for the daemon, and for an app without targets.
    package var targets: [TargetMessage]?

    package init(_ status: ConnectionStatus, targets: [TargetMessage]? = nil) {
        self.status = status.state.rawValue
        why = status.why
        self.targets = targets
    }
}

/// Status of the daemon's network monitor, for finding out why it wakes up too often or reports nothing.
package struct ReachabilityMessage: Codable, Equatable, Sendable {
    /// `working`, or `failed`: then there is no path and no connection status.
    package var state: String
    /// Why it failed, why the filter's level is lower than configured, or the kernel's last error.
    package var why: String?
    /// The level of the kernel-side filter in force, 0 to 4.
    package var filterLevel = 0
    /// The level that the configuration asks for.
    package var wantedFilterLevel: Int
    /// Kernel messages that passed the filter.
    package var messages: UInt64 = 0
    /// Messages that did not come from the kernel, and were dropped.
    package var foreignMessages: UInt64 = 0
    /// Times that the kernel had to drop messages.
    package var overruns: UInt64 = 0
    /// Times that all links and addresses were read again.
    package var resynchronizations: UInt64 = 0
    /// Times that reading paused because too many messages came.
    package var throttles: UInt64 = 0
    /// Evaluations of the path or of targets.
    package var evaluations: UInt64 = 0
    /// Times that the machine resumed, or its clock was set.
    package var resumes: UInt64 = 0
    /// Host names looked up.
    package var lookups: UInt64 = 0
    /// Watched targets, each counted once.
    package var targets = 0

    package init(state: String, why: String?, wantedFilterLevel: Int) {
        self.state = state
        self.why = why
        self.wantedFilterLevel = wantedFilterLevel
    }

    /// - Parameter why: what went wrong, and what to do.
    package init(failed why: String, wantedFilterLevel: Int) {
        self.init(state: "failed", why: why, wantedFilterLevel: wantedFilterLevel)
    }
}
