internal import Glibc
package import RingwakeCore
internal import RunLoop

/// A handler's process, the leader of a process group of its own.
package final class RunningHandler: HandlerLease {
    /// The process id, which is the id of its process group too.
    package let leader: Int32
    package let wake: WakeID
    private let life: LeaseLife
    private lazy var identity = ProcessIdentity(current: leader)
    /// True until it is reaped, if it is our child: so long no other process has its number.
    private var isOurs = true

    init(leader: Int32, wake: WakeID, life: LeaseLife) {
        self.leader = leader
        self.wake = wake
        self.life = life
        life.ask = { [weak self] in self?.group?.terminate() }
        life.force = { [weak self] in self?.group?.signal(SIGKILL) }
    }

    /// Nil once it is reaped.
    private var group: ProcessGroup? { isOurs ? ProcessGroup(leader: leader) : nil }

    package var pid: Int32? { leader }
    package var isRunning: Bool { isOurs && !life.isOver }
    package var mark: HandlerMark? { isRunning ? identity.map { .process($0) } : nil }

    /// SIGTERM to the process and all of its group, and SIGKILL when it still runs after `grace`. Those of the group
    /// that are left when the leader has ended are killed then.
    package func stop(grace: Duration) {
        if isRunning { life.stop(grace: grace) }
    }

    package func expectExit(within timeout: Duration, grace: Duration) {
        if isRunning { life.expectExit(within: timeout, grace: grace) }
    }

    package func keep() {
        life.keep()
    }

    /// The leader has ended and is not reaped yet: the last moment at which the group's id is surely its own.
    func leaderEnded() {
        if life.isStopping { group?.signal(SIGKILL) }
        isOurs = false
    }
}
