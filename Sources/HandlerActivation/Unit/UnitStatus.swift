internal import DBus
internal import RingwakeCore

/// The status of a unit, and how its main process ended.
struct UnitStatus {
    /// Length of an invocation ID.
    static let invocationBytes = 16

    /// `active`, `inactive`, `failed`, `activating`, …
    var activeState: String?
    var invocation: [UInt8]?
    /// Nil if there is no main process.
    var mainPID: Int32?
    /// Why the service failed: `exit-code`, `signal`, `resources`, …; `success` if it did not.
    var result: String?
    /// `si_code` of the ended main process (waitid(2)); 0 while it runs.
    var exitCode: Int32?
    var exitStatus: Int32?

    /// Updates the properties that a reply or a signal contains, of either interface of a service.
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

    /// The bytes of an array value. An invocation ID has 16; it is empty before the first start.
    static func bytes(_ value: DBusValue) -> [UInt8]? {
        value.elements.map { $0.compactMap { $0.integer(as: UInt8.self) } }
    }

    /// A unit that is being stopped still runs.
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

    /// Why it failed, for people; nil if unknown.
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
