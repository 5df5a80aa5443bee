import ArgumentParser
import ControlProtocol
import Glibc

/// A time of day on the command line: `07:00`.
struct TimeOfDayArgument: ExpressibleByArgument, Equatable, Sendable {
    let hour: Int32
    let minute: Int32

    init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.utf8.count) && $0.allSatisfy(\.isASCII) }),
            let hour = Int32(parts[0]), let minute = Int32(parts[1]), (0...23).contains(hour),
            (0...59).contains(minute)
        else { return nil }
        self.hour = hour
        self.minute = minute
    }

    /// The next time after `now` at which the local clock shows this time. Both are in seconds since 1970.
    func next(after now: Int64) -> Int64 {
        var clock = time_t(now)
        var local = tm()
        guard localtime_r(&clock, &local) != nil else { return now }
        var result = now
        // Tries today, then the next days: the time may have passed, or a clock change may skip it.
        for _ in 0..<3 where result <= now {
            local.tm_hour = hour
            local.tm_min = minute
            local.tm_sec = 0
            local.tm_isdst = -1
            // mktime(3) normalizes days beyond the month's end, and hours that a clock change skips.
            var candidate = local
            result = Int64(mktime(&candidate))
            local.tm_mday += 1
        }
        return result
    }
}

/// Converts the daemon's times to this machine's local time.
enum LocalTimeText {
    /// `2026-11-22 07:00`, from a time in the daemon's format. Other text is returned unchanged.
    static func dateAndTime(_ text: String) -> String {
        UTCTime(text).flatMap { self.text(ofSeconds: $0.milliseconds / 1000, "%Y-%m-%d %H:%M") } ?? text
    }

    /// A time in seconds since 1970, in a format of strftime(3) that gives at most 31 bytes; nil if it has no text.
    static func text(ofSeconds seconds: Int64, _ format: String) -> String? {
        var clock = time_t(seconds)
        var local = tm()
        guard localtime_r(&clock, &local) != nil else { return nil }
        var buffer = [CChar](repeating: 0, count: 32)
        let length = strftime(&buffer, buffer.count, format, &local)
        guard length > 0 else { return nil }
        return String(decoding: buffer.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
