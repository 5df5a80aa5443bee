internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// A handler process that the daemon starts. It leads its own process group.
final class RunningHandler: LivingLease {
    /// PID of the process, and ID of its process group; nil until it is started.
    private(set) var pid: Int32?
    let wake: WakeID
    let life: LeaseLife
    private lazy var identity = pid.flatMap { ProcessIdentity(current: $0) }
    /// True until the process is reaped. Until then no other process can have its PID.
    private var isOurs = false

    init(wake: WakeID, life: LeaseLife) {
        self.wake = wake
        self.life = life
        life.ask = { [weak self] in self?.group?.terminate() }
        life.force = { [weak self] in self?.kill() }
    }

    /// Nil before the process is started, and once it has been reaped.
    private var group: ProcessGroup? { isOurs ? pid.map { ProcessGroup(leader: $0) } : nil }

    var mark: HandlerMark? { isRunning && isOurs ? identity.map { .process($0) } : nil }

    func started(_ leader: Int32) {
        pid = leader
        isOurs = true
    }

    func kill() { group?.signal(SIGKILL) }

    /// The leader has ended and hasn't been reaped yet. Until now no other group can have its ID, so this is the last
    /// safe time to signal the group.
    func leaderEnded() {
        kill()
        isOurs = false
    }
}
