internal import DBus
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Wakes handlers that systemd runs: the `unit` way, and `exec` as a transient unit.
///
/// A unit has a cgroup of its own: all that the handler starts ends with it, and is known by it on the control socket.
final class UnitHandlers {
    private let runLoop: RunLoop
    private let socketPath: String
    private let requests = RequestFiles()
    private let user: SystemdBus
    private let system: SystemdBus

    /// What systemd gets for its answer at the least, however little time is left to report the call.
    private static let minimumTimeout: Duration = .seconds(1)

    init(
        runLoop: RunLoop, logger: Logger, socketPath: String, systemBus: DBusService, sessionBus: DBusService
    ) {
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

    /// Starts the unit, or the instance for the call.
    /// - Throws: ``RingwakeError/Code/badConfiguration``; ``RingwakeError/Code/invalidRequest``: no unit can be named
    ///   after the call.
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
        // "replace": one of this name that is being stopped is started again after it. With "fail" a call that comes
        // in this moment would be lost.
        return begin(request, unit, manager, events, "StartUnit", [.string(unit), .string("replace")])
    }

    /// Starts the command as a service that exists for this wake alone.
    func wake(
        _ request: WakeRequest, command: [String], manager: SystemdManager, events: HandlerEvents
    ) throws(RingwakeError) -> UnitLease {
        // Whether the program is there is for systemd to see: the daemon's sandbox may hide it.
        _ = try HandlerCommand.checkForm(command, of: request.app)
        let input = try requests.open(request)
        // The message has a copy.
        defer { close(input) }
        let unit = UnitName.transient(
            app: request.app, wake: request.wake, at: BootInstant(nanoseconds: BootClock.now().nanoseconds))
        let service = TransientService(
            command: command, request: request, socketPath: socketPath,
            runsAs: TransientService.runsAs(manager, user: geteuid(), group: getegid()))
        // "fail": nobody else has a unit of this name, so nothing is there to be replaced.
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

    /// Follows a unit that an earlier run of the daemon started. Nil when it was not.
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

    /// The wake whose unit this process belongs to.
    func wake(ofPeer pid: Int32) -> WakeID? {
        for systemd in [user, system] where systemd.isFollowed {
            if let unit = PeerUnits.unit(of: pid, manager: systemd.manager), let lease = systemd.lease(of: unit) {
                return lease.wake
            }
        }
        return nil
    }
}

/// What is wrong with the unit that an app's file names.
enum UnitCheck {
    /// - Throws: ``RingwakeError/Code/badConfiguration``.
    static func check(_ name: String, of app: AppID) throws(RingwakeError) {
        guard UnitName.isValid(name) else {
            throw RingwakeError(
                .badConfiguration,
                "the handler of \(app) cannot be started (wake.unit in apps.d/\(app).toml): '\(LogText.harmless(name))'"
                    + " does not name a service; write phone.service, or phone@.service for one of each call")
        }
    }
}
