/// The signals and names that one connection watches.
final class SignalTable {
    /// One subscription to signals.
    final class Listener {
        let match: DBusMatch
        let rule: String
        let onReady: ((Result<Void, DBusError>) -> Void)?
        let handler: (DBusSignal) -> Void
        /// The bus has the match rule.
        var isInstalled = false
        /// Whether `onReady` was told; signals are delivered from then on.
        var isReady = false
        var isCancelled = false
        /// Follows who owns the sender's name; nil for a unique name, which is its own.
        var nameObservation: DBusSubscription?
        var owner: NameWatch.Owner

        init(
            match: DBusMatch, rule: String, onReady: ((Result<Void, DBusError>) -> Void)?,
            handler: @escaping (DBusSignal) -> Void
        ) {
            self.match = match
            self.rule = rule
            self.onReady = onReady
            self.handler = handler
            owner = Self.isFixed(match.sender) ? .known(match.sender) : .unknown
        }

        /// The bus itself, and unique names.
        static func isFixed(_ sender: String) -> Bool { sender.hasPrefix(":") || sender == BusInterface.name }

        /// Nothing is told any more.
        func end() {
            isCancelled = true
            nameObservation?.cancel()
            nameObservation = nil
        }

        func isSentByOwner(_ sender: String) -> Bool {
            if case .known(let owner) = owner { owner == sender } else { false }
        }
    }

    /// In the order in which they came.
    var listeners: [Listener] = []
    var names: [String: NameWatch] = [:]

    func removeAll() {
        for listener in listeners { listener.end() }
        for watch in names.values { watch.observers.removeAll() }
        listeners = []
        names = [:]
    }

    func failAll(_ error: DBusError) {
        let (listeners, names) = (listeners, names)
        self.listeners = []
        self.names = [:]
        for listener in listeners where !listener.isCancelled {
            listener.end()
            listener.onReady?(.failure(error))
        }
        for watch in names.values { watch.set(.failed(error)) }
    }
}

/// Who owns one name, for all who want to know.
final class NameWatch {
    enum Owner: Equatable {
        /// The bus has not said yet.
        case unknown
        /// The unique name; nil when nobody has it.
        case known(String?)
        /// The bus does not say.
        case failed(DBusError)

        var error: DBusError? {
            if case .failed(let error) = self { error } else { nil }
        }
    }

    final class Observer {
        let body: (Owner) -> Void
        var isCancelled = false
        /// What it was told last.
        var told = Owner.unknown

        init(_ body: @escaping (Owner) -> Void) {
            self.body = body
        }

        func tell(_ owner: Owner) {
            guard !isCancelled, told != owner else { return }
            told = owner
            body(owner)
        }
    }

    let rule: String
    var owner = Owner.unknown
    var observers: [Observer] = []

    init(rule: String) {
        self.rule = rule
    }

    func set(_ owner: Owner) {
        self.owner = owner
        for observer in observers { observer.tell(owner) }
    }
}

/// The bus's own object (D-Bus Specification, "Message Bus Messages").
enum BusInterface {
    static let name = "org.freedesktop.DBus"
    static let path = "/org/freedesktop/DBus"
    /// How long the bus itself may take; dbus-daemon answers these at once.
    static let timeout = Duration.seconds(25)
}
