internal import DBus
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// A handler that systemd runs as a service.
///
/// States: requested until systemd answers, queued until the job has finished, asking until systemd has reported the
/// process, then running until the unit is no longer active. If systemd leaves the bus, the process itself is watched.
final class UnitLease: LivingLease {
    private enum State {
        /// `early`: results of the jobs that finished before the answer named ours.
        case requested(early: [String: String])
        case queued(job: String)
        case asking
        case running
    }

    /// Maximum finished jobs to remember while systemd's answer is pending.
    private static let maximumEarlyJobs = 8

    let wake: WakeID
    /// The unit's name. An alias is replaced by the real name when the job ends.
    private(set) var unit: String
    private let failure: UnitFailure
    private let systemd: SystemdBus
    let life: LeaseLife
    private var state = State.requested(early: [:])
    private var status = UnitStatus()
    private var changes: DBusSubscription?
    private var follower: ProcessFollower?
    /// The unit ran before it was woken, so it isn't stopped when it has no call.
    private var ranBefore = false
    private var forcePending = false

    /// - Parameter app: for error messages about the start; nil for a handler that is adopted.
    init(unit: String, app: AppID?, wake: WakeID, systemd: SystemdBus, life: LeaseLife) {
        self.unit = unit
        self.wake = wake
        self.systemd = systemd
        self.life = life
        failure = UnitFailure(app: app, unit: unit, manager: systemd.manager)
        life.ask = { [weak self] in self?.askToStop() }
        life.force = { [weak self] in self?.kill() }
    }

    var pid: Int32? { if case .running = state { status.mainPID } else { nil } }
    var mark: HandlerMark? {
        guard isRunning, case .running = state, let invocation = status.invocation,
            invocation.count == UnitStatus.invocationBytes
        else {
            return nil
        }
        return .unit(name: unit, manager: systemd.manager, invocation: invocation, ranBefore: ranBefore)
    }

    func expectExit(within timeout: Duration, grace: Duration) {
        if !ranBefore { life.expectExit(within: timeout, grace: grace) }
    }

    // MARK: - Starting

    /// Follows the unit and starts it.
    func begin(_ method: String, _ arguments: [DBusValue], timeout: Duration) {
        systemd.follow(self)
        watchUnit()
        if method == "StartUnit" {
            systemd.status(of: unit) { [weak self] result in
                // For a unit that isn't loaded yet the request fails; it doesn't run.
                if case .success(let status) = result { self?.ranBefore = status.isRunning }
            }
        }
        systemd.call(method, arguments, timeout: timeout) { [self] result in requested(result) }
    }

    /// Follows the unit of an earlier run of the daemon.
    func resume(invocation: [UInt8], ranBefore: Bool) {
        self.ranBefore = ranBefore
        systemd.follow(self)
        watchUnit()
        state = .asking
        systemd.status(of: unit) { [self] result in
            guard case .success(let found) = result, found.invocation == invocation, found.isRunning else {
                return end(.left("ended while the daemon was away"))
            }
            asked(result)
        }
    }

    private func requested(_ result: Result<[DBusValue], DBusError>) {
        guard isRunning, case .requested(let early) = state else { return }
        switch result {
        case .failure(let error):
            // systemd may still start the unit after the timeout. No lease would follow it then, so stop it.
            if error.name == DBusError.noReply { systemd.call("StopUnit", stopArguments) { _ in } }
            fail(failure.error(error))
        case .success(let values):
            guard let job = values.first?.text, DBusNames.isObjectPath(job) else {
                return fail(RingwakeError(.failed, "systemd's answer to the start of \(unit) names no job"))
            }
            state = .queued(job: job)
            if let result = early[job] { return jobRemoved(job, unit: unit, result: result) }
            if life.isStopping { askToStop() }
            if forcePending { kill() }
        }
    }

    /// A job has finished; it may be ours.
    func jobRemoved(_ job: String, unit: String, result: String) {
        switch state {
        case .requested(var early):
            guard early.count < Self.maximumEarlyJobs else { return }
            early[job] = result
            state = .requested(early: early)
        case .queued(job):
            if unit != self.unit { rename(to: unit) }
            // Our own stop replaced the start, which ends the start job as canceled.
            if result != "done", life.isStopping { return end(.left("was stopped before it had started")) }
            guard result == "done" else { return fail(failure.job(result, status)) }
            state = .asking
            if life.isStopping { askToStop() }
            systemd.status(of: unit) { [self] in asked($0) }
        case .queued, .asking, .running:
            break
        }
    }

    private func asked(_ result: Result<UnitStatus, DBusError>) {
        guard isRunning, case .asking = state else { return }
        state = .running
        if case .success(let found) = result {
            status.mainPID = found.mainPID
            status.invocation = found.invocation
            // The reply is at least as new as every signal before it.
            status.activeState = found.activeState
        } else {
            // The unit is gone already.
            status.activeState = "inactive"
        }
        life.started(pid: pid)
        judge()
    }

    // MARK: - Ending

    private func watchUnit() {
        changes = systemd.watch(unit) { [weak self] in self?.changed($0) }
    }

    private func rename(to name: String) {
        changes?.cancel()
        unit = name
        watchUnit()
    }

    private func changed(_ properties: DBusValue) {
        let invocation = status.invocation
        status.merge(properties)
        if case .running = state {
            if let invocation, status.invocation != invocation { return end(status.exit) }
            judge()
        }
    }

    /// A unit that `Restart=` starts again is a new handler, which doesn't know our calls.
    private func judge() {
        guard isRunning, case .running = state else { return }
        switch status.activeState {
        case "inactive", "failed", "activating": end(status.exit)
        default: break
        }
    }

    /// systemd has left the bus and sends no more signals.
    func managerLost() {
        switch state {
        case .requested: break
        case .queued, .asking: fail(failure.managerLost)
        case .running:
            follower = pid.flatMap {
                ProcessFollower($0, runLoop: systemd.runLoop) { [weak self] in self?.processEnded() }
            }
            if follower == nil { end(.left("cannot be followed any more: systemd left the bus")) }
        }
    }

    private func processEnded() {
        end(.left("ended; how is not known, for systemd left the bus"))
    }

    private func end(_ exit: HandlerExit) {
        leave()
        life.ended(exit)
    }

    private func fail(_ error: RingwakeError) {
        leave()
        life.failed(error)
    }

    private func leave() {
        changes?.cancel()
        changes = nil
        follower?.cancel()
        follower = nil
        systemd.unfollow(self)
    }

    // MARK: - Stopping

    /// "replace": cancels a start in progress.
    private var stopArguments: [DBusValue] { [.string(unit), .string("replace")] }

    private func askToStop() {
        // Before systemd has answered there may be nothing to stop.
        if case .requested = state { return }
        systemd.call("StopUnit", stopArguments) { [weak self] in self?.stopped($0) }
    }

    private func kill() {
        if case .requested = state {
            forcePending = true
            return
        }
        // The stop prevents `Restart=` from starting the unit again.
        askToStop()
        systemd.call("KillUnit", [.string(unit), .string("all"), .int32(SIGKILL)]) { [weak self] in self?.stopped($0) }
    }

    private func stopped(_ result: Result<[DBusValue], DBusError>) {
        guard isRunning, case .failure(let error) = result else { return }
        switch error.name {
        case "org.freedesktop.systemd1.NoSuchUnit":
            end(status.exit)
        case "org.freedesktop.systemd1.NoSuchProcess":
            // The process has ended; the unit's change will follow.
            break
        default:
            // Without systemd, kill the process itself. Without a process either, end the lease, or its end would never
            // be reported.
            guard let follower else {
                return end(.left("could not be stopped (\(LogText.harmless("\(error)"))), and is left"))
            }
            follower.signal(SIGKILL)
        }
    }
}
