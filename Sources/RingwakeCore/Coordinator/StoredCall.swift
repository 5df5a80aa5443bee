/// A call from the journal that had not ended when the daemon stopped.
package struct StoredCall: Hashable, Sendable {
    /// The stored record. Its instants are in the present boot, so they may be negative.
    package let record: CallRecord
    /// The payloads of its pushes that handlers may not have received.
    package let payloads: [CallPayload]
    /// The class that keeps from reading payloads; in their place are empty JSON objects. Nil if all can be read.
    package var lockedPayloads: ProtectionClass?
    package let origin: Origin

    /// When the record was written.
    package enum Origin: Hashable, Sendable {
        /// In this boot: its instants and process ids are valid.
        case thisBoot
        /// In an earlier boot. The time is unknown if the wall clock doesn't show how long ago that was: then the
        /// record's instants mean nothing.
        case otherBoot(isTimeKnown: Bool)
    }

    package init(_ record: CallRecord, payloads: [CallPayload], _ origin: Origin) {
        self.record = record
        self.payloads = payloads
        self.origin = origin
    }

    /// What happens to the call when the daemon starts.
    enum Fate {
        /// It is restored as it was: the record is from this boot, and its app is configured.
        case stands
        /// It is queued for a handler like a new call.
        case deliveredAgain
        case ends(CallEndReason, String)
    }

    /// After a restart of the machine, a call that never rang is delivered again if there is still time. One that may
    /// have rung is not.
    func fate(hasPolicy: Bool, at now: BootInstant) -> Fate {
        if hasPolicy, origin == .thisBoot, record.progress != nil { return .stands }
        if record.isOutgoing, record.state == .queued {
            return .ends(.failed, "ringwaked stopped before a handler had it")
        }
        switch record.state {
        case .ending:
            return .ends(record.reason ?? .localEnded, "ringwaked stopped before its handler had ended it")
        case .answering, .connected, .held, .dialling, .connecting:
            return .ends(.failed, "ringwaked stopped during the call")
        case _ where record.mayHaveRung:
            return .ends(.unanswered, "ringwaked stopped while it rang")
        default:
            break
        }
        if record.isOneAttempt {
            return .ends(.expired, "ringwaked stopped before it rang, and its sender allowed one attempt only")
        }
        if let lockedPayloads {
            return .ends(
                .failed,
                "ringwaked stopped before it rang, and its payload can't be read until the device is unlocked "
                    + "(protection class \(lockedPayloads.rawValue))")
        }
        if !payloads.contains(where: { $0.push == 0 }) {
            return .ends(.failed, "the journal has no payload to deliver again")
        }
        if origin == .otherBoot(isTimeKnown: false) {
            return .ends(.expired, "the machine was restarted, and its clock does not show how long that took")
        }
        if record.ringBefore <= now {
            return .ends(.expired, "ringwaked stopped before it rang, and started after its expiration")
        }
        return hasPolicy ? .deliveredAgain : .ends(.handlerFailed, "its app is not configured any more")
    }
}

// MARK: - The handlers of restored calls

extension CallAssigner {
    /// Restores an app's handlers of the last run. Calls whose handler is gone and queued calls get another one.
    mutating func restoreHandlers(
        _ handlers: [WakeID: HandlerLane.Handler], of app: AppID, alive: Set<WakeID>, _ policy: AppPolicy,
        at now: BootInstant
    ) -> [Effect] {
        let calls = engine.calls.inOrder { $0.key.app == app }
        var effects = engine.handlers.restore(handlers, of: app, alive: alive, policy, calls, at: now)
        for call in calls { effects += restorePlace(of: call, at: now) }
        return effects + startWaiting(of: app, at: now)
    }

    private mutating func restorePlace(of call: Call, at now: BootInstant) -> [Effect] {
        let (app, key) = (call.key.app, call.key)
        if let wake = call.handler, engine.handlers.handler(wake, of: app)?.calls.contains(key) != true {
            return handlerLost(call, at: now)
        }
        if call.handler == nil, call.machine.claimBy != nil {
            engine.waitForClaim(call, at: now)
        } else if call.machine.state == .queued, call.machine.isOutgoing {
            return engine.startAgain(call, at: now)
        } else if case .queued = call.machine.state, !engine.handlers.waiting(app).contains(key) {
            return wait(call, at: now)
        } else if case .confirmed = call.machine.state {
            // The ring is requested only now, when the call keeps its handler or needs none. Otherwise the result could
            // be taken for that of a later ring.
            return [.journalRing(call.journalRecord)]
        }
        return []
    }

    /// The call's handler did not survive the end of the daemon. The call waits for another handler, or ends.
    private mutating func handlerLost(_ call: Call, at now: BootInstant) -> [Effect] {
        if call.isOneAttempt, [.woken, .reported, .confirmed].contains(call.machine.state.name) {
            let detail =
                "its handler ended with ringwaked before it rang, and its sender allowed one attempt only"
            return engine.settle(call.key, at: now) { $0.abandon(.expired, detail) }
        }
        let effects = engine.settle(call.key, at: now) { $0.handlerLostAtRestart(at: now) }
        return requeue(call.key, at: now) ?? effects
    }
}
