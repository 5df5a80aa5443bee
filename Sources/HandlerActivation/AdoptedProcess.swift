internal import FileSystem
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// A handler process that the daemon started before it was restarted itself.
///
/// It isn't our child any more. We see that it ends, but not its status or signal, and its group's ID may be another's
/// by then. Its output goes to a file that only the earlier daemon could read; the file takes memory until the process
/// ends.
final class AdoptedProcess: LivingLease {
    let wake: WakeID
    private let follower: ProcessFollower
    let life: LeaseLife

    init(
        _ identity: ProcessIdentity, wake: WakeID, life: LeaseLife, runLoop: RunLoop, processes: HandlerProcesses
    ) throws(ProcessFollower.Failure) {
        self.wake = wake
        self.life = life
        // The store has no secrets, and the handler has its own.
        let secret = ProcessSearch.variable(HandlerEnvironment.secret, of: identity.pid)
        let app = ProcessSearch.variable(HandlerEnvironment.app, of: identity.pid).flatMap { AppID($0) }
        let follower = try ProcessFollower(identity, runLoop: runLoop) {
            if let secret { processes.handlerEnded(secret, isChild: false) }
            life.ended(.left("ended; how is not known, for the daemon was restarted since it started"))
        }
        self.follower = follower
        if let secret, let app {
            processes.handlerStarted(secret, app: app) { follower.group?.signal(SIGKILL) }
        }
        life.ask = { follower.group?.terminate() }
        life.force = { follower.group?.signal(SIGKILL) }
    }

    var pid: Int32? { follower.identity.pid }
    var mark: HandlerMark? { isRunning ? .process(follower.identity) : nil }
}
