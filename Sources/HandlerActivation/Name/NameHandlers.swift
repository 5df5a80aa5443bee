internal import DBus
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Wakes handlers that have a name on a bus: the `dbus` way.
///
/// If the name has no owner, the bus starts the handler. The push is a method call of `org.ringwake.Handler1`. While
/// the handler owns the name it holds its calls.
final class NameHandlers {
    /// See `deploy/dbus/org.ringwake.Handler1.xml`.
    static let interface = "org.ringwake.Handler1"
    /// Minimum time for a handler to answer, even if less time is left to report the call.
    private static let minimumTimeout: Duration = .seconds(1)

    private let runLoop: RunLoop
    private let logger: Logger
    private let socketPath: String
    private let systemBus: DBusService
    private let sessionBus: DBusService

    init(
        runLoop: RunLoop, logger: Logger, socketPath: String, systemBus: DBusService, sessionBus: DBusService
    ) {
        self.runLoop = runLoop
        self.logger = logger
        self.socketPath = socketPath
        self.systemBus = systemBus
        self.sessionBus = sessionBus
    }

    private func bus(_ bus: MessageBus) -> DBusService {
        switch bus {
        case .session: sessionBus
        case .system: systemBus
        }
    }

    /// - Throws: ``RingwakeError/Code/badConfiguration`` if the name or the path is invalid;
    ///   ``RingwakeError/Code/invalidRequest`` if the bus can't carry the request.
    func wake(
        _ request: WakeRequest, name: DBusHandlerName, secret: String, events: HandlerEvents
    ) throws(RingwakeError) -> NameLease {
        try NameFailure.check(name, of: request.app)
        let now = BootInstant(nanoseconds: BootClock.now().nanoseconds)
        guard let text = String(validating: HandlerInput.bytes(of: request, at: now), as: UTF8.self),
            !text.utf8.contains(0)
        else {
            throw RingwakeError(
                .invalidRequest,
                "the handler of \(request.app) was not woken: the push is no UTF-8 text without NUL characters, which"
                    + " is all that a bus carries; let its sender correct it")
        }
        let lease = NameLease(
            name: name, app: request.app, call: request.call, wake: request.wake, bus: bus(name.bus),
            life: LeaseLife(runLoop: runLoop, events: events), logger: logger)
        let left = now.duration(to: request.reportBy)
        lease.begin(text, secret: secret, socketPath: socketPath, timeout: max(left, Self.minimumTimeout))
        return lease
    }

    /// Follows the owner of a name that an earlier run of the daemon woke.
    func adopt(
        _ name: DBusHandlerName, connection: String, process: ProcessIdentity, app: AppID, call: CallID, wake: WakeID,
        events: HandlerEvents
    ) -> NameLease? {
        guard NameFailure.isValid(name) else { return nil }
        let lease = NameLease(
            name: name, app: app, call: call, wake: wake, bus: bus(name.bus),
            life: LeaseLife(runLoop: runLoop, events: events), logger: logger)
        lease.resume(connection: connection, process: process)
        return lease
    }
}
