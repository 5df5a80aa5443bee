import ControlProtocol
import RingwakeCore

/// The unit of a handler can be started.
enum HandlerUnitCheck {
    /// polkit's name on the system bus.
    static let polkit = "org.freedesktop.PolicyKit1"

    static func findings(_ handler: ConfigurationMessage.Handler, _ facts: DoctorFacts) -> [Finding] {
        if let unit = facts.handlerUnits[handler.target] {
            let found = faults(of: unit, handler)
            if !found.isEmpty { return found }
        }
        if needsPolkit(handler, user: facts.daemonUser), facts.knownNames[polkit] == false {
            return [
                problem(
                    handler, "polkit, which lets the daemon start its unit, is not there or is masked",
                    hint: "install polkitd, or run 'systemctl unmask polkit'")
            ]
        }
        if let name = name(handler, user: facts.daemonUser) { return [name] }
        guard facts.handlerUnits[handler.target]?.isRoot == true, handler.manager == "system" else { return [] }
        return [
            .warning(
                HandlerCheck.name, "the handler of \(handler.app) runs as root: \(handler.target) has no User=",
                hint: "it reads what senders wrote; give it a user of its own")
        ]
    }

    /// The name of the unit is not one that deploy/polkit/50-ringwake.rules allows; nil if it is, or needn't be.
    ///
    /// - Parameter user: the daemon's; nil if it isn't known.
    static func name(_ handler: ConfigurationMessage.Handler, user: UInt32?) -> Finding? {
        guard needsPolkit(handler, user: user), !HandlerUnitName.isAllowed(handler.target) else { return nil }
        return .warning(
            HandlerCheck.name,
            "the handler of \(handler.app): polkit's rule does not let the daemon start \(handler.target)",
            hint: "name the unit ringwake-handler-NAME@.service, or add a rule of your own")
    }

    private static func needsPolkit(_ handler: ConfigurationMessage.Handler, user: UInt32?) -> Bool {
        handler.way == "unit" && handler.manager == "system" && user != nil && user != 0
    }

    private static func faults(
        of unit: HandlerUnitLook, _ handler: ConfigurationMessage.Handler
    ) -> [Finding] {
        let systemctl = handler.manager == "user" ? "systemctl --user" : "systemctl"
        let name = handler.target
        switch unit.load {
        case "loaded":
            return unit.faults.map {
                problem(
                    handler, "\(name) cannot start: \($0.problem) (\($0.setting) in \(unit.file))",
                    hint: "\($0.hint), or correct \($0.setting) and run '\(systemctl) daemon-reload'")
            }
        case "not-found":
            return [
                problem(
                    handler, "systemd knows no unit \(name)",
                    hint: "install it and run '\(systemctl) daemon-reload', or correct wake.unit")
            ]
        case "masked":
            return [problem(handler, "\(name) is masked", hint: "run '\(systemctl) unmask \(name)'")]
        default:
            return [
                problem(
                    handler, "systemd cannot use \(name) (\(unit.load)): \(unit.file)",
                    hint: "'systemd-analyze verify \(unit.file)' shows what is wrong with it")
            ]
        }
    }

    private static func problem(
        _ handler: ConfigurationMessage.Handler, _ text: String, hint: String
    ) -> Finding {
        .problem(HandlerCheck.name, "the handler of \(handler.app): \(text)", hint: hint)
    }
}
