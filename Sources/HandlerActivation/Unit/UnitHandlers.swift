internal import DBus
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Wakes handlers that systemd runs: the `unit` way, and `exec` as a transient unit.
///
/// A unit has its own cgroup. All processes of the handler end with it, and the control socket recognizes them by it.
final class UnitHandlers {
    private let runLoop: RunLoop
    private let socketPath: String
    private let requests: RequestFiles
    private let user: SystemdBus
    private let system: SystemdBus

    /// Minimum time for systemd to answer, even if less time is left to report the call.
    private static let minimumTimeout: Duration = .seconds(1)

    init(
        runLoop: RunLoop, logger: Logger, runtimeDirectory: String, socketPath: String, systemBus: DBusService,
        sessionBus: DBusService
    ) {
        requests = RequestFiles(directory: runtimeDirectory)
        self.runLoop = runLoop
        self.socketPath = socketPath
        user = SystemdBus(manager: .user, bus: sessionBus, runLoop: runLoop, logger: logger)
        system = SystemdBus(manager: .system, bus: systemBus, runLoop: runLoop, logger: logger)
    }

    private func systemd(_ manager: SystemdManager) -> SystemdBus {
        switch manager {
        case .user: user
        case .system: system
        }
    }

    /// Starts the unit, or the call's instance of a template.
    /// - Throws: ``RingwakeError/Code/badConfiguration``; ``RingwakeError/Code/invalidRequest`` if the call's ID can't
    ///   name an instance.
    func wake(
        _ request: WakeRequest, unit name: String, manager: SystemdManager, events: HandlerEvents
    ) throws(RingwakeError) -> UnitLease {
        try UnitCheck.check(name, of: request.app)
        let unit = UnitName.unit(of: name, for: request.call)
        guard UnitName.isValid(unit), !UnitName.isTemplate(unit) else {
            throw RingwakeError(
                .invalidRequest,
                "the handler of \(request.app) was not started: no instance of \(name) can be named after a call without"
                    + " an id; let the sender give one")
        }
        // "replace": if the unit is being stopped, it is started again afterwards. With "fail" a call at that moment
        // would be lost.
        return begin(request, unit, manager, events, "StartUnit", [.string(unit), .string("replace")])
    }

    /// Starts the command as a transient service for this wake.
    func wake(
        _ request: WakeRequest, command: [String], manager: SystemdManager, events: HandlerEvents
    ) throws(RingwakeError) -> UnitLease {
        // systemd checks that the program exists: the daemon's sandbox may hide it.
        _ = try HandlerCommand.checkForm(command, of: request.app)
        let input = try requests.open(request)
        // The message holds a copy of the descriptor.
        defer { close(input) }
        let unit = UnitName.transient(
            app: request.app, wake: request.wake, at: BootInstant(nanoseconds: BootClock.now().nanoseconds))
        let service = TransientService(
            command: command, request: request, socketPath: socketPath,
            runsAs: TransientService.runsAs(manager, user: geteuid(), group: getegid()))
        // "fail": the name is unique, so there is nothing to replace.
        return begin(
            request, unit, manager, events, "StartTransientUnit",
            [.string(unit), .string("fail"), service.properties(input: input), .array("(sa(sv))", [])])
    }

    private func begin(
        _ request: WakeRequest, _ unit: String, _ manager: SystemdManager, _ events: HandlerEvents, _ method: String,
        _ arguments: [DBusValue]
    ) -> UnitLease {
        let life = LeaseLife(runLoop: runLoop, events: events)
        let lease = UnitLease(
            unit: unit, app: request.app, wake: request.wake, systemd: systemd(manager), life: life)
        let now = BootInstant(nanoseconds: BootClock.now().nanoseconds)
        let left = now.duration(to: request.reportBy)
        lease.begin(method, arguments, timeout: min(max(left, Self.minimumTimeout), SystemdBus.timeout))
        return lease
    }

    /// Follows a unit that an earlier run of the daemon started. Nil if the stored data is invalid.
    func adopt(
        _ unit: String, manager: SystemdManager, invocation: [UInt8], ranBefore: Bool, wake: WakeID,
        events: HandlerEvents
    ) -> UnitLease? {
        guard UnitName.isValid(unit), invocation.count == UnitStatus.invocationBytes else { return nil }
        let life = LeaseLife(runLoop: runLoop, events: events)
        let lease = UnitLease(unit: unit, app: nil, wake: wake, systemd: systemd(manager), life: life)
        lease.resume(invocation: invocation, ranBefore: ranBefore)
        return lease
    }

    /// The wake to whose unit a process with these units belongs.
    func wake(of units: PeerUnits) -> WakeID? {
        for systemd in [user, system] where systemd.isFollowed {
            if let unit = units[systemd.manager], let lease = systemd.lease(of: unit) { return lease.wake }
        }
        return nil
    }
}

/// Checks the unit name in an app's file.
enum UnitCheck {
    /// - Throws: ``RingwakeError/Code/badConfiguration``.
    static func check(_ name: String, of app: AppID) throws(RingwakeError) {
        guard UnitName.isValid(name) else {
            throw RingwakeError(
                .badConfiguration,
                "the handler of \(app) cannot be started (wake.unit in apps.d/\(app).toml): '\(LogText.harmless(name))'"
                    + " does not name a service; write ringwake-handler-phone@.service for one instance per call")
        }
    }
}
