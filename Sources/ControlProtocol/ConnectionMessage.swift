package import Reachability
package import RingwakeCore

/// Whether the daemon, or an app, can reach what it has to.
package struct ConnectionMessage: Codable, Equatable, Sendable {
    /// `online`, `limited` or `offline`.
    package var status: String
    /// Why it is not online: `UnsatisfiedReason` as text, or `someTargetsUnreachable`, `noNameServer`, `constrained`.
    package var why: String?
    /// Of an app that names targets: how each of them is reached, in its order. Nil where it names none.
    package var targets: [TargetMessage]?

    package init(_ status: ConnectionStatus, targets: [TargetMessage]? = nil) {
        self.status = status.state.rawValue
        why = status.why
        self.targets = targets
    }
}

/// How the daemon's look at the network is doing: what to see when it wakes too often, or says nothing.
package struct ReachabilityMessage: Codable, Equatable, Sendable {
    /// `working`, or `failed`: then there is no path and no connection status.
    package var state: String
    /// Why it failed, why the filter's level is lower than it was asked to be, or what the kernel refused last.
    package var why: String?
    /// The level of the kernel-side filter in force, 0 to 4.
    package var filterLevel: Int
    /// The level that the configuration asks for.
    package var wantedFilterLevel: Int
    /// Messages of the kernel that came through the filter.
    package var messages: UInt64
    /// Messages that did not come from the kernel, and were dropped.
    package var foreignMessages: UInt64
    /// Times that the kernel had to drop messages.
    package var overruns: UInt64
    /// Times that everything was read anew.
    package var resynchronizations: UInt64
    /// Times that events were not looked at for a while, because too many came.
    package var throttles: UInt64
    /// Evaluations of all targets.
    package var evaluations: UInt64
    /// Times that the machine resumed, or its clock was set.
    package var resumes: UInt64
    /// Host names looked up.
    package var lookups: UInt64
    /// Targets that are watched, each counted once.
    package var targets: Int

    package init(_ status: MonitorStatus) {
        state = "working"
        why = status.lastError ?? (status.filterLevel < status.wantedFilterLevel ? status.filterWhy : nil)
        filterLevel = status.filterLevel
        wantedFilterLevel = status.wantedFilterLevel
        messages = status.messages
        foreignMessages = status.foreignMessages
        overruns = status.overruns
        resynchronizations = status.resynchronizations
        throttles = status.throttles
        evaluations = status.evaluations
        resumes = status.resumes
        lookups = status.lookups
        targets = status.targets
    }

    /// - Parameter why: what went wrong, and what to do.
    package init(failed why: String, wantedFilterLevel: Int) {
        var status = MonitorStatus()
        status.wantedFilterLevel = wantedFilterLevel
        self.init(status)
        state = "failed"
        self.why = why
    }
}
