internal import DBus

/// The sessions of logind that say whether the device is locked.
///
/// A value: ``SessionLockMonitor`` fills it.
struct LoginSessions: Hashable, Sendable {
    /// One session.
    struct Session: Hashable, Sendable {
        var user: UInt32
        var seat: String
        /// Whether it is the session in front on its seat.
        var isActive: Bool
        /// Whether a person works in it; no greeter, and none that runs jobs.
        var isPersons: Bool
        /// Whether it has a screen.
        var isGraphical: Bool
        var isLocked: Bool

        /// Nil if logind's answer lacks what decides.
        init?(properties: DBusValue) {
            guard let user = properties["User"]?.elements?.first?.integer(as: UInt32.self),
                let isLocked = properties["LockedHint"]?.flag
            else { return nil }
            self.user = user
            self.isLocked = isLocked
            seat = properties["Seat"]?.elements?.first?.text ?? ""
            isActive = properties["Active"]?.flag ?? false
            // "user", "user-early", "user-light", ...; not "greeter", "lock-screen", "manager", "background".
            isPersons = properties["Class"]?.text?.hasPrefix("user") ?? false
            isGraphical = ["x11", "wayland", "mir"].contains(properties["Type"]?.text)
        }
    }

    /// By their object paths; nil: logind has not answered yet.
    private var sessions: [String: Session?] = [:]

    var count: Int { sessions.count }
    /// Whether logind has answered for each.
    var isComplete: Bool { sessions.values.allSatisfy { $0 != nil } }

    func contains(_ path: String) -> Bool { sessions[path] != nil }

    /// There is a session; what it is comes later.
    mutating func expect(_ path: String) {
        if sessions[path] == nil { sessions[path] = .some(nil) }
    }

    /// Sets what is known of a session that is expected.
    mutating func set(_ path: String, _ session: Session) {
        if contains(path) { sessions[path] = session }
    }

    mutating func remove(_ path: String) { sessions[path] = nil }

    /// Changes a known session. What is not known yet will be answered with the change in it.
    mutating func change(_ path: String, _ body: (inout Session) -> Void) {
        guard case .some(.some(var session)) = sessions[path] else { return }
        body(&session)
        sessions[path] = session
    }

    /// Whether the device is locked for whom it is asked: a person's sessions are all locked, or none is left; or the
    /// session in front on the seat is locked, or is no person's.
    func isLocked(for scope: SessionLockMonitor.Scope) -> Bool {
        let persons = sessions.values.compactMap { $0 }.filter(\.isPersons)
        switch scope {
        case .user(let user):
            let own = persons.filter { $0.user == user }
            // A shell over the network has no lock; it must not keep open what the locked screen closes.
            let graphical = own.filter(\.isGraphical)
            return (graphical.isEmpty ? own : graphical).allSatisfy(\.isLocked)
        case .seat(let seat):
            return persons.filter { $0.seat == seat && $0.isActive }.allSatisfy(\.isLocked)
        }
    }
}
