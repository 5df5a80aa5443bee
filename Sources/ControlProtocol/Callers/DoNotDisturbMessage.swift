package import RingwakeCore

/// Do not disturb, as its owner sees it.
package struct DoNotDisturbMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// `on` (switched on by command), `scheduled` (the schedule decides, or its time that lasts now was let pass by
    /// command), or `off` (there is no schedule).
    package var state: String
    /// Whether it keeps calls out now.
    package var active: Bool
    /// When what was switched on by command ends: ``UTCTime`` in text; nil when it does not end by itself.
    package var until: String?
    /// Its times, each as `mon-fri 22:00-07:00`, in the device's local time.
    package var schedule: [String] = []
    /// Within how many milliseconds a second call of the same caller rings all the same; nil: it does not.
    package var repeatWithinMs: Int64?
    /// The apps whose calls ring all the same.
    package var allowApps: [String] = []
    /// The callers whose calls ring all the same, as patterns.
    package var allowCallers: [String] = []
    /// What is in force now and what comes next, for a person.
    package var why: String
}

extension DoNotDisturbMessage {
    package init(_ rules: DoNotDisturb, at moment: LocalMoment) {
        let state = StatusMessage.DoNotDisturb(rules, at: moment)
        var until: String?
        if case .on(let end?) = rules.position, state.state == "on" { until = UTCTime(milliseconds: end).description }
        self.init(
            state: state.state, active: state.active, until: until, schedule: rules.schedule.map(\.description),
            repeatWithinMs: rules.repeatWithin?.milliseconds, allowApps: rules.allowedApps.map(\.rawValue),
            allowCallers: rules.allowedCallers.map(\.description), why: rules.text(at: moment))
    }
}

extension StatusMessage.DoNotDisturb {
    /// How do not disturb stands: switched on, by its schedule alone, or off.
    package init(_ rules: DoNotDisturb, at moment: LocalMoment) {
        let isActive = rules.isActive(at: moment)
        let isSwitchedOn: Bool
        switch rules.position {
        case .on(let until): isSwitchedOn = until.map { moment.wallMilliseconds < $0 } ?? true
        case .off, .scheduled: isSwitchedOn = false
        }
        let state = isSwitchedOn ? "on" : rules.schedule.isEmpty ? "off" : "scheduled"
        self.init(state: state, active: isActive)
    }
}

/// Body of `PUT /v1/dnd`: what is to change; a member that is left out stays as it is.
package struct DoNotDisturbChange: Codable, Equatable, Sendable {
    /// Nothing is to change.
    package static let none = DoNotDisturbChange()

    /// `on` (until ``until``, or until it is switched off), or `off` (what was switched on ends, and the time of the
    /// schedule that lasts now is let pass; the schedule stays).
    package var state: String?
    /// When `on` ends: ``UTCTime`` in text. Without `state` it is refused.
    package var until: String?
    /// The whole schedule.
    package var schedule: [String]?
    /// Within how many milliseconds a second call of the same caller rings all the same; 0: it does not.
    package var repeatWithinMs: Int64?
    /// All apps whose calls ring all the same.
    package var allowApps: [String]?
    /// All callers whose calls ring all the same, as patterns.
    package var allowCallers: [String]?
}
