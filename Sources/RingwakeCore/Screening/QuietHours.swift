/// One entry of do not disturb's schedule: `mon-fri 22:00-07:00`. On each of its days it begins at the first time and
/// ends at the second, after midnight if that is earlier.
package struct QuietHours: Hashable, Sendable, CustomStringConvertible {
    /// A bit for each day on which it begins; bit 0 is Monday.
    private let days: UInt8
    /// Minutes since midnight, 0 to 1439.
    private let start: Int
    /// Minutes since midnight, 1 to 1440. If it is not after ``start``, it is on the next day.
    private let end: Int

    private static let dayNames = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let everyDay: UInt8 = 0b111_1111
    private static let maximumBytes = 128

    /// Parses `mon-fri 22:00-07:00`, `daily 22:00-07:00`, `sat,sun 00:00-24:00`, `weekdays ...` and `weekends ...`.
    /// - Throws: `invalidRequest` with the error and the correct form.
    package init(_ text: String) throws(RingwakeError) {
        guard text.utf8.count <= QuietHours.maximumBytes else {
            throw QuietHours.problem(String(text.prefix(32)), "is too long")
        }
        let words = text.lowercased().split(separator: " ")
        guard words.count == 2 else {
            throw QuietHours.problem(text, "needs the days, a space, and the times")
        }
        days = try QuietHours.days(words[0], in: text)
        let times = words[1].split(separator: "-", omittingEmptySubsequences: false)
        guard times.count == 2 else {
            throw QuietHours.problem(text, "needs two times with a - between them where '\(words[1])' is")
        }
        let from = try QuietHours.time(times[0], in: text)
        let to = try QuietHours.time(times[1], in: text)
        guard from < LocalMoment.minutesOfDay else {
            throw QuietHours.problem(text, "cannot begin at 24:00: that is 00:00 of the next day")
        }
        guard from != to else {
            throw QuietHours.problem(text, "begins and ends at \(times[0]): the whole day is 00:00-24:00")
        }
        start = from
        end = to == 0 ? LocalMoment.minutesOfDay : to
    }

    package var description: String {
        "\(daysText) \(TimeOfDay.text(start))-\(TimeOfDay.text(end))"
    }

    /// Whether it includes this moment.
    package func contains(_ moment: LocalMoment) -> Bool {
        spans.contains {
            $0.contains(moment.minuteOfWeek) || $0.contains(moment.minuteOfWeek + LocalMoment.minutesOfWeek)
        }
    }

    /// Its spans in minutes since Monday 00:00. A span that begins on Sunday may reach into the next week.
    var spans: [Range<Int>] {
        (0..<7).filter { days & 1 << $0 != 0 }.map { day in
            let midnight = day * LocalMoment.minutesOfDay
            let length = end > start ? end - start : end + LocalMoment.minutesOfDay - start
            return (midnight + start)..<(midnight + start + length)
        }
    }

    private var daysText: String {
        if days == QuietHours.everyDay { return "daily" }
        var parts: [String] = []
        var day = 0
        while day < 7 {
            guard days & 1 << day != 0 else {
                day += 1
                continue
            }
            var last = day
            while last < 6, days & 1 << (last + 1) != 0 { last += 1 }
            let names = QuietHours.dayNames
            parts += last - day > 1 ? ["\(names[day])-\(names[last])"] : names[day...last].map { $0 }
            day = last + 1
        }
        return parts.joined(separator: ",")
    }

    private static func days(_ word: Substring, in text: String) throws(RingwakeError) -> UInt8 {
        switch word {
        case "daily": return everyDay
        case "weekdays": return 0b001_1111
        case "weekends": return 0b110_0000
        default: break
        }
        var days: UInt8 = 0
        for part in word.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            let first = try day(ends[0], in: text)
            let last = ends.count > 1 ? try day(ends[1], in: text) : first
            // "fri-mon" wraps around the end of the week.
            for offset in 0...((last - first + 7) % 7) { days |= 1 << UInt8((first + offset) % 7) }
        }
        return days
    }

    private static func day(_ word: Substring, in text: String) throws(RingwakeError) -> Int {
        let full = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        guard let day = dayNames.firstIndex(of: String(word)) ?? full.firstIndex(of: String(word)) else {
            throw problem(text, "names the day '\(word)', which does not exist")
        }
        return day
    }

    private static func time(_ word: Substring, in text: String) throws(RingwakeError) -> Int {
        guard let minute = TimeOfDay.minute(word) else {
            throw problem(text, "has the time '\(word)': write 00:00 to 24:00")
        }
        return minute
    }

    private static func problem(_ text: String, _ what: String) -> RingwakeError {
        RingwakeError(
            .invalidRequest,
            "the schedule '\(text)' \(what); examples: 'mon-fri 22:00-07:00', 'daily 22:00-07:00', "
                + "'sat,sun 00:00-24:00'")
    }
}

extension QuietHours: Codable {
    package init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
