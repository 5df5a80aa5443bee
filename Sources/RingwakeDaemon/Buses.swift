internal import DBus
internal import Logging
internal import RunLoop

/// The message buses that there are for this daemon; each is opened by its first use.
final class Buses {
    /// The system's: logind, ModemManager, the system's systemd.
    let system: DBusService
    /// That of the daemon's user: notifications, the user's systemd.
    let session: DBusService

    init(runLoop: RunLoop, logger: Logger, environment: [String: String]) {
        system = DBusService(
            address: .system, environment: environment, runLoop: runLoop, logger: logger, label: "system")
        session = DBusService(
            address: .session, environment: environment, runLoop: runLoop, logger: logger, label: "session")
    }

    /// A bus that was lost may be there again; nothing tries by itself.
    func reopen() {
        for bus in [system, session] {
            if case .lost = bus.status { bus.open() }
        }
    }

    func close() {
        system.close()
        session.close()
    }
}
