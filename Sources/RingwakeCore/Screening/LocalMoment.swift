/// A point in time in the device's time zone. The driver makes one for each query.
package struct LocalMoment: Hashable, Sendable {
    /// 1 is Monday, 7 is Sunday.
    package let weekday: Int
    /// Minutes since midnight in local time, 0 to 1439.
    package let minuteOfDay: Int
    /// Milliseconds since 1970, UTC.
    package let wallMilliseconds: Int64

    /// Values out of range are clamped.
    package init(weekday: Int, minuteOfDay: Int, wallMilliseconds: Int64) {
        self.weekday = min(max(weekday, 1), 7)
        self.minuteOfDay = min(max(minuteOfDay, 0), LocalMoment.minutesOfDay - 1)
        self.wallMilliseconds = wallMilliseconds
    }

    static let minutesOfDay = 24 * 60
    static let minutesOfWeek = 7 * minutesOfDay

    /// Minutes since Monday 00:00.
    var minuteOfWeek: Int { (weekday - 1) * LocalMoment.minutesOfDay + minuteOfDay }

    /// How far local time is ahead of UTC, in minutes, modulo a week and with a constant added: it changes with the time
    /// zone, and with daylight saving time.
    package var zone: Int {
        let week = LocalMoment.minutesOfWeek
        return ((minuteOfWeek - Int(wallMilliseconds / 60_000 % Int64(week))) % week + week) % week
    }

    /// Milliseconds since the minute began.
    private var intoMinute: Int64 { (wallMilliseconds % 60_000 + 60_000) % 60_000 }

    /// The start of the minute that the local clock shows after `minutes`. A change to or from daylight saving time is
    /// ignored: then the result is an hour off.
    func advanced(byMinutes minutes: Int) -> LocalMoment {
        let week = LocalMoment.minutesOfWeek
        let minute = (minuteOfWeek + minutes % week + week) % week
        let (start, _) = wallMilliseconds.subtractingReportingOverflow(intoMinute)
        let (wall, overflow) = start.addingReportingOverflow(Int64(minutes) * 60_000)
        return LocalMoment(
            weekday: minute / LocalMoment.minutesOfDay + 1, minuteOfDay: minute % LocalMoment.minutesOfDay,
            wallMilliseconds: overflow ? .max : wall)
    }

    /// The moment at a time by the wall clock; nil if it is more than a year away.
    func at(wallMilliseconds time: Int64) -> LocalMoment? {
        let (difference, overflow) = time.subtractingReportingOverflow(wallMilliseconds)
        guard !overflow, difference.magnitude < 366 * 86_400_000 else { return nil }
        let minutes = Int((Double(difference + intoMinute) / 60_000).rounded(.down))
        let moment = advanced(byMinutes: minutes)
        return LocalMoment(weekday: moment.weekday, minuteOfDay: moment.minuteOfDay, wallMilliseconds: time)
    }

    /// `07:00`.
    var timeText: String { TimeOfDay.text(minuteOfDay) }

    /// `07:00`; with the weekday if it is more than a day after `now`, `Monday 07:00`; with the number of days from a
    /// week on.
    func text(seenFrom now: LocalMoment) -> String {
        let (ahead, overflow) = wallMilliseconds.subtractingReportingOverflow(now.wallMilliseconds)
        let days = overflow ? .max : ahead / 86_400_000
        if days < 1 { return timeText }
        return days < 7 ? "\(LocalMoment.dayNames[weekday - 1]) \(timeText)" : "\(timeText) in \(days) days"
    }

    private static let dayNames = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}

/// Times of day as text.
enum TimeOfDay {
    /// `07:05`; 1440 is `24:00`.
    static func text(_ minute: Int) -> String {
        let (hour, rest) = (minute / 60, minute % 60)
        return "\(hour < 10 ? "0" : "")\(hour):\(rest < 10 ? "0" : "")\(rest)"
    }

    /// Minutes since midnight of `7:05` or `07:05`, up to `24:00`.
    static func minute(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].utf8.count), parts[1].utf8.count == 2,
            parts[0].utf8.allSatisfy(\.isDigit), parts[1].utf8.allSatisfy(\.isDigit),
            let hour = Int(parts[0]), let minute = Int(parts[1]), minute < 60
        else { return nil }
        let total = hour * 60 + minute
        return total <= LocalMoment.minutesOfDay ? total : nil
    }
}
