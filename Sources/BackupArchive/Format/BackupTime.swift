internal import RingwakeCore

/// When a backup was made, to the second, in UTC: `2026-11-27T18:00:00Z`.
package struct BackupTime: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// In the years 1970 to 9999.
    package let secondsSince1970: Int64

    private static let seconds: ClosedRange<Int64> = 0...253_402_300_799

    /// A time outside the years 1970 to 9999 becomes the nearest one inside.
    package init(secondsSince1970 seconds: Int64) {
        secondsSince1970 = min(max(seconds, Self.seconds.lowerBound), Self.seconds.upperBound)
    }

    /// Reads what ``description`` writes, and nothing else.
    package init?(_ text: some StringProtocol) {
        let numbers = text.utf8.split(whereSeparator: { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            .compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 6, numbers[0] <= 9999, numbers[1...5].allSatisfy({ $0 < 100 }) else { return nil }
        let date = GregorianDate(year: numbers[0], month: numbers[1], day: numbers[2])
        let ofDay = (numbers[3] * 60 + numbers[4]) * 60 + numbers[5]
        let seconds = date.daysSince1970 * 86_400 + ofDay
        guard Self.seconds.contains(seconds) else { return nil }
        secondsSince1970 = seconds
        // A day that doesn't exist, or another form, is written differently.
        guard description == String(text) else { return nil }
    }

    package var description: String { GregorianDate.text(secondsSince1970: secondsSince1970) + "Z" }

    package static func < (one: BackupTime, other: BackupTime) -> Bool {
        one.secondsSince1970 < other.secondsSince1970
    }
}

extension BackupTime: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let time = BackupTime(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no time like 2026-11-27T18:00:00Z")
        }
        self = time
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
