internal import DBus

/// The desktop's notification server, from `open` to `close`: reads its capabilities once, and accepts signals only
/// from it.
///
/// See the Desktop Notifications Specification 1.3, "D-BUS Protocol".
final class NotificationServer {
    /// The user pressed a button: the notification, and the button's key.
    var onAction: ((UInt32, String) -> Void)?
    /// A notification was closed; the reason is a number of the specification ("NotificationClosed").
    var onClosed: ((UInt32, UInt32) -> Void)?
    /// The server has left, with all its notifications; it may come back.
    var onLost: (() -> Void)?
    /// A server has appeared.
    var onFound: (() -> Void)?

    static let name = "org.freedesktop.Notifications"
    /// Another server has replaced the one that was asked, and doesn't know the notification.
    static let replaced = DBusError(
        name: "org.ringwake.Error.Replaced", message: "another notification server took over meanwhile")
    private static let path = "/org/freedesktop/Notifications"
    /// A server that is started for this takes seconds on a small machine. If its answer came after the timeout, its
    /// notification could not be withdrawn, so the timeout is longer than a call rings.
    private static let timeout: Duration = .seconds(120)
    /// Maximum notifications that wait for the server's capabilities.
    private static let maximumWaiting = 32

    private let bus: DBusService
    private var subscriptions: [DBusSubscription] = []
    /// The server's unique name.
    private(set) var owner: String?
    private var capabilities: Set<String>?
    private var question: DBusCall?
    private var waiting: [(Result<Set<String>, DBusError>) -> Void] = []

    init(bus: DBusService) {
        self.bus = bus
    }

    isolated deinit {
        close()
    }

    var isOpen: Bool { !subscriptions.isEmpty }

    /// Begins to follow the server, which the bus starts if it can.
    func open() {
        guard !isOpen else { return }
        // It may be another server now.
        capabilities = nil
        subscriptions = [
            bus.watchName(Self.name) { [weak self] in self?.ownerChanged(to: $0) },
            bus.subscribe(
                DBusMatch(sender: Self.name, path: Self.path, interface: Self.name)
            ) { [weak self] in self?.received($0) },
        ]
    }

    /// Stops following the server. Requests in progress are still executed and answered.
    func close() {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        owner = nil
    }

    /// Shows a notification.
    /// - Parameters:
    ///   - replacing: the notification to replace; 0: none.
    ///   - completion: called once, later, with its number.
    func show(
        _ content: NotificationContent, replacing: UInt32,
        completion: @escaping (Result<UInt32, DBusError>) -> Void
    ) {
        open()
        withCapabilities { [weak self] capabilities in
            switch capabilities {
            case .success(let known): self?.send(content, replacing: replacing, known, completion)
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    /// Withdraws a notification.
    /// - Parameter owner: the server that shows it; nil: the current one.
    func withdraw(_ id: UInt32, from owner: String? = nil) {
        // If the server has left, or has closed it already, this is an error that doesn't matter.
        bus.call(
            destination: owner ?? Self.name, path: Self.path, interface: Self.name, member: "CloseNotification",
            arguments: [.uint32(id)], allowAutoStart: false, timeout: Self.timeout
        ) { _ in }
    }

    private func withCapabilities(_ body: @escaping (Result<Set<String>, DBusError>) -> Void) {
        if let capabilities { return body(.success(capabilities)) }
        guard waiting.count < Self.maximumWaiting else {
            let error = DBusError(name: DBusError.limitsExceeded, message: "too many notifications wait to be shown")
            return body(.failure(error))
        }
        waiting.append(body)
        guard question == nil else { return }
        question = bus.call(
            destination: Self.name, path: Self.path, interface: Self.name, member: "GetCapabilities",
            timeout: Self.timeout
        ) { [weak self] in self?.learned($0) }
    }

    private func learned(_ result: Result<[DBusValue], DBusError>) {
        question = nil
        let bodies = waiting
        waiting = []
        var known = Result<Set<String>, DBusError>.success([])
        switch result {
        case .success(let values):
            let names = Set(values.first?.elements?.compactMap(\.text) ?? [])
            known = .success(names)
            capabilities = names
        case .failure(let error) where error.isServiceAbsent || error.isBusAbsent || error.name == DBusError.noReply:
            known = .failure(error)
        // A server that doesn't report its capabilities may still show plain text.
        case .failure: break
        }
        for body in bodies { body(known) }
    }

    private func send(
        _ content: NotificationContent, replacing: UInt32, _ capabilities: Set<String>,
        _ completion: @escaping (Result<UInt32, DBusError>) -> Void
    ) {
        let actions = capabilities.contains("actions") ? content.actions.flatMap { [$0.key, $0.label] } : []
        bus.call(
            destination: Self.name, path: Self.path, interface: Self.name, member: "Notify",
            arguments: [
                .string("Ringwake"), .uint32(replacing), .string(content.icon), .string(content.summary),
                .string(content.text(isMarkup: capabilities.contains("body-markup"))), .strings(actions),
                Self.hints(of: content), .int32(content.timeout),
            ],
            timeout: Self.timeout
        ) { [weak self, asked = owner] result in
            if let asked, let owner = self?.owner, owner != asked { return completion(.failure(Self.replaced)) }
            completion(
                result.flatMap { values in
                    if let id = values.first?.integer(as: UInt32.self) { return .success(id) }
                    return .failure(
                        DBusError(name: DBusError.invalidArguments, message: "the server's answer is no number"))
                })
        }
    }

    private static func hints(of content: NotificationContent) -> DBusValue {
        var hints: [(String, DBusValue)] = [
            ("urgency", .byte(content.urgency)), ("category", .string(content.category)),
            ("desktop-entry", .string("ringwake")), ("resident", .bool(content.isResident)),
        ]
        if content.isSilent {
            // The second is Phosh's (phosh.md), which gives feedback by sound, lamp and motor.
            hints += [("suppress-sound", .bool(true)), ("x-phosh-fb-profile", .string("none"))]
        }
        return .dictionary("s", "v", hints.map { DBusEntry(key: .string($0.0), value: .variant($0.1)) })
    }

    private func ownerChanged(to new: String?) {
        let old = owner
        guard new != old, isOpen else { return }
        owner = new
        // The first owner, which our own request started, needs no reset.
        if old != nil {
            capabilities = nil
            onLost?()
        }
        if new != nil { onFound?() }
    }

    private func received(_ signal: DBusSignal) {
        // It is from the server: the subscription drops signals of other senders.
        guard signal.arguments.count == 2, let id = signal.arguments[0].integer(as: UInt32.self) else { return }
        switch signal.member {
        case "ActionInvoked": signal.arguments[1].text.map { onAction?(id, $0) }
        case "NotificationClosed": signal.arguments[1].integer(as: UInt32.self).map { onClosed?(id, $0) }
        default: break
        }
    }
}
