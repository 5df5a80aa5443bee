import ControlProtocol

/// How output for people writes times.
enum TimeStyle: Equatable, Sendable {
    /// In full and in UTC, for a pipe: the same on each machine and on each day.
    case utc
    /// In this machine's time zone, for a terminal. `now` is in seconds since 1970.
    case local(now: Int64)

    /// The heading of a column of times.
    var heading: String { self == .utc ? "time (UTC)" : "time" }

    /// For a list: `2026-11-21 18:58:52Z`; local: `18:58:52` today, else `2026-11-20 18:58`. `text` is a time in the
    /// daemon's format; other text is returned unchanged.
    func short(_ text: String) -> String {
        guard let time = UTCTime(text) else { return text }
        switch self {
        case .utc: return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + "Z"
        case .local(let now):
            let (moment, day) = (time.milliseconds / 1000, "%Y-%m-%d")
            let isToday = LocalTimeText.text(ofSeconds: moment, day) == LocalTimeText.text(ofSeconds: now, day)
            return LocalTimeText.text(ofSeconds: moment, isToday ? "%H:%M:%S" : "%Y-%m-%d %H:%M") ?? text
        }
    }

    /// In full: `2026-11-21T18:58:52.123Z`, as received; local: `2026-11-21 19:58:52`.
    func full(_ text: String) -> String {
        guard self != .utc, let time = UTCTime(text) else { return text }
        return LocalTimeText.text(ofSeconds: time.milliseconds / 1000, "%Y-%m-%d %H:%M:%S") ?? text
    }

    /// `18:58:52.123`
    func timeOfDay(milliseconds: Int64) -> String {
        let utc = UTCTime(milliseconds: milliseconds)
        let text = String(utc.description.dropFirst(11).dropLast())
        guard self != .utc, let local = LocalTimeText.text(ofSeconds: utc.milliseconds / 1000, "%H:%M:%S") else {
            return text
        }
        return local + text.suffix(4)
    }
}
