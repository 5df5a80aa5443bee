internal import Glibc
package import RingwakeCore
internal import RunLoop

/// A handler process that the daemon started. It leads its own process group.
package final class RunningHandler: HandlerLease {
    /// PID of the process, and ID of its process group.
    package let leader: Int32
    package let wake: WakeID
    private let life: LeaseLife
    private lazy var identity = ProcessIdentity(current: leader)
    /// True until the process is reaped. Until then no other process can have its PID.
    private var isOurs = true

    init(leader: Int32, wake: WakeID, life: LeaseLife) {
        self.leader = leader
        self.wake = wake
        self.life = life
        life.ask = { [weak self] in self?.group?.terminate() }
        life.force = { [weak self] in self?.group?.signal(SIGKILL) }
    }

    /// Nil once the process has been reaped.
    private var group: ProcessGroup? { isOurs ? ProcessGroup(leader: leader) : nil }

    package var pid: Int32? { leader }
    package var isRunning: Bool { isOurs && !life.isOver }
    package var mark: HandlerMark? { isRunning ? identity.map { .process($0) } : nil }

    /// Sends SIGTERM to the process and its group, and SIGKILL after `grace`. Processes of the group that outlive the
    /// leader are killed.
    package func stop(grace: Duration) {
        if isRunning { life.stop(grace: grace) }
    }

    package func expectExit(within timeout: Duration, grace: Duration) {
        if isRunning { life.expectExit(within: timeout, grace: grace) }
    }

    package func keep() {
        life.keep()
    }

    /// The leader has ended and hasn't been reaped yet. Until now no other group can have its ID, so this is the last
    /// safe time to signal the group.
    func leaderEnded() {
        if life.isStopping { group?.signal(SIGKILL) }
        isOurs = false
    }
}
