package import DBus
internal import Glibc
package import Logging
package import RingwakeCore
package import RunLoop

/// Wakes handlers in the way that the app's file says.
///
///     let activator = HandlerActivator(
///         runLoop: loop, logger: logger, runtimeDirectory: "/run/ringwake", baseEnvironment: environment,
///         socketPath: "/run/ringwake/control.sock", descriptorLimit: nil, systemBus: system, sessionBus: session)
///     let lease = try activator.wake(
///         request, way: .exec(["/usr/bin/phone-handler"]), secret: secret,
///         events: HandlerEvents(started: { pid in … }, failed: { error in … }, ended: { exit in … }))
///
/// A lease is kept until its handler has ended, even if no caller holds it.
package final class HandlerActivator {
    private let runLoop: RunLoop
    private let logger: Logger
    private let processes: HandlerProcesses
    private let exec: ExecHandlerActivator
    private let sockets: SocketHandlers
    private let units: UnitHandlers
    private let names: NameHandlers
    private var leases: [WakeID: any HandlerLease] = [:]
    /// Handlers that ended before ``wake(_:way:secret:events:)`` or ``adopt(_:wake:events:)`` returned.
    private var endedEarly: Set<WakeID> = []

    /// - Parameters:
    ///   - runtimeDirectory: directory for the files of the handlers' output; an existing tmpfs.
    ///   - baseEnvironment: environment of handlers that the daemon itself starts. The daemon's own variables are
    ///     removed.
    ///   - socketPath: the control socket, passed to every handler.
    ///   - descriptorLimit: descriptor limit of handlers that the daemon itself starts. Nil: the daemon's limit.
    ///   - systemBus: bus of the system's systemd and of handlers with a name there; opened when first needed.
    ///   - sessionBus: bus of the user's systemd and of handlers with a name there; opened when first needed.
    package init(
        runLoop: RunLoop, logger: Logger, runtimeDirectory: String, baseEnvironment: [String: String],
        socketPath: String, descriptorLimit: (soft: UInt64, hard: UInt64)? = nil, systemBus: DBusService,
        sessionBus: DBusService
    ) {
        self.runLoop = runLoop
        self.logger = logger
        processes = HandlerProcesses(runLoop: runLoop, logger: logger)
        exec = ExecHandlerActivator(
            runLoop: runLoop, logger: logger, runtimeDirectory: runtimeDirectory, baseEnvironment: baseEnvironment,
            socketPath: socketPath, descriptorLimit: descriptorLimit, processes: processes)
        sockets = SocketHandlers(runLoop: runLoop, socketPath: socketPath)
        units = UnitHandlers(
            runLoop: runLoop, logger: logger, runtimeDirectory: runtimeDirectory, socketPath: socketPath,
            systemBus: systemBus, sessionBus: sessionBus)
        names = NameHandlers(
            runLoop: runLoop, logger: logger, socketPath: socketPath, systemBus: systemBus, sessionBus: sessionBus)
    }

    /// Wakes the handler of a call.
    ///
    /// - Parameters:
    ///   - secret: lets this handler use the control socket. A unit doesn't get it, because all users can read a unit's
    ///     settings; its processes are recognized by their cgroup (``wake(of:)``).
    ///   - events: `exec` calls `started` before this returns, unless the kernel refuses a process. The other ways call
    ///     `started` or `failed` later.
    /// - Throws: an error that is known at once; then no event is called. ``RingwakeError/Code/badConfiguration`` if
    ///   there is nothing to wake, ``RingwakeError/Code/limitReached`` if the handler or the system accepts no more,
    ///   ``RingwakeError/Code/unreachable`` if nothing listens or the bus isn't there,
    ///   ``RingwakeError/Code/notPermitted`` if the handler belongs to another user,
    ///   ``RingwakeError/Code/invalidRequest`` if the call's ID can't be passed, otherwise
    ///   ``RingwakeError/Code/system``.
    package func wake(
        _ request: WakeRequest, way: HandlerWay, secret: String, events: HandlerEvents
    ) throws(RingwakeError) -> any HandlerLease {
        let events = forgetting(request.wake, events)
        let lease: any HandlerLease
        switch way {
        case .exec(let command):
            lease = try exec.wake(request, command: command, secret: secret, events: events)
        case .socket(let path):
            lease = try sockets.wake(request, path: path, secret: secret, events: events)
        case .transientUnit(let command, let manager):
            lease = try units.wake(request, command: command, manager: manager, events: events)
        case .unit(let name, let manager):
            lease = try units.wake(request, unit: name, manager: manager, events: events)
        case .dbus(let name):
            lease = try names.wake(request, name: name, secret: secret, events: events)
        }
        // The handler may have ended already.
        if !endedEarly.contains(request.wake) { leases[request.wake] = lease }
        endedEarly = []
        return lease
    }

    /// Finds a handler that an earlier run of the daemon woke in this boot.
    ///
    /// - Returns: nil if it no longer runs. Units and names are looked up on the bus, so `ended` may follow soon after.
    ///   `started` is called, at once or later, when the handler is known to run.
    package func adopt(_ mark: HandlerMark, wake: WakeID, events: HandlerEvents) -> (any HandlerLease)? {
        let events = forgetting(wake, events)
        let lease: (any HandlerLease)?
        switch mark {
        case .process(let identity): lease = adopt(identity, wake, events)
        case .unit(let name, let manager, let invocation, let ranBefore):
            lease = units.adopt(
                name, manager: manager, invocation: invocation, ranBefore: ranBefore, wake: wake,
                events: events)
        case .owner(let name, let connection, let process, let app, let call):
            lease = names.adopt(
                name, connection: connection, process: process, app: app, call: call, wake: wake, events: events)
        }
        if !endedEarly.contains(wake) { leases[wake] = lease }
        endedEarly = []
        return lease
    }

    // MARK: - Running handlers

    /// How to find this handler after the daemon restarts; nil if that isn't possible or not known yet.
    package func mark(of wake: WakeID) -> HandlerMark? { leases[wake]?.mark }

    /// See ``HandlerLease/stop(grace:)``.
    package func stop(_ wake: WakeID, grace: Duration) { leases[wake]?.stop(grace: grace) }

    /// See ``HandlerLease/expectExit(within:grace:)``.
    package func expectExit(_ wake: WakeID, within timeout: Duration, grace: Duration) {
        leases[wake]?.expectExit(within: timeout, grace: grace)
    }

    /// See ``HandlerLease/keep()``.
    package func keep(_ wake: WakeID) { leases[wake]?.keep() }

    /// The wake to whose unit a process with these units belongs; nil if there is none. The control socket uses it to
    /// authorize: a process in a unit's cgroup was started by the unit's manager, or by a process of that unit.
    package func wake(of units: PeerUnits) -> WakeID? { self.units.wake(of: units) }

    private func adopt(_ identity: ProcessIdentity, _ wake: WakeID, _ events: HandlerEvents) -> AdoptedProcess? {
        let life = LeaseLife(runLoop: runLoop, events: events)
        do throws(ProcessFollower.Failure) {
            let lease = try AdoptedProcess(identity, wake: wake, life: life, runLoop: runLoop, processes: processes)
            life.started(pid: identity.pid)
            return lease
        } catch {
            guard case .unwatched(let reason) = error else { return nil }
            // We wouldn't see this handler end, so its calls would never end. Kill it.
            logger.error(
                "handler cannot be restored, and is ended; raise LimitNOFILE= of the service",
                metadata: ["pid": "\(identity.pid)", "why": "\(reason)"])
            kill(-identity.pid, SIGKILL)
            return nil
        }
    }

    /// The same events, but the lease is released when the handler ends or fails.
    private func forgetting(_ wake: WakeID, _ events: HandlerEvents) -> HandlerEvents {
        let forget = { [weak self] in
            if self?.leases.removeValue(forKey: wake) == nil { self?.endedEarly.insert(wake) }
        }
        return HandlerEvents(
            started: events.started,
            failed: { error in
                forget()
                events.failed(error)
            },
            ended: { exit in
                forget()
                events.ended(exit)
            })
    }
}
