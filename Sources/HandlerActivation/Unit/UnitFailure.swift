internal import DBus
internal import RingwakeCore

/// Why a unit was not started, and what to do.
struct UnitFailure {
    let app: AppID?
    let unit: String
    let manager: SystemdManager

    /// The error for an answer of systemd or the bus.
    func error(_ error: DBusError) -> RingwakeError {
        let answer = LogText.harmless(error.message)
        switch error.name {
        case "org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.systemd1.LoadFailed",
            "org.freedesktop.systemd1.BadUnitSetting", "org.freedesktop.DBus.Error.FileNotFound":
            return problem(
                .badConfiguration,
                "\(answer); install the unit, and run `systemctl\(option) daemon-reload` after a change")
        case "org.freedesktop.systemd1.UnitMasked":
            // It may be another unit, such as polkit's, which the answer names.
            let masked = answer.split(separator: " ").first { $0.hasSuffix(".service") } ?? unit[...]
            return problem(.badConfiguration, "\(answer); run `systemctl\(option) unmask '\(masked)'`")
        case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired",
            "org.freedesktop.systemd1.NotAuthorized", "org.freedesktop.DBus.Error.AuthFailed":
            return problem(
                .notPermitted,
                "\(answer); let a polkit rule allow org.freedesktop.systemd1.manage-units for this unit to the daemon's"
                    + " user (see ringwake-handler(7)), or take the user's manager (wake.manager = \"user\")")
        case "org.freedesktop.systemd1.TransactionIsDestructive", "org.freedesktop.systemd1.TransactionJobsConflicting",
            "org.freedesktop.systemd1.ShuttingDown", "org.freedesktop.systemd1.OnlyByDependency":
            return problem(.conflict, "\(answer); see `systemctl\(option) list-jobs`")
        case DBusError.noReply, "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut":
            return problem(.timedOut, "systemd did not answer: \(answer); see whether it hangs")
        case DBusError.limitsExceeded:
            return problem(.limitReached, "\(answer); see whether the bus hangs")
        case _ where error.isBusAbsent:
            return problem(.unreachable, "the \(bus) bus is not there: \(answer); start it, or \(advice)")
        case _ where error.isServiceAbsent:
            return problem(.unreachable, "no systemd is on the \(bus) bus; \(advice)")
        default:
            return problem(
                .failed, "\(answer) (\(LogText.harmless(error.name))); see `systemctl\(option) status '\(unit)'`")
        }
    }

    /// The error for the result of the start job (`JobRemoved`, org.freedesktop.systemd1(5)).
    func job(_ result: String, _ status: UnitStatus) -> RingwakeError {
        let name = LogText.harmless(unit)
        let look = "see `journalctl\(option) -u '\(name)'`"
        switch result {
        case "failed":
            let reason = status.failure.map { ": \($0)" } ?? ""
            return problem(.failed, "it failed to start\(reason); \(look)")
        case "dependency":
            return problem(.failed, "a unit that it requires did not start; see `systemctl\(option) status '\(name)'`")
        case "timeout": return problem(.timedOut, "its start took longer than its unit allows; \(look)")
        case "canceled": return problem(.conflict, "somebody stopped it while it was starting; \(look)")
        case "skipped", "assert":
            return problem(.badConfiguration, "a condition of the unit is not met (Condition…=, Assert…=); \(look)")
        case "invalid": return problem(.badConfiguration, "the unit cannot be started; see its settings")
        default: return problem(.failed, "its start ended as \"\(LogText.harmless(result))\"; \(look)")
        }
    }

    /// The manager left the bus before the unit ran.
    var managerLost: RingwakeError {
        problem(.unreachable, "systemd left the \(bus) bus meanwhile; see whether the manager was restarted")
    }

    private func problem(_ code: RingwakeError.Code, _ why: String) -> RingwakeError {
        RingwakeError(
            code, "the handler\(app.map { " of \($0)" } ?? "") was not started (unit \(LogText.harmless(unit))): \(why)"
        )
    }

    private var option: String { manager == .user ? " --user" : "" }
    private var bus: String { manager == .user ? "session" : "system" }
    private var advice: String { "let the app's handler be started otherwise (wake.way = \"exec\", wake.manager)" }
}
