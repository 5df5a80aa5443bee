/// A target, and whose packets are to reach it.
package struct WatchedTarget: Hashable, Sendable {
    package let target: ReachabilityTarget
    /// Nil for this process's. A rule may choose routes by user (`ip rule ... uidrange`).
    package let user: UInt32?

    package init(_ target: ReachabilityTarget, forUser user: UInt32? = nil) {
        self.target = target
        self.user = user
    }
}
