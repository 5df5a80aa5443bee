package import DBus
package import Logging

/// Reports when the sessions of a person are locked and unlocked, as logind knows it.
///
///     let monitor = SessionLockMonitor(logger: logger, systemBus: system, scope: .user(getuid()))
///     monitor.onChange = { state in ... }
///     monitor.start()
///
/// It follows signals and starts nothing. A session counts as locked when its desktop says so (`LockedHint`), and when
/// logind asks it to lock: not every desktop says that it has. Without logind the state is unknown.
///
/// See org.freedesktop.login1(5), "Session Objects".
package final class SessionLockMonitor {
    /// Whose sessions count.
    package nonisolated enum Scope: Hashable, Sendable {
        /// All of this user, or those with a screen if there are any. Locked when all are, and when none is left.
        case user(UInt32)
        /// The one in front on this seat.
        case seat(String)
    }

    package nonisolated enum State: Hashable, Sendable {
        /// logind has not answered yet.
        case asking
        case locked
        case unlocked
        /// Why, for a person.
        case unknown(String)
    }

    /// Called when the state changes.
    package var onChange: ((State) -> Void)?
    package private(set) var state = State.asking {
        didSet { if state != oldValue { onChange?(state) } }
    }

    /// Maximum sessions to follow. A machine for many users has some hundred.
    static let maximumSessions = 1024

    private static let login = "org.freedesktop.login1"
    private static let loginPath = "/org/freedesktop/login1"
    private static let manager = "\(login).Manager"
    private static let session = "\(login).Session"
    private static let properties = "org.freedesktop.DBus.Properties"
    /// logind answers in milliseconds. Protected data stays closed until it has answered, or for so long.
    package static let standardPatience: Duration = .seconds(5)
    /// Then it is asked again, with this timeout: it may be slow while the machine starts, and no event says when it isn't.
    private static let longTimeout: Duration = .seconds(60)

    private let logger: Logger
    private let bus: DBusService
    private let scope: Scope
    private let patience: Duration
    private var nameWatch: DBusSubscription?
    private var subscriptions: [DBusSubscription] = []
    /// logind's unique name.
    private var owner: String?
    private var sessions = LoginSessions()
    private var isListed = false

    package init(
        logger: Logger, systemBus: DBusService, scope: Scope, patience: Duration = SessionLockMonitor.standardPatience
    ) {
        self.patience = patience
        self.logger = logger
        bus = systemBus
        self.scope = scope
    }

    isolated deinit {
        nameWatch?.cancel()
        unsubscribe()
    }

    /// Begins to watch. Idempotent.
    package func start() {
        guard nameWatch == nil else { return }
        nameWatch = bus.watchName(Self.login) { [weak self] in self?.ownerChanged(to: $0) }
    }

    /// Ends the watch. Idempotent.
    package func close() {
        onChange = nil
        nameWatch?.cancel()
        nameWatch = nil
        unsubscribe()
    }

    private func ownerChanged(to new: String?) {
        unsubscribe()
        owner = new
        guard let new else {
            return fail("logind (\(Self.login)) is not on the system bus, so nobody says when the screen is locked")
        }
        subscribe(to: new)
        ask(Self.loginPath, Self.manager, "ListSessions") { [weak self] values in self?.listed(values.first) }
    }

    private func unsubscribe() {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        sessions = LoginSessions()
        isListed = false
    }

    private func subscribe(to owner: String) {
        let matches = [
            DBusMatch(sender: owner, path: Self.loginPath, interface: Self.manager, member: "SessionNew"),
            DBusMatch(sender: owner, path: Self.loginPath, interface: Self.manager, member: "SessionRemoved"),
            DBusMatch(sender: owner, interface: Self.session, member: "Lock"),
            DBusMatch(sender: owner, interface: Self.session, member: "Unlock"),
            DBusMatch(
                sender: owner, interface: Self.properties, member: "PropertiesChanged", firstArgument: Self.session),
        ]
        subscriptions = matches.map { match in
            bus.subscribe(match) { [weak self] in self?.received($0) }
        }
    }

    // MARK: - Sessions

    private func listed(_ list: DBusValue?) {
        isListed = true
        for entry in list?.elements ?? [] {
            // id, user, user's name, seat, path
            if let path = entry.elements?.last?.text { add(path) }
        }
        update()
    }

    private func add(_ path: String) {
        guard !sessions.contains(path) else { return }
        guard sessions.count < Self.maximumSessions else {
            return logger.warning(
                "more sessions than are followed", metadata: ["maximum": "\(Self.maximumSessions)"])
        }
        sessions.expect(path)
        read(path)
    }

    /// A signal before the answer reports the same state or an older one, a signal after it a newer one.
    private func read(_ path: String) {
        ask(path, Self.properties, "GetAll", [.string(Self.session)]) { [weak self] values in
            guard let self else { return }
            if let session = values.first.flatMap(LoginSessions.Session.init(properties:)) {
                sessions.set(path, session)
            } else {
                sessions.remove(path)
            }
            update()
        } failed: { [weak self] _ in
            // It has ended meanwhile, or the monitor may not read it, and then nobody's lock depends on it.
            self?.sessions.remove(path)
            self?.update()
        }
    }

    private func received(_ signal: DBusSignal) {
        let arguments = signal.arguments
        switch signal.member {
        case "SessionNew": if arguments.count == 2, let path = arguments[1].text { add(path) }
        case "SessionRemoved": if arguments.count == 2, let path = arguments[1].text { sessions.remove(path) }
        case "Lock": sessions.change(signal.path) { $0.isLocked = true }
        case "Unlock": sessions.change(signal.path) { $0.isLocked = false }
        case "PropertiesChanged": if arguments.count == 3 { changed(signal.path, arguments[1], arguments[2]) }
        default: break
        }
        update()
    }

    private func changed(_ path: String, _ values: DBusValue, _ invalidated: DBusValue) {
        sessions.change(path) { session in
            if let isLocked = values["LockedHint"]?.flag { session.isLocked = isLocked }
            if let isActive = values["Active"]?.flag { session.isActive = isActive }
        }
        let names = invalidated.elements?.compactMap(\.text) ?? []
        if sessions.contains(path), names.contains("LockedHint") || names.contains("Active") { read(path) }
    }

    // MARK: - What follows

    private func ask(
        _ path: String, _ interface: String, _ member: String, _ arguments: [DBusValue] = [],
        timeout: Duration? = nil, _ completion: @escaping ([DBusValue]) -> Void, failed: ((DBusError) -> Void)? = nil
    ) {
        guard let owner else { return }
        // By its unique name: an answer of another owner would be about other objects.
        bus.call(
            destination: owner, path: path, interface: interface, member: member, arguments: arguments,
            timeout: timeout ?? patience
        ) { [weak self] result in
            guard let self, self.owner == owner else { return }
            switch result {
            case .success(let values): completion(values)
            case .failure(let error) where error.name == DBusError.noReply:
                if state == .asking { fail("logind has not answered for \(patience)") }
                ask(path, interface, member, arguments, timeout: Self.longTimeout, completion, failed: failed)
            case .failure(let error):
                if let failed { failed(error) } else { fail("logind does not say which sessions there are: \(error)") }
            }
        }
    }

    private func fail(_ why: String) {
        logger.notice("the lock of the screen is not known", metadata: ["why": "\(why)"])
        state = .unknown(why)
    }

    private func update() {
        guard isListed, sessions.isComplete else { return }
        state = sessions.isLocked(for: scope) ? .locked : .unlocked
    }
}
