import Glibc

/// Times as people read them.
enum UTCDate {
    /// `2026-11-21T07:29:00Z` (RFC 3339); `nil` for seconds that no certificate's date can be.
    static func text(_ seconds: Int64) -> String? {
        var fields = tm()
        var time = time_t(seconds)
        guard (Int64(-62_135_596_800)...253_402_300_799).contains(seconds), gmtime_r(&time, &fields) != nil else {
            return nil
        }
        let date = [Int(fields.tm_year) + 1900, Int(fields.tm_mon) + 1, Int(fields.tm_mday)]
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map { padded(Int($0), to: 2) }
        let day = padded(date[0], to: 4) + "-" + date.dropFirst().map { padded($0, to: 2) }.joined(separator: "-")
        return day + "T" + clock.joined(separator: ":") + "Z"
    }

    private static func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
