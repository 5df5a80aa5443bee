/// A date of the Gregorian calendar, which also covers the years before its introduction (ISO 8601).
package struct GregorianDate: Equatable, Sendable {
    package let year: Int64
    /// 1 to 12.
    package let month: Int64
    /// From 1.
    package let day: Int64

    /// The date need not exist: `daysSince1970` counts the days from the start of the month.
    package init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    // Here a year begins in March, so a leap day is the last day of its year. 400 years are an era of 146,097 days.
    // 719,468 days lie between 0000-03-01 and 1970-01-01.

    /// - Parameter days: in the years 0 to 9999.
    package init(daysSince1970 days: Int64) {
        let sinceEra = days + 719_468
        let (era, ofEra) = (sinceEra / 146_097, sinceEra % 146_097)
        let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let sinceMarch = (5 * ofYear + 2) / 153
        month = sinceMarch < 10 ? sinceMarch + 3 : sinceMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = ofYear - (153 * sinceMarch + 2) / 5 + 1
    }

    package var daysSince1970: Int64 {
        let shifted = month > 2 ? year : year - 1
        let sinceMarch = (month + 9) % 12
        let leapDays = shifted / 4 - shifted / 100 + shifted / 400
        return 365 * shifted + leapDays + (153 * sinceMarch + 2) / 5 + day - 719_469
    }

    /// UTC date and time of day to the second, as in `2026-11-21T18:58:52Z`.
    /// - Parameter milliseconds: since 1970, in the years 1 to 9999.
    package static func utcText(milliseconds: Int64) -> String { text(secondsSince1970: milliseconds / 1000) + "Z" }

    /// UTC date and time of day without a zone, as in `2026-11-21T18:58:52` (RFC 3339 § 5.6).
    /// - Parameter seconds: since 1970, in the years 1 to 9999.
    package static func text(secondsSince1970 seconds: Int64) -> String {
        let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let ofDay = rest < 0 ? rest + 86_400 : rest
        let date = GregorianDate(daysSince1970: rest < 0 ? days - 1 : days)
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
            + "T\(padded(ofDay / 3_600, 2)):\(padded(ofDay / 60 % 60, 2)):\(padded(ofDay % 60, 2))"
    }

    /// `number` in decimal, padded with zeros to `width`.
    package static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
