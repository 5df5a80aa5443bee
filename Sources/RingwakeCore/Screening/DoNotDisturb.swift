/// When calls are kept from ringing, and the exceptions.
package struct DoNotDisturb: Hashable, Sendable {
    /// The user's manual switch; it overrides the schedule.
    package enum Switch: Hashable, Sendable {
        /// Not set: the schedule decides.
        case scheduled
        /// On until this time by the wall clock (milliseconds since 1970), or until the user turns it off.
        case on(untilMilliseconds: Int64?)
        /// Off until this time, the end of the quiet hours that the user turned off.
        case off(untilMilliseconds: Int64)
    }

    /// The version of the stored form.
    package static let version = 1
    package static let maximumSchedule = 32
    package static let maximumAllowedApps = 64
    package static let maximumAllowedCallers = 256
    /// The longest ``repeatWithin``.
    package static let longestRepeat = Duration.seconds(3_600)

    package private(set) var position = Switch.scheduled
    package private(set) var schedule: [QuietHours] = []
    /// Apps whose calls may ring.
    package private(set) var allowedApps: [AppID] = []
    /// Callers whose calls may ring.
    package private(set) var allowedCallers: [CallerPattern] = []
    /// A caller who calls again within this time may ring, because the call must be urgent. Nil: no such exception.
    package private(set) var repeatWithin: Duration? = .seconds(180)

    package init() {}

    /// Turns it on until a time by the wall clock, or until it is turned off.
    package mutating func turnOn(untilMilliseconds: Int64? = nil) {
        position = .on(untilMilliseconds: untilMilliseconds)
    }

    /// Turns it off. Current quiet hours are skipped, or one day of them if they have no end. The next ones apply
    /// again.
    package mutating func turnOff(at moment: LocalMoment) {
        position = .scheduled
        guard isActive(at: moment) else { return }
        let end = scheduleEnd(at: moment) ?? moment.advanced(byMinutes: LocalMoment.minutesOfDay)
        position = .off(untilMilliseconds: end.wallMilliseconds)
    }

    /// - Throws: `limitReached` for more than 32 entries.
    package mutating func setSchedule(_ entries: [QuietHours]) throws(RingwakeError) {
        schedule = try DoNotDisturb.bounded(entries, DoNotDisturb.maximumSchedule, "entries of the schedule")
    }

    /// - Throws: `limitReached` for more than 64 apps.
    package mutating func setAllowedApps(_ apps: [AppID]) throws(RingwakeError) {
        allowedApps = try DoNotDisturb.bounded(apps, DoNotDisturb.maximumAllowedApps, "apps that are let through")
    }

    /// - Throws: `limitReached` for more than 256 callers.
    package mutating func setAllowedCallers(_ callers: [CallerPattern]) throws(RingwakeError) {
        allowedCallers = try DoNotDisturb.bounded(
            callers, DoNotDisturb.maximumAllowedCallers, "callers that are let through")
    }

    /// - Throws: `invalidRequest` for less than a second or more than an hour.
    package mutating func setRepeatWithin(_ time: Duration?) throws(RingwakeError) {
        if let time, !(Duration.seconds(1)...DoNotDisturb.longestRepeat).contains(time) {
            throw RingwakeError(
                .invalidRequest, "the time in which a second call comes through is from 1 second to 1 hour")
        }
        repeatWithin = time
    }

    private static func bounded<Element: Hashable>(
        _ elements: [Element], _ most: Int, _ what: String
    ) throws(RingwakeError) -> [Element] {
        var seen: Set<Element> = []
        let unique = elements.filter { seen.insert($0).inserted }
        guard unique.count <= most else { throw RingwakeError(.limitReached, "there are more than \(most) \(what)") }
        return unique
    }
}

extension DoNotDisturb {
    /// Whether calls can be kept from ringing at any time, without a look at the clock.
    package var mayBeActive: Bool { if case .on = position { true } else { !schedule.isEmpty } }

    /// Whether calls are kept from ringing now.
    package func isActive(at moment: LocalMoment) -> Bool {
        switch position {
        case .on(nil): return true
        case .on(let until?) where moment.wallMilliseconds < until: return true
        case .off(let until) where moment.wallMilliseconds < until: return false
        case .on, .off, .scheduled: return schedule.contains { $0.contains(moment) }
        }
    }

    /// When ``isActive(at:)`` changes next; nil if it doesn't change by itself.
    package func nextChange(after moment: LocalMoment) -> LocalMoment? {
        var at = moment
        switch position {
        case .on(nil): return nil
        case .on(let until?) where moment.wallMilliseconds < until:
            guard let end = moment.at(wallMilliseconds: until) else { return nil }
            // Quiet hours may be in effect then.
            guard schedule.contains(where: { $0.contains(end) }) else { return end }
            at = end
        case .off(let until) where moment.wallMilliseconds < until:
            guard let end = moment.at(wallMilliseconds: until) else { return nil }
            if schedule.contains(where: { $0.contains(end) }) { return end }
            at = end
        case .on, .off, .scheduled: break
        }
        return scheduleEnd(at: at) ?? scheduleStart(after: at)
    }

    /// For a person: `on until 07:00`, `off until Friday 22:00`.
    package func text(at moment: LocalMoment) -> String {
        let state = isActive(at: moment) ? "on" : "off"
        if let change = nextChange(after: moment) { return "\(state) until \(change.text(seenFrom: moment))" }
        return isActive(at: moment) ? "on until it is switched off" : "off"
    }

    /// The end of the current quiet hours, including those that follow without a gap. Nil if there are none, or if they
    /// fill the week.
    private func scheduleEnd(at moment: LocalMoment) -> LocalMoment? {
        let week = LocalMoment.minutesOfWeek
        let now = moment.minuteOfWeek
        var end = now
        // The spans of three weeks, in order: Sunday's may reach into Monday.
        let spans = [-week, 0, week].flatMap { shift in
            sortedSpans.map { ($0.lowerBound + shift)..<($0.upperBound + shift) }
        }
        for span in spans where span.lowerBound <= end && span.upperBound > end {
            end = span.upperBound
        }
        return end > now && end - now < week ? moment.advanced(byMinutes: end - now) : nil
    }

    private func scheduleStart(after moment: LocalMoment) -> LocalMoment? {
        guard !schedule.contains(where: { $0.contains(moment) }) else { return nil }
        let week = LocalMoment.minutesOfWeek
        let waits = sortedSpans.map { ($0.lowerBound - moment.minuteOfWeek + week) % week }
        return waits.min().map { moment.advanced(byMinutes: $0) }
    }

    private var sortedSpans: [Range<Int>] {
        schedule.flatMap(\.spans).sorted { $0.lowerBound < $1.lowerBound }
    }
}

extension DoNotDisturb: Codable {
    private enum CodingKeys: String, CodingKey {
        case version, position, schedule, allowedApps, allowedCallers, repeatWithinMilliseconds
    }

    /// The stored form of ``Switch``: an object with exactly one of the keys.
    private struct Position: Codable {
        struct Until: Codable {
            var untilMilliseconds: Int64?

            enum CodingKeys: String, CodingKey {
                case untilMilliseconds
            }
        }

        var scheduled: Until?
        var on: Until?
        var off: Until?

        enum CodingKeys: String, CodingKey {
            case scheduled, on, off
        }

        init(_ position: Switch) {
            switch position {
            case .scheduled: scheduled = Until()
            case .on(let until): on = Until(untilMilliseconds: until)
            case .off(let until): off = Until(untilMilliseconds: until)
            }
        }

        /// Nil if there is no key, or more than one.
        var position: Switch? {
            switch (scheduled, on, off?.untilMilliseconds) {
            case (_?, nil, nil): .scheduled
            case (nil, let on?, nil): .on(untilMilliseconds: on.untilMilliseconds)
            case (nil, nil, let until?): .off(untilMilliseconds: until)
            default: nil
            }
        }
    }

    /// - Throws: for another version, and for values that the setters reject.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decode(Int.self, forKey: .version) == DoNotDisturb.version else {
            throw DecodingError.dataCorruptedError(
                forKey: .version, in: container, debugDescription: "an unknown version of do not disturb")
        }
        self.init()
        guard let position = try container.decode(Position.self, forKey: .position).position else {
            throw DecodingError.dataCorruptedError(
                forKey: .position, in: container, debugDescription: "an unknown position of do not disturb")
        }
        self.position = position
        try setSchedule(try container.decode([QuietHours].self, forKey: .schedule))
        try setAllowedApps(try container.decode([AppID].self, forKey: .allowedApps))
        try setAllowedCallers(try container.decode([CallerPattern].self, forKey: .allowedCallers))
        let milliseconds = try container.decodeIfPresent(Int64.self, forKey: .repeatWithinMilliseconds)
        try setRepeatWithin(milliseconds.map { .milliseconds($0) })
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(DoNotDisturb.version, forKey: .version)
        try container.encode(Position(position), forKey: .position)
        try container.encode(schedule, forKey: .schedule)
        try container.encode(allowedApps, forKey: .allowedApps)
        try container.encode(allowedCallers, forKey: .allowedCallers)
        try container.encodeIfPresent(repeatWithin?.milliseconds, forKey: .repeatWithinMilliseconds)
    }
}
