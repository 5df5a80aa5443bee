internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// A handler's process that the daemon started before it was restarted itself.
///
/// It is not our child any more: its end is seen, but neither its status nor the signal, and what it leaves behind of
/// its group when it ends by itself is not killed. What it prints goes into a file that only the daemon before this one
/// could read, and takes memory until the process ends.
final class AdoptedProcess: LivingLease {
    let wake: WakeID
    private let follower: ProcessFollower
    let life: LeaseLife

    init(
        _ identity: ProcessIdentity, wake: WakeID, life: LeaseLife, runLoop: RunLoop
    ) throws(ProcessFollower.Failure) {
        self.wake = wake
        self.life = life
        let follower = try ProcessFollower(identity, runLoop: runLoop) {
            life.ended(.left("ended; how is not known, for the daemon was restarted since it started"))
        }
        self.follower = follower
        life.ask = { follower.group?.terminate() }
        life.force = { follower.group?.signal(SIGKILL) }
    }

    var pid: Int32? { follower.identity.pid }
    var mark: HandlerMark? { isRunning ? .process(follower.identity) : nil }
}
