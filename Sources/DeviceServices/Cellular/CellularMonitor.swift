package import DBus
package import Logging

/// Watches for calls over the cellular network, which ModemManager makes and takes.
///
/// It follows signals and starts nothing. Without ModemManager it waits for its name, which costs no wakeup. A modem
/// without calls sends no signal that is subscribed to here.
///
/// See the ModemManager API: org.freedesktop.ModemManager1, .Modem.Voice and .Call.
package final class CellularMonitor {
    package nonisolated struct Status: Hashable, Sendable {
        /// Whether ModemManager is there.
        package var isServicePresent = false
        /// Modems that can make calls.
        package var modems = 0
        /// Calls that they know of, whatever their state.
        package var calls = 0
        /// Whether the user is in one of them.
        package var isCallActive = false
        /// Why calls may not be seen.
        package var why: String?

        package init() {}
    }

    /// Called when the first call begins, and when the last one has ended.
    package var onChange: ((Bool) -> Void)?
    package private(set) var status = Status()

    /// Maximum modems to follow.
    static let maximumModems = 16
    /// Maximum calls of one modem to follow; networks allow seven (3GPP TS 22.030, 6.5.5.1).
    static let maximumCallsPerModem = 16

    private static let service = "org.freedesktop.ModemManager1"
    private static let root = "/org/freedesktop/ModemManager1"
    private static let voice = "\(service).Modem.Voice"
    private static let callInterface = "\(service).Call"
    private static let objectManager = "org.freedesktop.DBus.ObjectManager"

    private let logger: Logger
    private let bus: DBusService
    private static let longTimeout: Duration = .seconds(120)
    private let timeout: Duration
    /// Whether the last question had no answer in time.
    private var isSlow = false
    private var nameWatch: DBusSubscription?
    private var subscriptions: [DBusSubscription] = []
    /// ModemManager's unique name.
    private var owner: String?
    /// The calls of each modem that has Voice, by their paths.
    private var modems: [String: [String: CellularCallState]] = [:]

    /// - Parameter timeout: for an answer; then it is asked again.
    package init(logger: Logger, systemBus: DBusService, timeout: Duration = .seconds(25)) {
        self.timeout = timeout
        self.logger = logger
        bus = systemBus
    }

    isolated deinit {
        nameWatch?.cancel()
        unsubscribe()
    }

    /// Begins to watch. Idempotent.
    package func start() {
        guard nameWatch == nil else { return }
        nameWatch = bus.watchName(Self.service) { [weak self] in self?.ownerChanged(to: $0) }
    }

    /// Ends the watch; a call that was active counts as ended. Idempotent.
    package func close() {
        nameWatch?.cancel()
        nameWatch = nil
        ownerChanged(to: nil)
    }

    private func ownerChanged(to new: String?) {
        guard new != owner else { return }
        unsubscribe()
        owner = new
        modems = [:]
        status.why = nil
        if let new {
            subscribe(to: new)
            synchronise()
        }
        update()
    }

    private func unsubscribe() {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
    }

    /// Subscribes to nothing else of this service: no signal strength, no SMS.
    private func subscribe(to owner: String) {
        let matches = [
            DBusMatch(sender: owner, path: Self.root, interface: Self.objectManager),
            DBusMatch(sender: owner, interface: Self.voice, member: "CallAdded"),
            DBusMatch(sender: owner, interface: Self.voice, member: "CallDeleted"),
            DBusMatch(sender: owner, interface: Self.callInterface, member: "StateChanged"),
        ]
        subscriptions = matches.map { match in
            bus.subscribe(match) { [weak self] in self?.received($0) }
        }
    }

    /// Reads the existing modems and calls. The answer includes the signals before it.
    private func synchronise() {
        ask(path: Self.root, interface: Self.objectManager, member: "GetManagedObjects", arguments: []) {
            [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let values):
                for entry in values.first?.entries ?? [] {
                    if let path = entry.key.text { self.addModem(path, interfaces: entry.value) }
                }
            case .failure(let error): self.failed("the modems cannot be asked for", error)
            }
            self.update()
        }
    }

    // MARK: - Signals

    private func received(_ signal: DBusSignal) {
        let arguments = signal.arguments
        switch (signal.interface, signal.member) {
        case (Self.objectManager, "InterfacesAdded"):
            if arguments.count == 2, let path = arguments[0].text { addModem(path, interfaces: arguments[1]) }
        case (Self.objectManager, "InterfacesRemoved"):
            let names = arguments.count == 2 ? arguments[1].elements?.compactMap(\.text) ?? [] : []
            if names.contains(Self.voice), let path = arguments[0].text { modems[path] = nil }
        case (Self.voice, "CallAdded"):
            if let path = arguments.first?.text { addCall(path, of: signal.path) }
        case (Self.voice, "CallDeleted"):
            if let path = arguments.first?.text { modems[signal.path]?[path] = nil }
        case (Self.callInterface, "StateChanged"):
            if arguments.count == 3 { changeState(of: signal.path, to: arguments[1]) }
        default: break
        }
        update()
    }

    private func addModem(_ path: String, interfaces: DBusValue) {
        guard let properties = interfaces[Self.voice] else { return }
        guard modems[path] != nil || modems.count < Self.maximumModems else {
            return failed("more than \(Self.maximumModems) modems; the others are not followed", nil)
        }
        modems[path] = modems[path] ?? [:]
        for call in properties["Calls"]?.elements ?? [] {
            if let call = call.text { addCall(call, of: path) }
        }
    }

    private func addCall(_ path: String, of modem: String) {
        guard let known = modems[modem], known[path] == nil else { return }
        guard known.count < Self.maximumCallsPerModem else {
            return failed("more than \(Self.maximumCallsPerModem) calls of a modem; the others are not followed", nil)
        }
        modems[modem]?[path] = .unknown
        // A signal before the answer reports the same state or an older one, a signal after it a newer one.
        ask(
            path: path, interface: "org.freedesktop.DBus.Properties", member: "Get",
            arguments: [.string(Self.callInterface), .string("State")]
        ) { [weak self] result in
            switch result {
            case .success(let values): if let state = values.first { self?.changeState(of: path, to: state) }
            case .failure(let error):
                // It may have ended meanwhile.
                guard let self, self.modems[modem]?[path] != nil else { return }
                self.failed("the state of a call cannot be asked for", error)
            }
            self?.update()
        }
    }

    private func changeState(of call: String, to value: DBusValue) {
        guard let number = value.integer(as: Int32.self) else { return }
        let state = CellularCallState(rawValue: number) ?? .unknown
        for modem in modems.keys where modems[modem]?[call] != nil { modems[modem]?[call] = state }
    }

    // MARK: - What follows

    private func ask(
        path: String, interface: String, member: String, arguments: [DBusValue], timeout: Duration? = nil,
        _ completion: @escaping (Result<[DBusValue], DBusError>) -> Void
    ) {
        guard let owner else { return }
        // By its unique name: an answer of another owner would be about other objects.
        bus.call(
            destination: owner, path: path, interface: interface, member: member, arguments: arguments,
            timeout: timeout ?? self.timeout
        ) { [weak self] result in
            guard let self, self.owner == owner else { return }
            switch result {
            case .failure(let error) where error.name == DBusError.noReply:
                // It may be slow while the machine starts, and no event says when it isn't.
                isSlow = true
                failed("it is slow", error)
                return ask(
                    path: path, interface: interface, member: member, arguments: arguments, timeout: Self.longTimeout,
                    completion)
            case .success where isSlow: (isSlow, status.why) = (false, nil)
            case .success, .failure: break
            }
            completion(result)
        }
    }

    private func failed(_ what: String, _ error: DBusError?) {
        let reason = error.map { "\(what): \($0)" } ?? what
        guard status.why != reason else { return }
        status.why = reason
        logger.info("ModemManager's calls may not all be seen", metadata: ["reason": "\(reason)"])
    }

    private func update() {
        let calls = modems.values.flatMap(\.values)
        status.isServicePresent = owner != nil
        status.modems = modems.count
        status.calls = calls.count
        let isActive = calls.contains(where: \.isInProgress)
        guard isActive != status.isCallActive else { return }
        status.isCallActive = isActive
        logger.info(isActive ? "a cellular call goes on" : "no cellular call goes on any more")
        onChange?(isActive)
    }
}
