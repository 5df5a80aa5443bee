internal import DBus
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// A handler that systemd runs as a service.
///
/// Requested, until systemd has answered; queued, while its job is; then systemd is asked for the process, and it runs,
/// until the unit is no longer active. Without systemd (it left the bus, or the bus is gone) the process itself is
/// watched.
final class UnitLease: LivingLease {
    private enum State {
        /// Jobs that were done before the answer named ours, with their results.
        case requested(early: [String: String])
        case queued(job: String)
        case asking
        case running
    }

    /// Jobs of one unit that may end while systemd answers.
    private static let maximumEarlyJobs = 8

    let wake: WakeID
    /// As systemd calls it: an alias is told with the end of its job.
    private(set) var unit: String
    private let failure: UnitFailure
    private let systemd: SystemdBus
    let life: LeaseLife
    private var state = State.requested(early: [:])
    private var status = UnitStatus()
    private var changes: DBusSubscription?
    private var follower: ProcessFollower?
    /// It ran before it was woken: it is not for us to end it because it has no call.
    private var ranBefore = false
    private var forcePending = false

    /// - Parameter app: For what is said when it does not start; nil for one that runs.
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

    // MARK: - The start

    /// Follows the unit and starts it.
    func begin(_ method: String, _ arguments: [DBusValue], timeout: Duration) {
        systemd.follow(self)
        watchUnit()
        if method == "StartUnit" {
            systemd.status(of: unit) { [weak self] result in
                // A unit that is not loaded yet says nothing, and does not run.
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
            // Late is not never: what systemd starts all the same has nobody.
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

    /// A job is done; it may be ours.
    func jobRemoved(_ job: String, unit: String, result: String) {
        switch state {
        case .requested(var early):
            guard early.count < Self.maximumEarlyJobs else { return }
            early[job] = result
            state = .requested(early: early)
        case .queued(job):
            if unit != self.unit { rename(to: unit) }
            // Our own stop took the start's place, which counts as canceled.
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
            // As new as every signal that came before it, or newer.
            status.activeState = found.activeState
        } else {
            // It is gone again, and with it what could be asked.
            status.activeState = "inactive"
        }
        life.started(pid: pid)
        judge()
    }

    // MARK: - The end

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

    /// A unit that is started again by its own `Restart=` is another handler, which knows nothing of our calls.
    private func judge() {
        guard isRunning, case .running = state else { return }
        switch status.activeState {
        case "inactive", "failed", "activating": end(status.exit)
        default: break
        }
    }

    /// systemd is gone, and with it all it would have told.
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

    /// "replace": a start that is under way is given up for it.
    private var stopArguments: [DBusValue] { [.string(unit), .string("replace")] }

    private func askToStop() {
        // Before systemd has answered there may be nothing to stop yet.
        if case .requested = state { return }
        systemd.call("StopUnit", stopArguments) { [weak self] in self?.stopped($0) }
    }

    private func kill() {
        if case .requested = state {
            forcePending = true
            return
        }
        // The stop keeps `Restart=` from starting it again.
        askToStop()
        systemd.call("KillUnit", [.string(unit), .string("all"), .int32(SIGKILL)]) { [weak self] in self?.stopped($0) }
    }

    private func stopped(_ result: Result<[DBusValue], DBusError>) {
        guard isRunning, case .failure(let error) = result else { return }
        switch error.name {
        case "org.freedesktop.systemd1.NoSuchUnit":
            end(status.exit)
        case "org.freedesktop.systemd1.NoSuchProcess":
            // Its end is on its way.
            break
        default:
            // Without systemd there is the process; else its end would never be told.
            guard let follower else {
                return end(.left("could not be stopped (\(LogText.harmless("\(error)"))), and is left"))
            }
            follower.signal(SIGKILL)
        }
    }
}
