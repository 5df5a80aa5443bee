/// The owner of one name, for all observers of the name.
final class NameWatch {
    enum Owner: Equatable {
        /// The bus has not answered yet.
        case unknown
        /// The unique name; nil when nobody has it.
        case known(String?)
        /// The bus refused to answer, or went away.
        case failed(DBusError)

        var error: DBusError? {
            if case .failed(let error) = self { error } else { nil }
        }
    }

    final class Observer {
        let body: (Owner) -> Void
        var isCancelled = false
        /// The owner that it was notified of last.
        var notified = Owner.unknown

        init(_ body: @escaping (Owner) -> Void) {
            self.body = body
        }

        func notify(_ owner: Owner) {
            guard !isCancelled, notified != owner else { return }
            notified = owner
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
        for observer in observers { observer.notify(owner) }
    }
}

/// The bus's own object (D-Bus Specification, "Message Bus Messages").
enum BusInterface {
    static let name = "org.freedesktop.DBus"
    static let path = "/org/freedesktop/DBus"
    /// Timeout of the bus itself; dbus-daemon answers immediately.
    static let timeout = Duration.seconds(25)
}
