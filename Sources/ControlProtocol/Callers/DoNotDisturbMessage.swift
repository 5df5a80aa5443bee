package import RingwakeCore

/// The do-not-disturb rules, for the owner.
package struct DoNotDisturbMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// `on` (switched on by command), `scheduled` (the schedule decides, or its present period was skipped by command),
    /// or `off` (there is no schedule).
    package var state: String
    /// Whether it keeps calls out now.
    package var active: Bool
    /// When `on` ends: ``UTCTime`` as text; nil if it doesn't end by itself.
    package var until: String?
    /// Periods such as `mon-fri 22:00-07:00`, in the device's local time.
    package var schedule: [String] = []
    /// A second call of the same caller rings if it comes within this many milliseconds; nil: it doesn't.
    package var repeatWithinMs: Int64?
    /// Apps whose calls ring despite do not disturb.
    package var allowApps: [String] = []
    /// Patterns of callers whose calls ring despite do not disturb.
    package var allowCallers: [String] = []
    /// The present state and the next change, for people.
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
    /// The state of do not disturb.
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

/// Body of `PUT /v1/dnd`: what to change. Absent members stay the same.
package struct DoNotDisturbChange: Codable, Equatable, Sendable {
    /// No change.
    package static let none = DoNotDisturbChange()

    /// `on` (until ``until``, or until it is switched off), or `off` (ends `on`, and skips the present period of the
    /// schedule; the schedule stays).
    package var state: String?
    /// When `on` ends: ``UTCTime`` as text. Not allowed without `state`.
    package var until: String?
    /// The whole schedule.
    package var schedule: [String]?
    /// A second call of the same caller rings if it comes within this many milliseconds; 0: it doesn't.
    package var repeatWithinMs: Int64?
    /// All apps whose calls ring despite do not disturb.
    package var allowApps: [String]?
    /// Patterns of all callers whose calls ring despite do not disturb.
    package var allowCallers: [String]?
}
