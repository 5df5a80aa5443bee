/// A request to the handler that has not been answered.
package struct PendingAction: Hashable, Sendable {
    package let action: CallAction
    /// Of `dtmf`: the digits to play, one or more of `0`-`9`, `*`, `#`, `A`-`D`, and `,` for a pause.
    package let digits: String?
    /// Of `merge`: the call to mix it with.
    package let with: CallID?
    /// The deadline for the handler's fulfill or fail.
    package let by: BootInstant

    package init(_ action: CallAction, digits: String? = nil, with: CallID? = nil, by: BootInstant) {
        self.action = action
        self.digits = digits
        self.with = with
        self.by = by
    }

    /// The maximum number of digits in one request.
    package static let maximumDigits = 32

    /// Whether `text` can be played: 1 to ``maximumDigits`` of `0`-`9`, `*`, `#`, `A`-`D` (RFC 4733 section 3.2), and
    /// `,` for a pause.
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

/// The user's requests to a connected or held call that its handler must do: hold, resume, mute, play digits, merge.
struct InCallActions: Hashable, Sendable {
    typealias State = CallStateMachine.State
    typealias Lease = CallStateMachine.Lease
    typealias Refusal = CallStateMachine.Refusal

    /// The unanswered requests to the handler, the oldest first.
    private(set) var pending: [PendingAction] = []
    /// Whether the handler has muted the microphone.
    private(set) var isMuted = false
    /// Whether to hold the call as soon as possible, because a cellular call began.
    private(set) var yields = false
    /// Whether the last merge came to nothing: that the handler has done it comes too late then.
    private(set) var hasLostMerge = false

    /// The maximum number of queued `dtmf` actions: nobody types faster.
    private static let maximumQueuedDigits = 32
    /// More than are ever pending at a time.
    static let maximum = maximumQueuedDigits + CallAction.allCases.count

    init(pending: [PendingAction] = [], isMuted: Bool = false, yields: Bool = false) {
        self.pending = pending
        self.isMuted = isMuted
        self.yields = yields
    }

    var nextDeadline: BootInstant? { pending.lazy.map(\.by).min() }

    func contains(_ action: CallAction) -> Bool { pending.contains { $0.action == action } }

    // MARK: - Requests. Each returns the action to request from the handler; nil if there is nothing to do.

    /// The user holds the call, or resumes it.
    mutating func setHeld(
        _ isOn: Bool, in state: State, _ lease: Lease, by deadline: BootInstant
    ) throws(Refusal) -> PendingAction? {
        let (action, opposite): (CallAction, CallAction) = isOn ? (.hold, .unhold) : (.unhold, .hold)
        guard !contains(.merge) else { throw Refusal(state: state, why: .alreadyAsked(.merge)) }
        switch state.name {
        case .connected where isOn, .held where !isOn:
            return try request(action, unless: action, in: state, lease, by: deadline)
        case .connected, .held:
            guard !contains(opposite) else { throw Refusal(state: state, why: .alreadyAsked(opposite)) }
            return nil
        default: throw Refusal(state: state)
        }
    }

    /// The user mutes or unmutes the microphone.
    mutating func mute(
        _ isOn: Bool, in state: State, _ lease: Lease, by deadline: BootInstant
    ) throws(Refusal) -> PendingAction? {
        guard [.connecting, .connected, .held].contains(state.name) else { throw Refusal(state: state) }
        guard isOn != isMuted || contains(.mute) || contains(.unmute) else { return nil }
        return try request(
            isOn ? .mute : .unmute, unless: isMuted ? .unmute : .mute, in: state, lease, by: deadline)
    }

    /// The user plays digits. The handler plays them one after the other: each request has `time` after the one before
    /// it.
    mutating func play(
        _ digits: String, in state: State, _ lease: Lease, _ time: Duration, at now: BootInstant
    ) throws(Refusal) -> PendingAction? {
        guard case .connected = state else { throw Refusal(state: state) }
        guard PendingAction.areDigits(digits) else { throw Refusal(state: state, why: .badDigits) }
        guard lease == .taken else { throw Refusal(state: state, why: .unclaimed) }
        let queued = pending.filter { $0.action == .dtmf }
        guard queued.count < Self.maximumQueuedDigits else { throw Refusal(state: state, why: .alreadyAsked(.dtmf)) }
        let begin = queued.last.map { max($0.by, now) } ?? now
        let action = PendingAction(.dtmf, digits: digits, by: begin.advanced(by: time))
        pending.append(action)
        return action
    }

    /// The user merges the call with another one.
    mutating func merge(
        with other: CallID, in state: State, _ lease: Lease, by deadline: BootInstant
    ) throws(Refusal) -> PendingAction {
        guard [.connected, .held].contains(state.name) else { throw Refusal(state: state) }
        for asked in [CallAction.hold, .unhold] where contains(asked) {
            throw Refusal(state: state, why: .alreadyAsked(asked))
        }
        defer { hasLostMerge = false }
        return try request(.merge, with: other, unless: .merge, in: state, lease, by: deadline)
    }

    private mutating func request(
        _ action: CallAction, with other: CallID? = nil, unless asked: CallAction, in state: State, _ lease: Lease,
        by deadline: BootInstant
    ) throws(Refusal) -> PendingAction {
        guard !contains(asked) else { throw Refusal(state: state, why: .alreadyAsked(asked)) }
        guard lease == .taken else { throw Refusal(state: state, why: .unclaimed) }
        let action = PendingAction(action, with: other, by: deadline)
        pending.append(action)
        return action
    }

    // MARK: - Yielding to a cellular call

    mutating func setYields(_ yields: Bool) { self.yields = yields }

    /// Holds a call that has to yield, once it is connected and has a handler.
    mutating func holdIfDue(in state: State, _ lease: Lease, by deadline: BootInstant) -> PendingAction? {
        guard yields, case .connected = state, lease == .taken else { return nil }
        yields = false
        return try? request(.hold, unless: .hold, in: state, lease, by: deadline)
    }

    // MARK: - Answers

    /// The handler answered the oldest action of this kind.
    mutating func answered(
        _ action: CallAction, isFulfilled: Bool, in state: State, _ lease: Lease
    ) throws(Refusal) {
        guard let index = pending.firstIndex(where: { $0.action == action }) else { throw Refusal(state: state) }
        guard lease == .taken else { throw Refusal(state: state, why: .unclaimed) }
        pending.remove(at: index)
        guard isFulfilled else { return dropped(action) }
        if action == .mute || action == .unmute { isMuted = action == .mute }
    }

    /// Removes the oldest action whose deadline is `deadline`. A late `dtmf` removes all other `dtmf` actions, too.
    /// Returns false if no action has this deadline.
    mutating func removeLate(_ deadline: BootInstant) -> Bool {
        guard let index = pending.firstIndex(where: { $0.by == deadline }) else { return false }
        let late = pending.remove(at: index).action
        if late == .dtmf { pending.removeAll { $0.action == .dtmf } }
        dropped(late)
        return true
    }

    /// A call that could not be resumed stays held, so it need not yield.
    private mutating func dropped(_ action: CallAction) {
        if action == .unhold { yields = false }
        if action == .merge { hasLostMerge = true }
    }

    mutating func removeAll() { pending = [] }

    /// These are no longer needed, or possible. Returns whether one was asked for.
    @discardableResult
    mutating func withdraw(_ actions: CallAction...) -> Bool {
        let count = pending.count
        pending.removeAll { actions.contains($0.action) }
        if pending.count != count, actions.contains(.merge) { hasLostMerge = true }
        return pending.count != count
    }

    /// Gives the handler until `deadline` at least.
    mutating func extend(to deadline: BootInstant) {
        pending = pending.map { PendingAction($0.action, digits: $0.digits, with: $0.with, by: max($0.by, deadline)) }
    }
}

// MARK: - Requests of the user in a call

extension CallStateMachine {
    /// The user holds the call. Changes nothing if it is held already.
    package mutating func hold(at now: BootInstant) throws(Refusal) -> [Output] {
        Self.changed(asking: try actions.setHeld(true, in: state, lease, by: actBy(now)))
    }

    /// The user resumes a held call. Changes nothing if it is connected.
    package mutating func unhold(at now: BootInstant) throws(Refusal) -> [Output] {
        Self.changed(asking: try actions.setHeld(false, in: state, lease, by: actBy(now)))
    }

    /// The user mutes or unmutes the microphone.
    package mutating func mute(_ isOn: Bool, at now: BootInstant) throws(Refusal) -> [Output] {
        Self.changed(asking: try actions.mute(isOn, in: state, lease, by: actBy(now)))
    }

    /// The user plays digits.
    package mutating func play(_ digits: String, at now: BootInstant) throws(Refusal) -> [Output] {
        Self.changed(asking: try actions.play(digits, in: state, lease, deadlines.action, at: now))
    }

    /// The user merges the call with another one of its handler.
    package mutating func merge(with other: CallID, at now: BootInstant) throws(Refusal) -> [Output] {
        Self.changed(asking: try actions.merge(with: other, in: state, lease, by: actBy(now)))
    }

    /// The handler has mixed another call with this one, so this one is heard too.
    package mutating func merged(at now: BootInstant) -> [Output] {
        guard case .held(let until) = state else { return [] }
        actions.withdraw(.hold, .unhold)
        return enter(.connected(until: until)) + holdIfDue(at: now)
    }

    /// Its media have gone with its handler, and other calls are heard.
    package mutating func setAside() -> [Output] {
        let wasAsked = actions.withdraw(.hold, .unhold)
        guard case .connected(let until) = state else { return wasAsked ? [.changed] : [] }
        return enter(.held(until: until))
    }

    /// The call is not merged with another one now.
    package mutating func withdrawMerge() -> [Output] { actions.withdraw(.merge) ? [.changed] : [] }

    /// A cellular call began: the call is held now, or as soon as that is possible.
    package mutating func yield(at now: BootInstant) -> [Output] {
        guard isOnTheLine else { return [] }
        actions.setYields(true)
        return holdIfDue(at: now)
    }

    /// The cellular call has ended, so a call that is not held yet need not be.
    package mutating func yieldNoMore() -> [Output] {
        actions.setYields(false)
        return []
    }

    mutating func holdIfDue(at now: BootInstant) -> [Output] {
        Self.changed(asking: actions.holdIfDue(in: state, lease, by: actBy(now)))
    }

    private static func changed(asking action: PendingAction?) -> [Output] {
        action.map { [.changed, .request($0)] } ?? []
    }
}
