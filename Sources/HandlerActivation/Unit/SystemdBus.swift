internal import DBus
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// One systemd manager on its bus: jobs and units of the present leases.
///
/// It subscribes only while there are leases. The manager's answers and signals arrive in order, so a subscription that
/// is sent before a start misses no signal of it.
final class SystemdBus {
    static let name = "org.freedesktop.systemd1"
    private static let path = "/org/freedesktop/systemd1"
    private static let interface = "org.freedesktop.systemd1.Manager"
    /// A healthy manager answers within milliseconds.
    static let timeout: Duration = .seconds(5)

    let manager: SystemdManager
    let runLoop: RunLoop
    private let bus: DBusService
    private let logger: Logger
    private var followers: [UnitLease] = []
    private var subscriptions: [DBusSubscription] = []
    /// The manager's unique name, once it is known.
    private var owner: String?

    init(manager: SystemdManager, bus: DBusService, runLoop: RunLoop, logger: Logger) {
        self.manager = manager
        self.bus = bus
        self.runLoop = runLoop
        self.logger = logger
    }

    /// Object path of a unit.
    static func path(of unit: String) -> String { "\(path)/unit/\(DBusNames.pathElement(unit))" }

    // MARK: - Leases

    var isFollowed: Bool { !followers.isEmpty }

    /// The lease of the running handler with this unit.
    func lease(of unit: String) -> UnitLease? { followers.last { $0.unit == unit } }

    func follow(_ lease: UnitLease) {
        followers.append(lease)
        if followers.count == 1 { subscribe() }
    }

    func unfollow(_ lease: UnitLease) {
        followers.removeAll { $0 === lease }
        if followers.isEmpty { unsubscribe() }
    }

    private func subscribe() {
        let jobs = DBusMatch(sender: Self.name, path: Self.path, interface: Self.interface, member: "JobRemoved")
        subscriptions = [
            bus.subscribe(jobs) { [weak self] in self?.jobRemoved($0) },
            bus.watchName(Self.name) { [weak self] in self?.ownerChanged($0) },
        ]
        askForSignals()
    }

    private func unsubscribe() {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        if owner != nil { send("Unsubscribe") }
        owner = nil
    }

    /// A manager sends signals only to subscribers. A restarted manager has forgotten its subscribers.
    private func askForSignals() {
        send("Subscribe")
    }

    private func ownerChanged(_ newOwner: String?) {
        let isAnother = owner != nil && newOwner != nil && owner != newOwner
        let isLost = owner != nil && newOwner == nil
        let isBack = owner == nil && newOwner != nil
        owner = newOwner
        if isAnother || isBack { askForSignals() }
        if isLost {
            logger.warning("systemd left the bus", metadata: ["manager": "\(manager)"])
            for lease in followers { lease.managerLost() }
        }
    }

    private func jobRemoved(_ signal: DBusSignal) {
        guard signal.arguments.count == 4, let job = signal.arguments[1].text, let unit = signal.arguments[2].text,
            let result = signal.arguments[3].text
        else { return }
        for lease in followers { lease.jobRemoved(job, unit: unit, result: result) }
    }

    // MARK: - Calls

    private func send(_ member: String) {
        // If this fails, the next call fails too, and reports why.
        bus.send(
            destination: Self.name, path: Self.path, interface: Self.interface, member: member, allowAutoStart: false)
    }

    /// Calls a method of the manager. The bus must not start systemd for it.
    func call(
        _ member: String, _ arguments: [DBusValue], timeout: Duration = SystemdBus.timeout,
        _ completion: @escaping (Result<[DBusValue], DBusError>) -> Void
    ) {
        bus.call(
            destination: Self.name, path: Self.path, interface: Self.interface, member: member, arguments: arguments,
            allowAutoStart: false, timeout: timeout, completion: completion)
    }

    /// Reads the main process, the activation and the state of a service.
    func status(of unit: String, _ completion: @escaping (Result<UnitStatus, DBusError>) -> Void) {
        var status = UnitStatus()
        let path = Self.path(of: unit)
        let wanted = [
            ("org.freedesktop.systemd1.Service", "MainPID"), ("org.freedesktop.systemd1.Unit", "InvocationID"),
            ("org.freedesktop.systemd1.Unit", "ActiveState"),
        ]
        var left = wanted.count
        var failure: DBusError?
        for (interface, property) in wanted {
            bus.call(
                destination: Self.name, path: path, interface: "org.freedesktop.DBus.Properties", member: "Get",
                arguments: [.string(interface), .string(property)], allowAutoStart: false, timeout: Self.timeout
            ) { result in
                switch result {
                case .success(let values):
                    let entries = values.prefix(1).map { DBusEntry(key: .string(property), value: $0) }
                    status.merge(.dictionary("s", "v", entries))
                case .failure(let error): failure = failure ?? error
                }
                left -= 1
                if left == 0 { completion(failure.map { .failure($0) } ?? .success(status)) }
            }
        }
    }

    /// Calls `body` with each change of a unit.
    func watch(_ unit: String, _ body: @escaping (DBusValue) -> Void) -> DBusSubscription {
        let match = DBusMatch(
            sender: Self.name, path: Self.path(of: unit), interface: "org.freedesktop.DBus.Properties",
            member: "PropertiesChanged")
        return bus.subscribe(match) { signal in
            if signal.arguments.count > 1 { body(signal.arguments[1]) }
        }
    }
}
