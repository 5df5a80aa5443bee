internal import Glibc

/// The process group that a child leads. Use it only until the leader is reaped, because its ID may then be reused.
package struct ProcessGroup: Sendable {
    package let leader: Int32

    package init(leader: Int32) {
        self.leader = leader
    }

    /// Signals the whole group; only the leader if it has joined another group.
    package func signal(_ number: Int32) {
        if kill(-leader, number) != 0 { kill(leader, number) }
    }

    /// Asks the whole group to end. A stopped process handles SIGTERM only after SIGCONT.
    package func terminate() {
        signal(SIGTERM)
        signal(SIGCONT)
    }
}
