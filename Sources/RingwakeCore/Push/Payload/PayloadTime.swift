/// Parses the dates that senders write into payloads.
enum PayloadTime {
    /// Larger numbers are milliseconds since 1970, others are seconds. As seconds this is in the year 5138, as
    /// milliseconds in March 1973.
    static let leastMilliseconds = 1e11
    /// The end of the year 9999, in milliseconds since 1970. Later values are not accepted as dates.
    private static let latest: Int64 = 253_402_300_799_999
    /// The maximum size of a date or a number as text, in bytes.
    static let maximumBytes = 40

    /// Milliseconds since 1970 of a number as text, or of a date in RFC 3339's form. A date may have a space instead of
    /// the `T`, and is UTC without a zone. Nil for anything else, and for dates before 1970.
    ///
    /// See [RFC 3339 § 5.6](https://www.rfc-editor.org/rfc/rfc3339#section-5.6).
    static func milliseconds(_ text: String) -> Int64? {
        guard text.utf8.count <= maximumBytes else { return nil }
        if let number = number(text) {
            return milliseconds(number)
        }
        var digits = Digits(Array(text.utf8))
        guard let milliseconds = digits.date(), (1...latest).contains(milliseconds) else { return nil }
        return milliseconds
    }

    /// Milliseconds since 1970 of a number of seconds or milliseconds since then; nil if it is out of range.
    static func milliseconds(_ number: Double) -> Int64? {
        let milliseconds = number > leastMilliseconds ? number : number * 1000
        guard milliseconds >= 1, milliseconds <= Double(latest) else { return nil }
        return Int64(milliseconds)
    }

    /// Parses a decimal number as in JSON. Nil for numbers that are too large and for anything else, such as `inf`,
    /// `nan` and `0x10`, which the standard library would accept.
    static func number(_ text: String) -> Double? {
        let digits = text.utf8
        guard digits.count <= maximumBytes, let first = digits.first,
            first == UInt8(ascii: "-") || first.isDigit,
            digits.allSatisfy({ $0.isDigit || ".eE+-".utf8.contains($0) }),
            let number = Double(text), number.isFinite
        else { return nil }
        return number
    }

    /// A cursor over the bytes of a date.
    private struct Digits {
        private let bytes: [UInt8]
        private var offset = 0

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        mutating func date() -> Int64? {
            guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2),
                (1...12).contains(month), (1...Digits.daysOf(month: month, year: year)).contains(day),
                skip("T") || skip("t") || skip(" "),
                let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2),
                hour < 24, minute < 60, second <= 60,
                let fraction = fraction(), let zone = zone(), offset == bytes.count
            else { return nil }
            let minutes =
                (GregorianDate(year: year, month: month, day: day).daysSince1970 * 24 + hour) * 60 + minute - zone
            return (minutes * 60 + second) * 1000 + fraction
        }

        /// Milliseconds; further digits are ignored.
        private mutating func fraction() -> Int64? {
            guard skip(".") else { return 0 }
            var milliseconds: Int64 = 0
            var place: Int64 = 100
            guard let first = number(1) else { return nil }
            milliseconds += first * place
            while let digit = number(1) {
                place /= 10
                milliseconds += digit * place
            }
            return milliseconds
        }

        /// The zone's offset from UTC in minutes; 0 if there is none.
        private mutating func zone() -> Int64? {
            if offset == bytes.count || skip("Z") || skip("z") {
                return 0
            }
            let isWest = skip("-")
            guard isWest || skip("+"), let hours = number(2), skip(":"), let minutes = number(2), hours < 24,
                minutes < 60
            else { return nil }
            return (hours * 60 + minutes) * (isWest ? -1 : 1)
        }

        /// Reads exactly `count` digits.
        private mutating func number(_ count: Int) -> Int64? {
            guard offset + count <= bytes.count else { return nil }
            var value: Int64 = 0
            for byte in bytes[offset..<(offset + count)] {
                guard byte.isDigit else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            offset += count
            return value
        }

        private mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard offset < bytes.count, bytes[offset] == UInt8(ascii: character) else { return false }
            offset += 1
            return true
        }

        private static func daysOf(month: Int64, year: Int64) -> Int64 {
            switch month {
            case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
            case 4, 6, 9, 11: 30
            default: 31
            }
        }
    }
}
