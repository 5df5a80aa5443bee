internal import Glibc

/// The descriptor limit of the process, and how it is shared.
///
/// The usual soft limit of 1,024 is meant for programs that use select(2). A call needs two descriptors while its
/// handler runs. Push senders never get all descriptors, so that many connections can't keep calls from ringing.
nonisolated struct DescriptorLimit {
    /// Present soft limit.
    let current: Int
    /// Soft limit at the start of the process; handlers get it.
    let original: rlimit

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    /// Enough for the maximum number of connections and calls, and for 30,000 devices. It costs no memory: the kernel's
    /// table grows with the descriptors that are open.
    private static let wanted: rlim_t = 65_536
    /// Reserved for handlers (two each, for the maximum number), the control socket, the status socket and the store.
    private static let reserved = 2 * 1024 + 2048 + 64 + 256

    /// Raises the soft limit to `wanted`, or as far as the hard limit allows.
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

    /// Maximum connections of the control socket: fewer than usual with a low limit.
    var controlConnections: Int { max(64, current / 4) }

    /// Maximum connections of each of `listeners` listeners.
    func connections(forEachOf listeners: Int) -> Int {
        let shared = current > 2 * DescriptorLimit.reserved ? current - DescriptorLimit.reserved : current / 2
        return max(1, shared / max(1, listeners))
    }
}
