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
        switch record.state {
        case .ending:
            return .ends(record.reason ?? .localEnded, "ringwaked stopped before its handler had ended it")
        case .answering, .connected, .held:
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
