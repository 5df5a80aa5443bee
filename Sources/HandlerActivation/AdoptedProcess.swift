internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// A handler process that the daemon started before it was restarted itself.
///
/// It isn't our child any more. We see that it ends, but not its status or signal, and we don't kill the rest of its
/// group when it exits by itself. Its output goes to a file that only the earlier daemon could read; the file takes
/// memory until the process ends.
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
