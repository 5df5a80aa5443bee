package import DBus
package import Logging

/// Watches for calls over the cellular network, which ModemManager makes and takes, and reads which network that is.
///
/// It follows signals and starts nothing. Without ModemManager it waits for its name, which costs no wakeup. A modem
/// without calls sends no signal that is subscribed to here, as long as nobody follows its network: then each change of
/// its signal's quality wakes the daemon too, because a message bus can't tell it from a change of the technology.
///
/// See the ModemManager API: org.freedesktop.ModemManager1, .Modem, .Modem.Modem3gpp, .Modem.Voice and .Call.
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
    /// Called with the networks of all modems when they have changed, while they are followed.
    package var onNetworks: (([ModemNetwork]) -> Void)?
    /// Whether the modems' networks are followed.
    package var followsNetworks = false {
        didSet { if followsNetworks != oldValue { networkFollowingChanged() } }
    }
    /// The modems' networks while they are followed; empty while they aren't, or aren't known yet.
    package private(set) var networks: [ModemNetwork] = []

    /// Maximum modems to follow.
    nonisolated static let maximumModems = 16
    /// Maximum calls of one modem to follow; networks allow seven (3GPP TS 22.030, 6.5.5.1).
    static let maximumCallsPerModem = 16

    private static let service = "org.freedesktop.ModemManager1"
    private static let root = "/org/freedesktop/ModemManager1"
    private static let voice = "\(service).Modem.Voice"
    private static let callInterface = "\(service).Call"
    private static let objectManager = "org.freedesktop.DBus.ObjectManager"
    private static let properties = "org.freedesktop.DBus.Properties"

    private let logger: Logger
    private let bus: DBusService
    private static let longTimeout: Duration = .seconds(120)
    private let timeout: Duration
    /// Whether the last question had no answer in time.
    private var isSlow = false
    private var nameWatch: DBusSubscription?
    private var subscriptions: [DBusSubscription] = []
    private var networkSubscriptions: [DBusSubscription] = []
    /// What ModemManager said of its modems' networks; nil before its answer, and while they aren't followed.
    private var table: ModemNetworks?
    private var networkReaders: [(Result<[ModemNetwork], DBusError>) -> Void] = []
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
        table = nil
        status.why = nil
        if let new {
            subscribe(to: new)
            if followsNetworks { subscribeToNetworks(of: new) }
            synchronise()
        }
        update()
    }

    private func unsubscribe() {
        for subscription in subscriptions + networkSubscriptions { subscription.cancel() }
        subscriptions = []
        networkSubscriptions = []
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
                if self.followsNetworks { self.table = ModemNetworks(values.first) }
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
            if arguments.count == 2, let path = arguments[0].text {
                table?.add(path, interfaces: arguments[1])
                addModem(path, interfaces: arguments[1])
            }
        case (Self.objectManager, "InterfacesRemoved"):
            let names = arguments.count == 2 ? arguments[1].elements?.compactMap(\.text) ?? [] : []
            guard let path = arguments.first?.text else { break }
            table?.remove(path, interfaces: names)
            if names.contains(Self.voice) { modems[path] = nil }
        case (Self.properties, "PropertiesChanged"): networkChanged(signal)
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
            path: path, interface: Self.properties, member: "Get",
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

    // MARK: - Networks

    private func networkFollowingChanged() {
        guard let owner else { return }
        table = nil
        if followsNetworks {
            subscribeToNetworks(of: owner)
            synchronise()
        } else {
            for subscription in networkSubscriptions { subscription.cancel() }
            networkSubscriptions = []
            networks = []
        }
    }

    private func subscribeToNetworks(of owner: String) {
        networkSubscriptions = [ModemNetworks.modem, ModemNetworks.network].map { interface in
            bus.subscribe(
                DBusMatch(
                    sender: owner, interface: Self.properties, member: "PropertiesChanged", firstArgument: interface)
            ) { [weak self] in self?.received($0) }
        }
    }

    private func networkChanged(_ signal: DBusSignal) {
        guard signal.arguments.count == 3, let interface = signal.arguments[0].text else { return }
        table?.change(signal.path, interface, signal.arguments[1])
        let outdated = signal.arguments[2].elements ?? []
        guard outdated.contains(where: { $0.text.map(ModemNetworks.properties.contains) ?? false }) else { return }
        // Changed, and not said to what.
        synchronise()
    }

    /// Reads the networks of all modems: asks ModemManager, unless they are followed. All who ask meanwhile get the same
    /// answer. Empty without ModemManager.
    package func readNetworks(_ completion: @escaping (Result<[ModemNetwork], DBusError>) -> Void) {
        guard let owner else { return completion(.success([])) }
        if let table { return completion(.success(table.all)) }
        networkReaders.append(completion)
        guard networkReaders.count == 1 else { return }
        bus.call(
            destination: owner, path: Self.root, interface: Self.objectManager, member: "GetManagedObjects",
            arguments: [], allowAutoStart: false, timeout: timeout
        ) { [weak self] result in
            guard let self else { return }
            let readers = networkReaders
            networkReaders = []
            // ModemManager may have gone meanwhile, with its modems.
            let read = self.owner == nil ? .success([]) : result.map { ModemNetworks($0.first).all }
            for reader in readers { reader(read) }
        }
    }

    private func reportNetworks() {
        guard followsNetworks, owner == nil || table != nil else { return }
        let new = table?.all ?? []
        guard new != networks else { return }
        networks = new
        onNetworks?(new)
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
        reportNetworks()
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
