/// The consequences of a missed deadline.
struct CallTimeout {
    let reason: CallEndReason
    var detail: String?
    var strike: HandlerFailure?
    /// Whether the handler hangs. It is stopped then, unless it serves other calls.
    var stopsHandler = false
    /// Whether the daemon may make the call ring instead.
    var mayFallBack = false
}

extension CallTimeout {
    /// Nil for a call that has ended.
    init?(of call: CallStateMachine, _ deadline: BootInstant) {
        let times = call.deadlines
        if call.claimBy == deadline {
            let isAnswer = if case .answering(deadline) = call.state { true } else { false }
            self.init(
                reason: .handlerFailed,
                detail: isAnswer
                    ? "it had no handler, and none claimed it within \(times.action)"
                    : "its handler ended, and none claimed it within \(times.claim)")
            if case .offered = call.lease { (strike, stopsHandler) = (.didNotClaim, true) }
            return
        }
        // Nothing has rung. The earlier one counts: the handler's deadline, or the call's expiry.
        if call.state.awaitsRing, let limit = call.state.limit, limit >= call.ringBefore {
            self.init(reason: .expired, stopsHandler: true)
            return
        }
        switch call.state {
        case .queued where call.isOutgoing:
            self.init(reason: .failed, detail: "no handler of the app took it in time")
        case .queued:
            self.init(reason: .expired, detail: "the app's handler was busy and did not fetch it in time")
        case .woken:
            self.init(
                reason: .handlerFailed, detail: "the handler did not report the call within \(times.report)",
                strike: .didNotReport, stopsHandler: true, mayFallBack: true)
        case .reported:
            self.init(
                reason: .handlerFailed, detail: "the handler did not confirm the call within \(times.report)",
                strike: .didNotConfirm, stopsHandler: true, mayFallBack: true)
        case .confirmed:
            self.init(
                reason: .failed, detail: "the journal could not record in time that it rings", stopsHandler: true)
        case .ringing, .connecting:
            self.init(reason: .unanswered)
        case .dialling:
            self.init(
                reason: .handlerFailed, detail: "the handler did not call the other side within \(times.action)",
                strike: .didNotAct, stopsHandler: true)
        case .answering:
            // Without a handler, no strike is due.
            let isTaken = call.lease == .taken
            self.init(
                reason: .handlerFailed, detail: "the handler did not answer within \(times.action)",
                strike: isTaken ? .didNotAct : nil, stopsHandler: isTaken)
        case .connected, .held:
            self.init(reason: .failed, detail: "the call lasted longer than \(times.connected)")
        case .ending(let reason, _):
            self.init(
                reason: reason, detail: "the handler did not end it within \(times.action)", strike: .didNotAct,
                stopsHandler: true)
        case .ended:
            return nil
        }
    }
}
