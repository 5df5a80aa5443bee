internal import DBus
internal import RingwakeCore

/// What is known of how a unit is and of how its main process ended.
struct UnitStatus {
    /// Of an activation's id.
    static let invocationBytes = 16

    /// `active`, `inactive`, `failed`, `activating`, …
    var activeState: String?
    var invocation: [UInt8]?
    /// Nil while there is none.
    var mainPID: Int32?
    /// Why the service failed: `exit-code`, `signal`, `resources`, …; `success` if it did not.
    var result: String?
    /// `si_code` of the main process that has ended (waitid(2)); 0 while it has not.
    var exitCode: Int32?
    var exitStatus: Int32?

    /// Takes over what a reply or a signal says, of either interface of a service.
    mutating func merge(_ properties: DBusValue) {
        for entry in properties.entries ?? [] {
            switch entry.key.text {
            case "ActiveState": activeState = entry.value.text ?? activeState
            case "InvocationID": invocation = Self.bytes(entry.value) ?? invocation
            case "MainPID": mainPID = entry.value.integer(as: Int32.self).flatMap { $0 > 1 ? $0 : nil }
            case "Result": result = entry.value.text ?? result
            case "ExecMainCode": exitCode = entry.value.integer() ?? exitCode
            case "ExecMainStatus": exitStatus = entry.value.integer() ?? exitStatus
            default: break
            }
        }
    }

    /// 16 bytes; empty before the first start.
    static func bytes(_ value: DBusValue) -> [UInt8]? {
        value.elements.map { $0.compactMap { $0.integer(as: UInt8.self) } }
    }

    /// A unit that is being stopped runs still.
    var isRunning: Bool { ["active", "reloading", "deactivating"].contains(activeState) }

    /// How the handler ended.
    var exit: HandlerExit {
        switch (exitCode, exitStatus) {
        // CLD_EXITED, CLD_KILLED, CLD_DUMPED.
        case (1, let status?): .exited(status)
        case (2, let signal?), (3, let signal?): .signalled(signal)
        default: .left("its unit was stopped")
        }
    }

    /// Why it failed, for a person; nil when that is not known.
    var failure: String? {
        switch (result, exitCode, exitStatus) {
        case ("timeout", _, _): "it took longer than its unit allows"
        case ("start-limit-hit", _, _): "it was started too often (StartLimitBurst=)"
        case ("exit-code", 1, 203?): "its program could not be executed"
        case ("exit-code", 1, let status?): "it exited with status \(status)"
        case ("signal", 2, let signal?), ("core-dump", 3, let signal?): "signal \(signal) killed it"
        case ("success", _, _), (nil, _, _): nil
        case (let result?, _, _): LogText.harmless(result)
        }
    }
}
