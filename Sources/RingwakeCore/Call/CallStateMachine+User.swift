// What the user and the sender do.
extension CallStateMachine {
    /// The user took the call. One without a handler waits for it no longer than for the answer itself.
    package mutating func answer(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .ringing = state else { throw refusal() }
        let deadline = now.advanced(by: deadlines.action)
        if lease == .absent { lease = .lost(claimBy: deadline) }
        return enter(.answering(fulfillBy: deadline)) + ask(PendingAction(.answer, by: deadline))
    }

    /// The user took the call, and others are put out of the way first: it does not end meanwhile as one that nobody took.
    package mutating func ringOn(until deadline: BootInstant) -> [Output] {
        guard case .ringing(let until) = state, until < deadline else { return [] }
        state = .ringing(until: deadline)
        return [.changed]
    }

    /// The user refused the call that rings.
    package mutating func decline(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .ringing = state else { throw refusal() }
        return try end(at: now)
    }

    /// The user finished the call, whatever its state: before it was answered that is declining it.
    package mutating func end(at now: BootInstant) throws(Refusal) -> [Output] {
        let reason: CallEndReason
        switch state {
        case .queued:
            // No handler has heard of it, so none is asked.
            return enter(.ended(.declined, detail: nil))
        case .woken, .reported, .confirmed, .ringing: reason = .declined
        case .answering, .connected, .held: reason = .localEnded
        case .ending, .ended: throw refusal()
        }
        guard lease == .taken else { return enter(.ended(reason, detail: nil)) }
        return askToEnd(reason, at: now)
    }

    /// The user holds the call. Nothing follows for one that is held.
    package mutating func hold(at now: BootInstant) throws(Refusal) -> [Output] {
        switch state {
        case .connected: return try request(.hold, unless: .hold, at: now)
        case .held:
            guard !isAsked(.unhold) else { throw refusal(.alreadyAsked(.unhold)) }
            return []
        default: throw refusal()
        }
    }

    /// The user goes on with a held call. Nothing follows for one that goes on.
    package mutating func unhold(at now: BootInstant) throws(Refusal) -> [Output] {
        switch state {
        case .held: return try request(.unhold, unless: .unhold, at: now)
        case .connected:
            guard !isAsked(.hold) else { throw refusal(.alreadyAsked(.hold)) }
            return []
        default: throw refusal()
        }
    }

    /// The user turns the microphone off or on.
    package mutating func mute(_ isOn: Bool, at now: BootInstant) throws(Refusal) -> [Output] {
        switch state {
        case .connected, .held: break
        default: throw refusal()
        }
        guard isOn != isMuted || isAsked(.mute) || isAsked(.unmute) else { return [] }
        return try request(isOn ? .mute : .unmute, unless: isMuted ? .unmute : .mute, at: now)
    }

    /// The user plays digits. They are played one after the other, so each has its time after those before it.
    package mutating func play(_ digits: String, at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .connected = state else { throw refusal() }
        guard PendingAction.areDigits(digits) else { throw refusal(.badDigits) }
        guard lease == .taken else { throw refusal(.unclaimed) }
        let waiting = pending.filter { $0.action == .dtmf }
        guard waiting.count < CallStateMachine.maximumPendingDigits else { throw refusal(.alreadyAsked(.dtmf)) }
        let begin = waiting.last.map { max($0.by, now) } ?? now
        let action = PendingAction(.dtmf, digits: digits, by: begin.advanced(by: deadlines.action))
        pending.append(action)
        return [.changed, .request(action)]
    }

    /// A cellular call began: the call is held now, or as soon as that is possible.
    package mutating func yield(at now: BootInstant) -> [Output] {
        switch state {
        case .connected, .answering: break
        case .held where isAsked(.unhold): break
        default: return []
        }
        yields = true
        return yieldIfDue(at: now)
    }

    /// The cellular call is over: what is not held yet need not be.
    package mutating func yieldNoMore() -> [Output] {
        yields = false
        return []
    }

    /// Holds a call that was to be held once it is connected and has a handler.
    mutating func yieldIfDue(at now: BootInstant) -> [Output] {
        guard yields, case .connected = state, lease == .taken else { return [] }
        yields = false
        return (try? request(.hold, unless: .hold, at: now)) ?? []
    }

    /// The sender took the call back. Once the user answered it is too late: the two sides settle that themselves.
    package mutating func cancel(_ reason: CallEndReason) throws(Refusal) -> [Output] {
        switch state {
        case .queued, .woken, .reported, .confirmed, .ringing:
            return enter(.ended(reason, detail: nil))
        case .answering, .connected, .held, .ending, .ended:
            throw refusal()
        }
    }

    /// The journal knows the call from an earlier time, its app is gone, or it is kept out: it ends here.
    package mutating func abandon(_ reason: CallEndReason, _ detail: String?) -> [Output] {
        hasEnded ? [] : enter(.ended(reason, detail: detail))
    }

    /// Whether the handler has been asked for this and has not answered.
    package func isAsked(_ action: CallAction) -> Bool { pending.contains { $0.action == action } }

    private mutating func request(
        _ action: CallAction, unless asked: CallAction, at now: BootInstant
    ) throws(Refusal) -> [Output] {
        guard !isAsked(asked) else { throw refusal(.alreadyAsked(asked)) }
        guard lease == .taken else { throw refusal(.unclaimed) }
        let action = PendingAction(action, by: now.advanced(by: deadlines.action))
        pending.append(action)
        return [.changed, .request(action)]
    }

    /// Asks the handler, if there is one: else it is asked when it has claimed the call.
    private func ask(_ action: PendingAction) -> [Output] { lease == .taken ? [.request(action)] : [] }
}

extension PendingAction {
    /// The most digits that are played at a time.
    package static let maximumDigits = 32

    /// Whether `text` can be played: 1 to ``maximumDigits`` of `0`-`9`, `*`, `#`, `A`-`D` (RFC 4733 section 3.2), and `,`
    /// for a pause.
    package static func areDigits(_ text: String) -> Bool {
        (1...maximumDigits).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "D"),
                    UInt8(ascii: "*"), UInt8(ascii: "#"), UInt8(ascii: ","):
                    true
                default: false
                }
            }
    }
}
