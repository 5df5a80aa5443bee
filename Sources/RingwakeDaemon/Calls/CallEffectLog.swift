internal import Logging
internal import RingwakeCore

extension Logger {
    /// Logs an effect of the coordinator.
    func log(_ effect: Effect) {
        switch effect {
        case .callChanged(let call): logChange(of: call)
        case .pushIgnored(let push, let key, let outcome):
            // As for a push that was accepted: a sender can repeat it at will.
            debug(
                "push changes nothing",
                metadata: [
                    "app": "\(push.app)", "push-id": "\(push.pushID)", "call": "\(key.id)", "why": "\(outcome)",
                ])
        case .strike(let key, let failure):
            warning(
                "handler did not do its part",
                metadata: ["app": "\(key.app)", "call": "\(key.id)", "failure": "\(failure)"])
        case .struckOut(let app, true):
            error(
                "handler has too many strikes and is not started any more",
                metadata: ["app": "\(app)", "to-do": "ringwake app clear-strikes \(app)"])
        case .struckOut(let app, false): notice("strikes cleared", metadata: ["app": "\(app)"])
        case .restricted(let key, let restriction):
            info("call kept out", metadata: ["app": "\(key.app)", "call": "\(key.id)", "by": "\(restriction.kind)"])
        case .callMissed(let call):
            notice(
                "call missed",
                metadata: [
                    "app": "\(call.key.app)", "call": "\(call.key.id)",
                    "reason": "\(call.machine.state.endReason.map { "\($0)" } ?? "")",
                ])
        default: break
        }
    }

    private func logChange(of call: Call) {
        let isFailure = call.machine.state.endReason == .handlerFailed
        let level: Logger.Level = isFailure ? .warning : .info
        // Don't build the metadata if this level isn't logged.
        guard logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "app": "\(call.key.app)", "call": "\(call.key.id)", "state": "\(call.machine.state.name.rawValue)",
        ]
        metadata["reason"] = call.machine.state.endReason.map { "\($0)" }
        metadata["detail"] = call.machine.state.endDetail.map { "\($0)" }
        log(level: level, "call changed", metadata: metadata)
    }
}
