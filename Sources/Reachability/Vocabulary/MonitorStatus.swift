/// The status of a monitor; check it if the monitor wakes up too often, or reports nothing.
public struct MonitorStatus: Hashable, Sendable {
    /// The level of the active filter, 0 to 4.
    public var filterLevel: Int = 0
    /// The configured level.
    public var wantedFilterLevel: Int = 4
    /// Why the level is lower: the kernel's error.
    public var filterWhy: String?
    /// The number of instructions of the active filter.
    public var filterInstructions: Int = 0
    /// Messages of the kernel that passed the filter.
    public var messages: UInt64 = 0
    /// Messages that did not come from the kernel, and were dropped.
    public var foreignMessages: UInt64 = 0
    /// How often the kernel had to drop messages (ENOBUFS); a resynchronization follows each time.
    public var overruns: UInt64 = 0
    /// How often the monitor read everything again.
    public var resynchronizations: UInt64 = 0
    /// Dumps that changed while they were read (NLM_F_DUMP_INTR), and were read again.
    public var interruptedDumps: UInt64 = 0
    /// Evaluations of all targets.
    public var evaluations: UInt64 = 0
    /// How often the monitor paused reading events, because too many arrived.
    public var throttles: UInt64 = 0
    /// How often the machine resumed, or its clock was set.
    public var resumes: UInt64 = 0
    /// The number of host name look-ups.
    public var lookups: UInt64 = 0
    /// The number of watched targets, each counted once.
    public var targets: Int = 0
    /// The kernel's last unusable answer; nil if the last resynchronization succeeded.
    public var lastError: String?

    public init() {}
}
