/// How a monitor is doing: what to look at when it wakes too often, or says nothing.
public struct MonitorStatus: Hashable, Sendable {
    /// The level of the filter in force, 0 to 4.
    public var filterLevel: Int = 0
    /// The level that was asked for.
    public var wantedFilterLevel: Int = 4
    /// Why the level is lower: what the kernel said.
    public var filterWhy: String?
    /// Instructions of the filter in force.
    public var filterInstructions: Int = 0
    /// Messages of the kernel that came through the filter.
    public var messages: UInt64 = 0
    /// Messages that did not come from the kernel, and were dropped.
    public var foreignMessages: UInt64 = 0
    /// Times that the kernel had to drop messages for us (ENOBUFS); each is followed by a resynchronization.
    public var overruns: UInt64 = 0
    /// Times that everything was read anew.
    public var resynchronizations: UInt64 = 0
    /// Dumps that changed under the reader (NLM_F_DUMP_INTR), and were read again.
    public var interruptedDumps: UInt64 = 0
    /// Evaluations of all targets.
    public var evaluations: UInt64 = 0
    /// Times that the events were not looked at for a while, because too many came.
    public var throttles: UInt64 = 0
    /// Times that the machine resumed, or its clock was set.
    public var resumes: UInt64 = 0
    /// Host names looked up.
    public var lookups: UInt64 = 0
    /// Targets that are watched, each counted once.
    public var targets: Int = 0
    /// The last answer of the kernel that could not be used; nil when the last resynchronization was good.
    public var lastError: String?

    public init() {}
}
