internal import DBus
internal import Logging
internal import RunLoop

/// The message buses. Each is opened when it is first used.
final class Buses {
    /// The system bus: logind, ModemManager, the system's systemd.
    let system: DBusService
    /// The session bus of the daemon's user: notifications, the user's systemd.
    let session: DBusService

    init(runLoop: RunLoop, logger: Logger, environment: [String: String]) {
        system = DBusService(
            address: .system, environment: environment, runLoop: runLoop, logger: logger, label: "system")
        session = DBusService(
            address: .session, environment: environment, runLoop: runLoop, logger: logger, label: "session")
    }

    /// Reconnects buses that were lost. A bus doesn't reconnect by itself.
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
