/// What a push means, as far as its call is known.
enum PushArrival {
    /// It came before, and did this.
    case repeated(Call, PushOutcome)
    /// It says more of a call in progress.
    case updates(Call)
    /// It takes its call back.
    case cancels(Call, CallEndReason)
    /// It comes after its call's end.
    case late(Call)
    /// It takes a call back and names none.
    case cancelsNothing
    /// Its call is new.
    case starts(PushOutcome)
    /// Its call is new, and ends at once.
    case ends(PushOutcome, CallEndReason, String)

    /// - Parameters:
    ///   - known: the push's call, in progress or among the last that ended.
    ///   - restriction: what keeps the call out.
    ///   - isStruckOut: whether the app's handlers are not started any more.
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
            self = .ends(.expired, .expired, push.lateness(facts))
        } else {
            self = .starts(isStruckOut ? .withheld : .started)
        }
    }
}

extension VerifiedPush {
    /// From when on the call must not start to ring. Without an expiration a push is worth delivering for
    /// the time that it would ring, not for 30 days.
    func ringBefore(_ facts: PushFacts, _ policy: AppPolicy) -> BootInstant {
        if case .at(let instant) = expiration { return instant }
        return (facts.sentAt ?? receivedAt).advanced(by: facts.ringTime ?? policy.deadlines.ring)
    }

    /// Why it is too late, for a person.
    fileprivate func lateness(_ facts: PushFacts) -> String {
        if case .at = expiration { return "its push came after its expiration" }
        let age = (facts.sentAt ?? receivedAt).duration(to: receivedAt).milliseconds / 1000
        return "its payload says that it was sent \(age) s before it came, and that is longer than it would ring"
    }
}
