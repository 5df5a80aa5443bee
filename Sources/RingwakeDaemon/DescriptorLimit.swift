internal import Glibc

/// How many descriptors the process may hold, and how they are shared out.
///
/// The usual soft limit of 1,024 is for programs that use select(2). Calls need two descriptors each while their
/// handler runs, so connections of senders never get all of them: whoever opens many must not keep calls from ringing.
nonisolated struct DescriptorLimit {
    /// The soft limit now.
    let current: Int
    /// The soft limit that the process was started with, which is what handlers get.
    let original: rlimit

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    /// As many as are of use: those of every connection and call at their bounds.
    private static let wanted: rlim_t = 16_384
    /// Kept for handlers (two each, for as many as may run), the store and the control socket.
    private static let reserved = 2 * 1024 + 512

    /// Raises the soft limit as far as it is of use and the hard limit allows.
    static func raise() -> DescriptorLimit {
        var limit = rlimit()
        guard getrlimit(DescriptorLimit.resource, &limit) == 0 else {
            return DescriptorLimit(current: 1024, original: rlimit(rlim_cur: 1024, rlim_max: 1024))
        }
        let original = limit
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, wanted))
        let isRaised = setrlimit(DescriptorLimit.resource, &limit) == 0
        let current = isRaised ? limit.rlim_cur : original.rlim_cur
        return DescriptorLimit(current: Int(clamping: current), original: original)
    }

    /// How many connections each of `listeners` listeners may have.
    func connections(forEachOf listeners: Int) -> Int {
        let shared = current > 2 * DescriptorLimit.reserved ? current - DescriptorLimit.reserved : current / 2
        return max(1, shared / max(1, listeners))
    }
}
