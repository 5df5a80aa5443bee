/// A time of the wall clock as the control API writes it: `2026-11-21T18:58:52.123Z`, always UTC, always milliseconds.
///
/// See RFC 3339 § 5.6.
package struct UTCTime: Equatable, Sendable, CustomStringConvertible {
    /// Milliseconds since 1970.
    package let milliseconds: Int64

    /// The times that four digits can name the year of; others are brought within.
    private static let range: ClosedRange<Int64> = 0...253_402_300_799_999
    private static let millisecondsOfADay: Int64 = 86_400_000

    /// - Parameter milliseconds: since 1970, brought between then and the end of the year 9999.
    package init(milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, UTCTime.range.lowerBound), UTCTime.range.upperBound)
    }

    /// The time in `text`, exactly as ``description`` writes it; nil for anything else.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let pattern = Array("dddd-dd-ddTdd:dd:dd.dddZ".utf8)
        guard bytes.count == pattern.count else { return nil }
        var fields: [Int64] = [0]
        for (byte, expected) in zip(bytes, pattern) {
            if expected == UInt8(ascii: "d") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                fields[fields.count - 1] = fields[fields.count - 1] * 10 + Int64(byte - UInt8(ascii: "0"))
            } else {
                guard byte == expected else { return nil }
                fields.append(0)
            }
        }
        let days = UTCTime.days(year: fields[0], month: fields[1], day: fields[2])
        let seconds = (days * 24 + fields[3]) * 3600 + fields[4] * 60 + fields[5]
        self.init(milliseconds: seconds * 1000 + fields[6])
        // A day or an hour that there is not comes out as another.
        guard description == text else { return nil }
    }

    package var description: String {
        let days = milliseconds / UTCTime.millisecondsOfADay
        let rest = milliseconds % UTCTime.millisecondsOfADay
        let (year, month, day) = UTCTime.date(day: days)
        let date = "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))"
        let time = "\(pad(rest / 3_600_000, 2)):\(pad(rest / 60_000 % 60, 2)):\(pad(rest / 1000 % 60, 2))"
        return "\(date)T\(time).\(pad(rest % 1000, 3))Z"
    }

    /// Days since 1970 of a date of the Gregorian calendar, counted in years that begin in March.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let sinceMarch = (month + 9) % 12
        let leapDays = shifted / 4 - shifted / 100 + shifted / 400
        return 365 * shifted + leapDays + (153 * sinceMarch + 2) / 5 + day - 719_469
    }

    /// The date that lies `day` days after 1970-01-01, `day` being 0 or more.
    private static func date(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let sinceEra = day + 719_468
        let era = sinceEra / 146_097
        let ofEra = sinceEra % 146_097
        let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let sinceMarch = (5 * ofYear + 2) / 153
        let month = sinceMarch < 10 ? sinceMarch + 3 : sinceMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * sinceMarch + 2) / 5 + 1)
    }

    private func pad(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
