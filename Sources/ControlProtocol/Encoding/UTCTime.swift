internal import RingwakeCore

/// A wall clock time in the format of the control API: `2026-11-21T18:58:52.123Z`, always UTC, always milliseconds.
///
/// See RFC 3339 § 5.6.
package struct UTCTime: Equatable, Sendable, CustomStringConvertible {
    /// Milliseconds since 1970.
    package let milliseconds: Int64

    /// The years 1970 to 9999; other times are clamped.
    private static let range: ClosedRange<Int64> = 0...253_402_300_799_999

    /// - Parameter milliseconds: since 1970, clamped to the years 1970 to 9999.
    package init(milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, UTCTime.range.lowerBound), UTCTime.range.upperBound)
    }

    /// Parses the exact format of ``description``; nil for anything else.
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
        let days = GregorianDate(year: fields[0], month: fields[1], day: fields[2]).daysSince1970
        let seconds = (days * 24 + fields[3]) * 3600 + fields[4] * 60 + fields[5]
        self.init(milliseconds: seconds * 1000 + fields[6])
        // A day or an hour that doesn't exist becomes another one.
        guard description == text else { return nil }
    }

    package var description: String {
        let text = GregorianDate.text(secondsSince1970: milliseconds / 1000)
        return "\(text).\(GregorianDate.padded(milliseconds % 1000, 3))Z"
    }
}
