internal import Glibc

/// The process group that a child leads. Use it only until the leader is reaped: its number may name a stranger then.
package struct ProcessGroup: Sendable {
    package let leader: Int32

    package init(leader: Int32) {
        self.leader = leader
    }

    /// Signals the whole group, or the leader alone where that has joined another group.
    package func signal(_ number: Int32) {
        if kill(-leader, number) != 0 { kill(leader, number) }
    }

    /// Asks the whole group to end. A process that is stopped takes SIGTERM only when it is continued.
    package func terminate() {
        signal(SIGTERM)
        signal(SIGCONT)
    }
}
