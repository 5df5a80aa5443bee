/// A call to check against the rules.
package struct ScreenedCall: Hashable, Sendable {
    package let call: CallKey
    /// The range of the levels that an app may have and a device may allow.
    package static let levels = 0...21

    /// The level of its app, as a content rating: 4, 9, 12, 17. Nil if it has none.
    package let level: Int?
    /// The limits of its app.
    package let limits: CallLimits
    /// The caller; nil if unknown.
    package let caller: CallerHandle?
    /// The result of the lookup of the caller in the lists.
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

/// Decides which calls may ring: the owner's rules, and the recent calls.
///
/// A call is checked when its push arrives, and again when its handler reports it: the caller may be known by then, and
/// the rules may have changed. It counts once.
package struct ScreeningRules: Sendable {
    /// The highest level that an app may have on this device; nil: any.
    package var allowedLevel: Int?
    package var doNotDisturb: DoNotDisturb
    /// The rules for parsing callers. They also apply to the callers that do not disturb allows.
    package var dialling: DiallingRules
    private var history = CallHistory()

    package init(
        allowedLevel: Int? = nil, doNotDisturb: DoNotDisturb = DoNotDisturb(), dialling: DiallingRules = .none
    ) {
        self.allowedLevel = allowedLevel
        self.doNotDisturb = doNotDisturb
        self.dialling = dialling
    }

    /// What keeps a call from ringing; nil if nothing does. The first of several reasons counts: the app's level, the
    /// lists, the limits of the app and of the caller, do not disturb.
    /// - Parameters:
    ///   - isReport: whether the handler reports the call. A caller that is unknown by then is anonymous. Before the
    ///     report, a call from an unknown caller goes to the handler if an exception might apply to it.
    ///   - now: the current time.
    ///   - moment: the same time in the device's time zone.
    package mutating func restriction(
        for call: ScreenedCall, isReport: Bool, at now: BootInstant, moment: () -> LocalMoment
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
        // Without the pattern: it says who called, and this text is stored where a locked device can read it.
        return Restriction(.blocked, "blocked by the list '\(blocked.list)'")
    }

    private func limitRestriction(_ call: ScreenedCall, _ caller: CallerHandle?, at now: BootInstant) -> Restriction? {
        // A call that passed the app's limit once has passed it. Its caller is counted as soon as it is known.
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
        _ call: ScreenedCall, _ caller: CallerHandle?, isReport: Bool, at now: BootInstant, _ moment: () -> LocalMoment
    ) -> Restriction? {
        let rules = doNotDisturb
        guard rules.mayBeActive, !rules.allowedApps.contains(call.call.app) else { return nil }
        let moment = moment()
        guard rules.isActive(at: moment) else { return nil }
        if let caller {
            if rules.allowedCallers.contains(where: { $0.applying(dialling).matches(caller) }) { return nil }
            if let time = rules.repeatWithin, caller.kind != .anonymous {
                // Counted from the call's arrival, because the handler reports it later.
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
