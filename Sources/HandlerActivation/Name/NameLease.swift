internal import DBus
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// A handler that has a name on a bus.
///
/// It has started when the name has an owner and the bus has reported the owner's process. It has ended when the name
/// has another owner or none, or when the handler refuses the push.
final class NameLease: LivingLease {
    let wake: WakeID
    private(set) var pid: Int32?
    private let name: DBusHandlerName
    private let app: AppID
    private let call: CallID
    private let bus: DBusService
    let life: LeaseLife
    private let logger: Logger
    private var push: DBusCall?
    private var watch: DBusSubscription?
    /// The connection that owns the name; nil until there is one.
    private var owner: String?
    private var process: ProcessIdentity?
    /// The owner to find again after a restart.
    private var expected: (connection: String, process: ProcessIdentity)?

    private static let busName = "org.freedesktop.DBus"
    /// The bus itself answers at once.
    private static let busTimeout: Duration = .seconds(5)

    init(
        name: DBusHandlerName, app: AppID, call: CallID, wake: WakeID, bus: DBusService, life: LeaseLife, logger: Logger
    ) {
        self.name = name
        self.app = app
        self.call = call
        self.wake = wake
        self.bus = bus
        self.life = life
        self.logger = logger
        life.ask = { [weak self] in self?.release() }
        // The process isn't ours, so we don't kill it.
        life.force = { [weak self] in self?.end(.left("was released")) }
    }

    var mark: HandlerMark? {
        guard isRunning, let owner, let process else { return nil }
        return .owner(of: name, connection: owner, process: process, app: app, call: call)
    }

    // MARK: - Starting

    func begin(_ request: String, secret: String, socketPath: String, timeout: Duration) {
        watch = bus.watchName(name.name) { [self] in ownerIs($0) }
        push = bus.call(
            destination: name.name, path: name.path, interface: NameHandlers.interface, member: "IncomingPush",
            arguments: [.string(request), .string(secret), .string(socketPath)], timeout: timeout
        ) { [self] in answered($0, within: timeout) }
    }

    func resume(connection: String, process: ProcessIdentity) {
        expected = (connection, process)
        watch = bus.watchName(name.name) { [self] in ownerIs($0) }
    }

    private func ownerIs(_ newOwner: String?) {
        guard isRunning else { return }
        if let expected, newOwner != expected.connection { return end(.left("left the bus while the daemon was away")) }
        // There is no owner yet, or nothing has changed.
        if newOwner == owner { return }
        guard owner == nil, let newOwner else {
            return end(.left("left the bus: \(name.name) is not its name any more"))
        }
        owner = newOwner
        if life.isStopping { release() }
        bus.call(
            destination: Self.busName, path: "/org/freedesktop/DBus", interface: Self.busName,
            member: "GetConnectionUnixProcessID", arguments: [.string(newOwner)], timeout: Self.busTimeout
        ) { [self] in identified($0) }
    }

    private func identified(_ result: Result<[DBusValue], DBusError>) {
        // If the bus doesn't know the PID (the process is in another PID namespace), keep the lease.
        if case .success(let values) = result { pid = values.first?.integer() }
        process = pid.flatMap { ProcessIdentity(current: $0) }
        if let expected {
            // A restarted bus numbers its connections anew, so this may be another process.
            guard process == expected.process else { return end(.left("left the bus while the daemon was away")) }
            self.expected = nil
        }
        life.started(pid: pid)
    }

    private func answered(_ result: Result<[DBusValue], DBusError>, within timeout: Duration) {
        push = nil
        guard isRunning, case .failure(let error) = result else { return }
        if error.name == DBusError.noReply, owner != nil {
            // The handler may have reported the call anyway. If not, the coordinator notices.
            return logger.notice(
                "handler does not answer IncomingPush; let it return at once",
                metadata: ["app": "\(app)", "name": "\(name.name)", "waited": "\(timeout)"])
        }
        leave()
        life.failed(NameFailure(app: app, name: name).error(error))
    }

    // MARK: - Ending

    private func release() {
        // If the handler is still being started, ``ownerIs(_:)`` releases it.
        guard let owner else { return }
        bus.send(
            destination: owner, path: name.path, interface: NameHandlers.interface, member: "Release",
            arguments: [.string(app.rawValue), .string(call.rawValue)], allowAutoStart: false)
    }

    private func end(_ exit: HandlerExit) {
        leave()
        life.ended(exit)
    }

    private func leave() {
        watch?.cancel()
        watch = nil
        push?.cancel()
        push = nil
    }
}
