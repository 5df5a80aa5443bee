/// The one session that all calls of the user share. The call in focus has it, and the others of its conference.
///
///     idle --focus--> activating --settle--> active --focus goes, another comes--> retained
///      ^                |  ^  \                |                                      |
///      |   refused, no  |  |   +--focus goes   | focus goes                           | focus
///      |        server  v  |         |         v                                      v
///      |              failed         |     deactivating --settle--> idle          activating
///      +-------------------+---------+
///
/// | transition | function |
/// |---|---|
/// | to match the needs of the calls | ``follow(_:failure:until:)`` |
/// | activating -> active, deactivating -> idle: the server has acknowledged it | ``settle(_:others:route:isFinal:)`` |
/// | activating -> activating, reported as failed; deactivating -> idle: it took too long | ``passDeadline(_:_:)`` |
/// | activating -> failed | ``fail(_:)`` |
/// | failed -> activating | ``retry(failure:until:)`` |
/// | any -> failed or idle: the server is gone | ``lose(_:)`` |
///
/// What holds for each call: `activated` is emitted on entering *active*, or when the call joins a conference that has the
/// session, and nowhere else. `deactivated` is emitted once afterwards: when it leaves that conference, on leaving
/// *active* if another call follows or the server is lost, otherwise on leaving *deactivating*. A failed activation is
/// reported once.
package struct CallSession: Hashable, Sendable {
    package typealias Focus = CallAudioNeeds.Focus

    package enum State: Hashable, Sendable {
        case idle
        /// `failsAt`: when the activation is reported as failed; nil after that. The call becomes active whenever the
        /// server answers.
        case activating(Focus, failsAt: BootInstant?)
        case active(Focus)
        /// No longer the call's. Its effects on others stay for the next call.
        case retained(Focus)
        /// Its client has stopped its streams. The client is notified when the other sessions are restored, or at
        /// `until`.
        case deactivating(Focus, until: BootInstant)
        /// Reported as failed, and not in the plan. It is retried when the server, the route or the configuration
        /// changes.
        case failed(Focus)
    }

    package private(set) var state = State.idle {
        didSet { if !isInPlan { isSpeakerForced = false } }
    }
    /// Its order number while it is in the plan; nil otherwise.
    var order: UInt64?
    package internal(set) var isSpeakerForced = false
    /// The client of an ended call whose streams were still running.
    private(set) var silenced: AudioClient?
    /// Whether a call has been in focus since there was last no call.
    private(set) var hasHadFocus = false

    /// The calls whose audio is active.
    var activeCalls: [CallKey] { if case .active(let focus) = state { focus.calls } else { [] } }

    /// Whether the plan contains it.
    var isInPlan: Bool {
        switch state {
        case .activating, .active, .retained: true
        case .idle, .deactivating, .failed: false
        }
    }

    var deadline: BootInstant? {
        switch state {
        case .activating(_, let failsAt): failsAt
        case .deactivating(_, let until): until
        case .idle, .active, .retained, .failed: nil
        }
    }

    /// Its session for the plan; nil if the plan doesn't contain it.
    func planned(others: AudioPlan.Others) -> AudioPlan.Session? {
        let (focus, isRetained): (Focus, Bool)
        switch state {
        case .activating(let own, _), .active(let own): (focus, isRetained) = (own, false)
        case .retained(let own): (focus, isRetained) = (own, true)
        case .idle, .deactivating, .failed: return nil
        }
        return AudioPlan.Session(
            id: .call, client: focus.client, configuration: focus.configuration, others: others,
            isInputOpen: focus.configuration.category.hasInput && !isRetained, isMuted: focus.isMuted,
            isSpeakerForced: isSpeakerForced, isCall: true)
    }

    // MARK: - What the calls need

    /// - Parameters:
    ///   - failure: why nothing can be activated now; nil if activation works, or soon may.
    ///   - route: the present route, for calls that join an active session.
    ///   - limit: the deadline of an activation or a deactivation that begins now.
    mutating func follow(
        _ needs: CallAudioNeeds, failure: AudioSessionError?, route: AudioRoute, until limit: BootInstant
    ) -> [AudioEffect] {
        if needs.focus != nil || !needs.isAnyCall { silenced = nil }
        hasHadFocus = needs.focus != nil || (hasHadFocus && needs.isAnyCall)
        guard let focus = needs.focus else { return leave(isAnotherComing: needs.isFocusComing, until: limit) }
        switch state {
        case .activating(let former, let failsAt) where former.continues(as: focus):
            state = .activating(focus, failsAt: failsAt)
        case .active(let former) where former.continues(as: focus):
            state = .active(focus)
            return Self.tell(former.calls.filter { !focus.calls.contains($0) }, .deactivated)
                + Self.tell(focus.calls.filter { !former.calls.contains($0) }, .activated(route))
        case .failed(let former)
        where former.continues(as: focus) && (failure != nil || former.isSameSession(as: focus)):
            // The cause of the failure is still there.
            state = .failed(focus)
        case .active(let former), .deactivating(let former, _):
            return Self.tell(former.calls, .deactivated) + begin(focus, failure: failure, until: limit)
        case .idle, .activating, .retained, .failed: return begin(focus, failure: failure, until: limit)
        }
        return []
    }

    private mutating func begin(
        _ focus: Focus, failure: AudioSessionError?, until limit: BootInstant
    ) -> [AudioEffect] {
        guard let failure else {
            state = .activating(focus, failsAt: limit)
            return []
        }
        return fail(focus, failure)
    }

    private mutating func leave(isAnotherComing: Bool, until limit: BootInstant) -> [AudioEffect] {
        switch state {
        case .idle, .deactivating: break
        case .active(let former) where isAnotherComing:
            state = .retained(former)
            return Self.tell(former.calls, .deactivated)
        case .active(let former): state = .deactivating(former, until: limit)
        case .activating(let former, _) where isAnotherComing: state = .retained(former)
        case .retained where isAnotherComing: break
        case .activating, .retained, .failed: state = .idle
        }
        return []
    }

    /// The server or its devices have changed: retries a call that failed.
    mutating func retry(failure: AudioSessionError?, until limit: BootInstant) -> [AudioEffect] {
        guard case .failed(let focus) = state else { return [] }
        return begin(focus, failure: failure, until: limit)
    }

    // MARK: - Results

    /// A plan is in force; it may be the one that the call waits for.
    ///
    /// - Parameters:
    ///   - plan: the plan in force; nil if there is no server.
    ///   - isFinal: whether no other plan follows by itself.
    mutating func settle(
        _ plan: AudioPlan?, others: AudioPlan.Others, route: AudioRoute, isFinal: Bool
    ) -> [AudioEffect] {
        switch state {
        case .activating(let focus, _):
            guard let plan, plan.sessions.first == planned(others: others) else { return [] }
            state = .active(focus)
            return Self.tell(focus.calls, .activated(route))
        case .deactivating(let focus, _):
            guard isFinal || plan?.contains(.call) != true else { return [] }
            return end(focus)
        case .idle, .active, .retained, .failed: return []
        }
    }

    /// The streams of its client kept running when it left the server.
    mutating func noteBusy() {
        if case .deactivating(let focus, _) = state { silenced = focus.client }
    }

    mutating func passDeadline(_ now: BootInstant, _ error: AudioSessionError) -> [AudioEffect] {
        guard let deadline, deadline <= now else { return [] }
        switch state {
        case .activating(let focus, _):
            state = .activating(focus, failsAt: nil)
            return Self.tell(focus.calls, .failed(error))
        case .deactivating(let focus, _): return end(focus)
        case .idle, .active, .retained, .failed: return []
        }
    }

    /// The server refused the activation; the call continues.
    mutating func fail(_ error: AudioSessionError) -> [AudioEffect] {
        guard case .activating(let focus, _) = state else { return [] }
        return fail(focus, error)
    }

    /// The connection to the server is gone, and with it everything that was in force.
    mutating func lose(_ error: AudioSessionError) -> [AudioEffect] {
        silenced = nil
        switch state {
        case .active(let focus): return Self.tell(focus.calls, .deactivated) + fail(focus, error)
        case .activating(let focus, _): return fail(focus, error)
        case .deactivating(let focus, _): return end(focus)
        case .retained: state = .idle
        case .idle, .failed: break
        }
        return []
    }

    private mutating func fail(_ focus: Focus, _ error: AudioSessionError) -> [AudioEffect] {
        let isReported = if case .activating(_, failsAt: nil) = state { true } else { false }
        state = .failed(focus)
        return isReported ? [] : Self.tell(focus.calls, .failed(error))
    }

    private static func tell(_ calls: [CallKey], _ change: CallAudioChange) -> [AudioEffect] {
        calls.map { .call($0, change) }
    }

    private mutating func end(_ focus: Focus) -> [AudioEffect] {
        state = .idle
        return Self.tell(focus.calls, .deactivated)
    }
}

extension CallAudioNeeds.Focus {
    /// Whether both need the same session, apart from the mute state.
    fileprivate func isSameSession(as other: CallAudioNeeds.Focus) -> Bool {
        configuration == other.configuration && client == other.client
    }
}
