package import DBus
internal import Glibc
package import Logging
package import RingwakeCore
package import RunLoop

/// Wakes handlers, each in the way that its app's file says.
///
///     let activator = HandlerActivator(
///         runLoop: loop, logger: logger, runtimeDirectory: "/run/ringwake", baseEnvironment: environment,
///         socketPath: "/run/ringwake/control.sock", descriptorLimit: nil, systemBus: system, sessionBus: session)
///     let lease = try activator.wake(
///         request, way: .exec(["/usr/bin/phone-handler"]), secret: secret,
///         events: HandlerEvents(started: { pid in … }, failed: { error in … }, ended: { exit in … }))
///
/// A lease is kept until its handler is gone, also when nobody else holds it.
package final class HandlerActivator {
    private let runLoop: RunLoop
    private let logger: Logger
    private let exec: ExecHandlerActivator
    private let sockets: SocketHandlers
    private let units: UnitHandlers
    private let names: NameHandlers
    private var leases: [WakeID: any HandlerLease] = [:]
    /// Handlers that ended while they were being woken or adopted.
    private var endedEarly: Set<WakeID> = []

    /// - Parameters:
    ///   - runtimeDirectory: Where the files for the handlers' output are made; a tmpfs, and there already.
    ///   - baseEnvironment: What handlers that the daemon starts itself inherit, less what belongs to the daemon.
    ///   - socketPath: The control socket, which every handler is told.
    ///   - descriptorLimit: How many descriptors a handler that the daemon starts itself may have. Nil: as many as the
    ///     daemon.
    ///   - systemBus: Where the machine's systemd is, and handlers with a name there; not used before one is needed.
    ///   - sessionBus: The same, of the user.
    package init(
        runLoop: RunLoop, logger: Logger, runtimeDirectory: String, baseEnvironment: [String: String],
        socketPath: String, descriptorLimit: (soft: UInt64, hard: UInt64)? = nil, systemBus: DBusService,
        sessionBus: DBusService
    ) {
        self.runLoop = runLoop
        self.logger = logger
        exec = ExecHandlerActivator(
            runLoop: runLoop, logger: logger, runtimeDirectory: runtimeDirectory, baseEnvironment: baseEnvironment,
            socketPath: socketPath, descriptorLimit: descriptorLimit)
        sockets = SocketHandlers(runLoop: runLoop, socketPath: socketPath)
        units = UnitHandlers(
            runLoop: runLoop, logger: logger, socketPath: socketPath, systemBus: systemBus, sessionBus: sessionBus)
        names = NameHandlers(
            runLoop: runLoop, logger: logger, socketPath: socketPath, systemBus: systemBus, sessionBus: sessionBus)
    }

    /// Wakes the handler of a call.
    ///
    /// - Parameters:
    ///   - secret: Opens the control socket to this handler. A unit is not given it: everybody may read a unit's
    ///     settings, and its processes are known by their cgroup (``wake(ofPeer:)``).
    ///   - events: `exec` calls `started` before this returns. The other ways call `started` or `failed` later.
    /// - Throws: What is known at once. ``RingwakeError/Code/badConfiguration`` when there is nothing there to wake,
    ///   ``RingwakeError/Code/limitReached`` when the handler or the system takes no more,
    ///   ``RingwakeError/Code/unreachable`` when nobody listens or the bus is not there,
    ///   ``RingwakeError/Code/notPermitted`` when the handler is another user's,
    ///   ``RingwakeError/Code/invalidRequest`` when the call's id cannot be handed over, ``RingwakeError/Code/system``
    ///   else. No event is called then.
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
        // It may have ended already.
        if !endedEarly.contains(request.wake) { leases[request.wake] = lease }
        endedEarly = []
        return lease
    }

    /// Finds a handler again that an earlier run of the daemon woke in this boot.
    ///
    /// - Returns: Nil when it does not run any more. A unit and the owner of a name are asked for: they may be told to
    ///   have ended soon after. `started` is called, at once or later, when it is known that the handler runs.
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

    // MARK: - Handlers that run

    /// What finds this handler again after a restart of the daemon; nil: nothing, or it is not known yet.
    package func mark(of wake: WakeID) -> HandlerMark? { leases[wake]?.mark }

    /// See ``HandlerLease/stop(grace:)``.
    package func stop(_ wake: WakeID, grace: Duration) { leases[wake]?.stop(grace: grace) }

    /// See ``HandlerLease/expectExit(within:grace:)``.
    package func expectExit(_ wake: WakeID, within timeout: Duration, grace: Duration) {
        leases[wake]?.expectExit(within: timeout, grace: grace)
    }

    /// See ``HandlerLease/keep()``.
    package func keep(_ wake: WakeID) { leases[wake]?.keep() }

    /// The wake whose unit this process belongs to; nil when there is none. For the rights on the control socket: who
    /// is in a unit's cgroup was started by the unit's manager, or by what that started.
    /// - Parameter pid: As SO_PEERCRED says it.
    package func wake(ofPeer pid: Int32) -> WakeID? { units.wake(ofPeer: pid) }

    private func adopt(_ identity: ProcessIdentity, _ wake: WakeID, _ events: HandlerEvents) -> AdoptedProcess? {
        let life = LeaseLife(runLoop: runLoop, events: events)
        do throws(ProcessFollower.Failure) {
            let lease = try AdoptedProcess(identity, wake: wake, life: life, runLoop: runLoop)
            life.started(pid: identity.pid)
            return lease
        } catch {
            guard case .unwatched(let reason) = error else { return nil }
            // A handler whose end nobody would see must not go on: its calls would have nobody.
            logger.error(
                "handler cannot be taken up again, and is ended; raise LimitNOFILE= of the service",
                metadata: ["pid": "\(identity.pid)", "why": "\(reason)"])
            kill(-identity.pid, SIGKILL)
            return nil
        }
    }

    /// The same events, and at the end the lease is released.
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
