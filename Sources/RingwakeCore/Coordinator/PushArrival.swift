/// The meaning of a push, given what is known about its call.
enum PushArrival {
    /// It repeats an earlier push, which had this outcome.
    case repeated(Call, PushOutcome)
    /// It updates a call in progress.
    case updates(Call)
    /// It cancels its call.
    case cancels(Call, CallEndReason)
    /// It arrived after its call had ended.
    case late(Call)
    /// It is a cancellation that names no call.
    case cancelsNothing
    /// It starts a new call.
    case starts(PushOutcome)
    /// Its call is new, and ends at once.
    case ends(PushOutcome, CallEndReason, String)

    /// - Parameters:
    ///   - known: the push's call, in progress or among the last that ended.
    ///   - restriction: the rule that keeps the call from ringing.
    ///   - isStruckOut: whether the app's handlers are no longer started.
    init(
        of push: VerifiedPush, _ facts: PushFacts, _ policy: AppPolicy, known: Call?, _ restriction: Restriction?,
        isStruckOut: Bool, at now: BootInstant
    ) {
        if let known {
            self =
                if let before = known.pushes.outcome(ofRepeated: push, isCancel: facts.cancel != nil) {
                    .repeated(known, before)
                } else if let reason = facts.cancel {
                    .cancels(known, reason)
                } else {
                    known.machine.hasEnded ? .late(known) : .updates(known)
                }
        } else if let reason = facts.cancel {
            self =
                facts.call == nil
                ? .cancelsNothing : .ends(.cancelled, reason, "it was taken back before it came")
        } else if let restriction {
            self = .ends(.restricted, restriction.endReason, restriction.detail)
        } else if now >= push.ringBefore(facts, policy) {
            self = .ends(.expired, .expired, push.lateness(facts, at: now))
        } else {
            self = .starts(isStruckOut ? .withheld : .started)
        }
    }
}

extension VerifiedPush {
    /// When it is too late for the call to start ringing. Without an expiration, a push is worth delivering for its
    /// ring time, not for 30 days.
    func ringBefore(_ facts: PushFacts, _ policy: AppPolicy) -> BootInstant {
        if case .at(let instant) = expiration { return instant }
        return (facts.sentAt ?? receivedAt).advanced(by: facts.ringTime ?? policy.deadlines.ring)
    }

    /// Why the push is too late, for a person.
    fileprivate func lateness(_ facts: PushFacts, at now: BootInstant) -> String {
        if case .at = expiration { return "its push came after its expiration" }
        // Of a push that waited at a gateway, or in a socket while the machine slept.
        let waited = receivedAt.duration(to: now).milliseconds / 1000
        let age = facts.sentAt.map { $0.duration(to: receivedAt).milliseconds / 1000 } ?? 0
        guard age > waited else {
            return "its push came \(waited) s after a gateway had accepted it, longer than its ring time"
        }
        return "its payload says that the call began \(age) s before it arrived, longer than its ring time"
    }
}
