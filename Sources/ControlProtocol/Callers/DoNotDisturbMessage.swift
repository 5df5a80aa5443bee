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
    package var schedule: [String]
    /// Within how many milliseconds a second call of the same caller rings all the same; nil: it does not.
    package var repeatWithinMs: Int64?
    /// The apps whose calls ring all the same.
    package var allowApps: [String]
    /// The callers whose calls ring all the same, as patterns.
    package var allowCallers: [String]
    /// What is in force now and what comes next, for a person.
    package var why: String

    package init(
        state: String, active: Bool, until: String? = nil, schedule: [String] = [], repeatWithinMs: Int64? = nil,
        allowApps: [String] = [], allowCallers: [String] = [], why: String
    ) {
        self.state = state
        self.active = active
        self.until = until
        self.schedule = schedule
        self.repeatWithinMs = repeatWithinMs
        self.allowApps = allowApps
        self.allowCallers = allowCallers
        self.why = why
    }
}

/// Body of `PUT /v1/dnd`: what is to change; a member that is left out stays as it is.
package struct DoNotDisturbChange: Codable, Equatable, Sendable {
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

    package init(
        state: String? = nil, until: String? = nil, schedule: [String]? = nil, repeatWithinMs: Int64? = nil,
        allowApps: [String]? = nil, allowCallers: [String]? = nil
    ) {
        self.state = state
        self.until = until
        self.schedule = schedule
        self.repeatWithinMs = repeatWithinMs
        self.allowApps = allowApps
        self.allowCallers = allowCallers
    }
}
