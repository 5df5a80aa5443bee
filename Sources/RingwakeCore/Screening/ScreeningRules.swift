/// A call that is to be judged.
package struct ScreenedCall: Hashable, Sendable {
    package let call: CallKey
    /// The levels that an app may have, and a device may allow.
    package static let levels = 0...21

    /// The level of its app, as a content rating: 4, 9, 12, 17. Nil when it has none.
    package let level: Int?
    /// The limits that hold for its app.
    package let limits: CallLimits
    /// Who calls; nil while nobody has said.
    package let caller: CallerHandle?
    /// What the lists say of the caller.
    package let listed: ListVerdict?

    package init(
        call: CallKey, level: Int? = nil, limits: CallLimits = CallLimits(), caller: CallerHandle?,
        listed: ListVerdict? = nil
    ) {
        self.call = call
        self.level = level
        self.limits = limits
        self.caller = caller
        self.listed = listed
    }
}

/// Which calls are kept out, and why: the owner's rules, and the calls that came lately.
///
/// A call is judged when its push comes, and again when its handler reports it: by then the caller may be known, and
/// the rules may be others. It counts once.
package struct ScreeningRules: Sendable {
    /// The highest level that an app may have on this device; nil when any may.
    package var allowedLevel: Int?
    package var doNotDisturb: DoNotDisturb
    /// Those that callers are read by: the callers that do not disturb lets through are read by them too.
    package var dialling: DiallingRules
    private var history = CallHistory()

    package init(
        allowedLevel: Int? = nil, doNotDisturb: DoNotDisturb = DoNotDisturb(), dialling: DiallingRules = .none
    ) {
        self.allowedLevel = allowedLevel
        self.doNotDisturb = doNotDisturb
        self.dialling = dialling
    }

    /// What keeps a call out; nil when nothing does. Of several reasons the first: its app's level, the lists, the
    /// limits of its app and of its caller, do not disturb.
    /// - Parameters:
    ///   - isReport: whether its handler reports it: who has not said who calls by then is anonymous. Before, a caller
    ///     who is not known yet is let through to the handler where an exception could be meant for it.
    ///   - now: when this is asked.
    ///   - moment: the same by the clock on the wall.
    package mutating func restriction(
        for call: ScreenedCall, isReport: Bool, at now: BootInstant, moment: LocalMoment
    ) -> Restriction? {
        let caller = call.caller ?? (isReport ? .anonymous : nil)
        if let kept = levelRestriction(call) ?? listRestriction(call) ?? limitRestriction(call, caller, at: now) {
            history.forget(call.call)
            return kept
        }
        let kept = quietRestriction(call, caller, isReport: isReport, at: now, moment)
        history.record(call.call, caller: caller, at: now, isKeptOut: kept != nil)
        return kept
    }

    private func levelRestriction(_ call: ScreenedCall) -> Restriction? {
        guard let allowedLevel, let level = call.level, level > allowedLevel else { return nil }
        return Restriction(.level, "the app's level is \(level), and this device allows \(allowedLevel)")
    }

    private func listRestriction(_ call: ScreenedCall) -> Restriction? {
        guard let blocked = call.listed?.blocked else { return nil }
        return Restriction(.blocked, "blocked by the list '\(blocked.list)' (\(blocked.pattern))")
    }

    private func limitRestriction(_ call: ScreenedCall, _ caller: CallerHandle?, at now: BootInstant) -> Restriction? {
        // What was let in as one call of the app stays so; its caller is counted as soon as it is known.
        let isCounted = history.arrival(of: call.call) != nil
        if let limit = call.limits.app, !isCounted, isReached(limit, by: call.call, at: now) {
            return Restriction(.appLimit, "\(limit.count) calls of the app came within \(limit.windowWords)")
        }
        if let limit = call.limits.caller, let caller, !history.knowsCaller(of: call.call),
            isReached(limit, by: call.call, caller, at: now)
        {
            return Restriction(.callerLimit, "\(limit.count) calls of the caller came within \(limit.windowWords)")
        }
        return nil
    }

    private func isReached(
        _ limit: CallLimit, by call: CallKey, _ caller: CallerHandle? = nil, at now: BootInstant
    ) -> Bool {
        history.count(for: call, caller: caller, since: now.advanced(by: .zero - limit.window)) >= limit.count
    }

    private func quietRestriction(
        _ call: ScreenedCall, _ caller: CallerHandle?, isReport: Bool, at now: BootInstant, _ moment: LocalMoment
    ) -> Restriction? {
        let rules = doNotDisturb
        guard rules.isActive(at: moment), !rules.allowedApps.contains(call.call.app) else { return nil }
        if let caller {
            if rules.allowedCallers.contains(where: { $0.applying(dialling).matches(caller) }) { return nil }
            if let time = rules.repeatWithin, caller.kind != .anonymous {
                // From its arrival: the handler took its time to report.
                let arrival = history.arrival(of: call.call) ?? now
                let start = arrival.advanced(by: .zero - time)
                if history.hasCalled(caller, before: arrival, since: start, except: call.call) { return nil }
            }
        } else if !rules.allowedCallers.isEmpty || rules.repeatWithin != nil {
            return nil
        }
        let until = rules.nextChange(after: moment).map { " until \($0.text(seenFrom: moment))" }
        return Restriction(.doNotDisturb, "do not disturb\(until ?? "")")
    }
}
