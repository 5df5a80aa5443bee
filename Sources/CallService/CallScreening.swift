package import RingwakeCore

/// Decides which calls are restricted: when their push arrives, and again when their handler has reported the caller.
package struct CallScreening: Sendable {
    /// The device's rules, with do not disturb.
    package private(set) var rules = ScreeningRules()
    /// The do-not-disturb rules on the disk: what applies again if newer ones cannot be stored.
    private var stored = DoNotDisturb()
    /// What apps are told, and apply themselves.
    private var content = ContentRestrictions()
    private var announced = AnnouncedRestrictions()
    package internal(set) var questions = CallerQuestions()

    package init() {}

    mutating func configure(_ configuration: ServiceConfiguration) {
        rules.allowedLevel = configuration.allowedLevel
        rules.dialling = configuration.dialling
        content = configuration.content
        questions.keep { configuration.apps[$0] != nil }
    }

    /// The rules of the last run, which the journal has.
    mutating func restore(_ doNotDisturb: DoNotDisturb) {
        set(doNotDisturb)
        setStored(doNotDisturb)
    }

    mutating func set(_ doNotDisturb: DoNotDisturb) { rules.doNotDisturb = doNotDisturb }

    /// The journal has these rules.
    mutating func setStored(_ doNotDisturb: DoNotDisturb) { stored = doNotDisturb }

    /// The journal could not store these rules: unless newer ones apply, the stored ones do.
    mutating func revert(_ doNotDisturb: DoNotDisturb) {
        if rules.doNotDisturb == doNotDisturb { rules.doNotDisturb = stored }
    }

    /// The restriction of the call that a push starts, as far as its caller is known. Also sets the caller's name from
    /// the lists.
    mutating func restriction(
        ofPush facts: inout PushFacts, for key: CallKey, _ app: ServiceConfiguration.App, _ turn: Turn
    ) -> Restriction? {
        let caller = facts.update.caller.map { CallerHandle($0, rules: rules.dialling) }
        let listed = caller.flatMap { turn.host.verdict($0) }
        facts.update.identifiedAs = listed?.label
        facts.update.answersItself = app.policy.answersItself(listed) ? true : nil
        return judge(key, app, caller, listed, isReport: false, turn)
    }

    /// The same when the handler reports the call. Without a caller, it is anonymous.
    mutating func restriction(
        ofReport update: inout CallUpdate, of call: Call, _ app: ServiceConfiguration.App, _ turn: Turn
    ) -> Restriction? {
        let caller = (update.caller ?? call.update.caller).map { CallerHandle($0, rules: rules.dialling) }
        let listed = turn.host.verdict(caller ?? .anonymous)
        update.identifiedAs = listed?.label
        // Also no: the payload may have named another caller.
        update.answersItself = app.policy.autoAnswer == nil ? nil : app.policy.answersItself(listed)
        return judge(call.key, app, caller, listed, isReport: true, turn)
    }

    private mutating func judge(
        _ key: CallKey, _ app: ServiceConfiguration.App, _ caller: CallerHandle?, _ listed: ListVerdict?,
        isReport: Bool, _ turn: Turn
    ) -> Restriction? {
        let call = ScreenedCall(call: key, level: app.level, limits: app.limits, caller: caller, listed: listed)
        return rules.restriction(for: call, isReport: isReport, at: turn.now, moment: turn.host.moment)
    }

    /// Sets what the lists know of a caller that is another one perhaps, in a call that no rule keeps out any more.
    func identify(_ update: inout CallUpdate, _ app: ServiceConfiguration.App, _ turn: Turn) {
        guard let caller = update.caller else { return }
        let listed = turn.host.verdict(CallerHandle(caller, rules: rules.dialling))
        update.identifiedAs = listed?.label
        update.answersItself = app.policy.autoAnswer == nil ? nil : app.policy.answersItself(listed)
    }

    /// The result for a call from this caller now, as far as it depends on the caller. Nothing is counted.
    func check(_ caller: CallerHandle, _ turn: Turn) -> (listed: ListVerdict?, restriction: Restriction?) {
        let listed = turn.host.verdict(caller)
        guard let app = AppID("any.app") else { return (listed, nil) }
        var trial = rules
        let call = ScreenedCall(call: CallKey(app: app, id: CallID("")), caller: caller, listed: listed)
        return (listed, trial.restriction(for: call, isReport: true, at: turn.now, moment: turn.host.moment))
    }

    // MARK: - Restrictions, as apps are told of them

    /// The restrictions of an app now; nil: those of an app that do not disturb has no exception for.
    func restrictions(of app: AppID?, _ turn: Turn) -> AppRestrictions {
        DeviceRestrictions(rules, content, at: turn.host.moment).restrictions(of: app)
    }

    /// Whether a list blocks this caller.
    func isBlocked(_ caller: String, _ turn: Turn) -> Bool {
        turn.host.verdict(CallerHandle(caller, rules: rules.dialling))?.blocked != nil
    }

    /// When the restrictions change next by themselves, and streams have to be told; nil: never. A machine that is
    /// suspended then needn't be woken for it.
    package var nextChange: BootInstant? { announced.nextChange }

    /// Tells the streams what has changed of the restrictions.
    mutating func publishChanges(to streams: EventSubscriptions, _ turn: inout Turn) {
        announced.publishChanges(of: rules, content, to: streams, &turn)
    }
}
