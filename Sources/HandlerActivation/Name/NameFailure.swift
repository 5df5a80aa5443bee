internal import DBus
internal import RingwakeCore

/// Why a handler on a bus was not woken, and what to do.
struct NameFailure {
    let app: AppID
    let name: DBusHandlerName

    /// Whether the name can be used: well-known (a unique name such as `:1.42` may be another connection's tomorrow),
    /// with a valid path.
    static func isValid(_ name: DBusHandlerName) -> Bool {
        DBusNames.isBusName(name.name) && !name.name.hasPrefix(":") && DBusNames.isObjectPath(name.path)
    }

    /// - Throws: ``RingwakeError/Code/badConfiguration``.
    static func check(_ name: DBusHandlerName, of app: AppID) throws(RingwakeError) {
        guard isValid(name) else {
            let shown = LogText.harmless("\(name.name) at \(name.path)")
            throw RingwakeError(
                .badConfiguration,
                "the handler of \(app) cannot be woken (wake.dbus in apps.d/\(app).toml): \(shown) is no well-known bus"
                    + " name with an object path; write org.example.Phone, and a path such as /org/example/Phone")
        }
    }

    /// The error for the answer of the handler or the bus.
    func error(_ error: DBusError) -> RingwakeError {
        let answer = LogText.harmless(error.message)
        switch error.name {
        case DBusError.noReply, "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut":
            return problem(.timedOut, "it took too long: \(answer); see why the handler does not come to the bus")
        case DBusError.limitsExceeded:
            return problem(.limitReached, "\(answer); see whether the bus hangs")
        case "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownObject",
            "org.freedesktop.DBus.Error.UnknownInterface":
            return problem(
                .badConfiguration,
                "its owner has no org.ringwake.Handler1 at \(name.path): \(answer); correct the path, or let the"
                    + " handler offer it there before it takes the name")
        case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.AuthFailed":
            return problem(
                .notPermitted,
                "\(answer); let the bus policy allow the daemon to send to it, as the package's "
                    + "/usr/share/dbus-1/system.d/ringwake.conf does")
        case _ where error.name.hasPrefix("org.freedesktop.DBus.Error.Spawn."):
            return problem(
                .failed,
                "the bus could not start it: \(answer); correct its .service file, or see the handler's own log")
        case _ where error.isBusAbsent:
            return problem(.unreachable, "the \(name.bus.rawValue) bus is not there: \(answer); start it")
        case _ where error.isServiceAbsent:
            return problem(
                .badConfiguration,
                "nobody has the name, and no .service file in dbus-1/\(services) says how to start it; install one, or"
                    + " start the handler")
        default:
            return problem(.failed, "it refused the push: \(answer) (\(LogText.harmless(error.name)))")
        }
    }

    private func problem(_ code: RingwakeError.Code, _ why: String) -> RingwakeError {
        RingwakeError(
            code, "the handler of \(app) was not woken (\(name.name) on the \(name.bus.rawValue) bus): \(why)")
    }

    private var services: String { name.bus == .session ? "services" : "system-services" }
}
