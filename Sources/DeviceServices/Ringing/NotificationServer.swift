internal import DBus

/// The desktop's notification server, as one conversation: from `open` to `close`, what it can do is known once, and
/// what it tells is taken from it alone.
///
/// See the Desktop Notifications Specification 1.3, "D-BUS Protocol".
final class NotificationServer {
    /// The user pressed a button: the notification, and the button's key.
    var onAction: ((UInt32, String) -> Void)?
    /// A notification is gone; why is a number of the specification ("NotificationClosed").
    var onClosed: ((UInt32, UInt32) -> Void)?
    /// The server has left, and all that it showed; it may come back.
    var onLost: (() -> Void)?
    /// A server is there.
    var onFound: (() -> Void)?

    static let name = "org.freedesktop.Notifications"
    /// Another server has taken over since it was asked, and knows of nothing.
    static let replaced = DBusError(
        name: "org.ringwake.Error.Replaced", message: "another notification server took over meanwhile")
    private static let path = "/org/freedesktop/Notifications"
    /// A server that is started for this takes seconds on a small machine. One that has an answer after that gives it
    /// to nobody, and what it shows could not be taken back: so it is waited for longer than a call rings.
    private static let timeout: Duration = .seconds(120)
    /// Notifications that wait for the server to say what it can do.
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

    /// Begins to follow the server. It is started by the bus where it can be.
    func open() {
        guard !isOpen else { return }
        // It may be another by now.
        capabilities = nil
        subscriptions = [
            bus.watchName(Self.name) { [weak self] in self?.ownerChanged(to: $0) },
            bus.subscribe(
                DBusMatch(sender: Self.name, path: Self.path, interface: Self.name)
            ) { [weak self] in self?.received($0) },
        ]
    }

    /// Ends the conversation. What was asked is still done and answered.
    func close() {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        owner = nil
    }

    /// Shows a notification.
    /// - Parameters:
    ///   - replacing: The notification whose place it takes; 0 for none.
    ///   - completion: Called once, later: its number.
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

    /// Takes a notification back.
    /// - Parameter owner: The server that shows it; nil for the one that is there.
    func withdraw(_ id: UInt32, from owner: String? = nil) {
        // To one that has left, or has closed it already, this is an error that nobody needs to hear of.
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
        // One that does not say what it can do may show plain text all the same.
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
        // The first one, started by our own question, has not been asked anything else before.
        if old != nil {
            capabilities = nil
            onLost?()
        }
        if new != nil { onFound?() }
    }

    private func received(_ signal: DBusSignal) {
        // It is from the server: what others send under its name is dropped by the subscription.
        guard signal.arguments.count == 2, let id = signal.arguments[0].integer(as: UInt32.self) else { return }
        switch signal.member {
        case "ActionInvoked": signal.arguments[1].text.map { onAction?(id, $0) }
        case "NotificationClosed": signal.arguments[1].integer(as: UInt32.self).map { onClosed?(id, $0) }
        default: break
        }
    }
}
