import ControlProtocol
import Testing

@Suite("Times of the wall clock as text")
struct UTCTimeTests {
    @Test(
        "Milliseconds since 1970 and their text are two ways to say one thing",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_795_287_532_123, "2026-11-21T18:58:52.123Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func known(milliseconds: Int64, text: String) {
        #expect(UTCTime(milliseconds: milliseconds).description == text)
        #expect(UTCTime(text)?.milliseconds == milliseconds)
    }

    @Test("Every day of 200 years is the day after the one before")
    func everyDay() {
        let lengths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var (year, month, day): (Int64, Int64, Int64) = (1970, 1, 1)
        for number in 0..<Int64(200 * 365) {
            let text = UTCTime(milliseconds: number * 86_400_000).description
            let date = text.prefix(10).split(separator: "-").compactMap { Int64($0) }
            guard date == [year, month, day], UTCTime(text)?.milliseconds == number * 86_400_000 else {
                Issue.record("day \(number) is \(text), and not \(year)-\(month)-\(day)")
                return
            }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            day += 1
            guard day > lengths[Int(month - 1)] + (isLeap && month == 2 ? 1 : 0) else { continue }
            (month, day) = (month + 1, 1)
            if month == 13 { (year, month) = (year + 1, 1) }
        }
    }

    @Test("Times beyond four digits of a year are brought within them")
    func extremes() {
        #expect(UTCTime(milliseconds: .min).description == "1970-01-01T00:00:00.000Z")
        #expect(UTCTime(milliseconds: .max).description == "9999-12-31T23:59:59.999Z")
    }

    @Test(
        "Any other text is nil",
        arguments: [
            "", "2026-11-21", "2026-11-21T18:58:52Z", "2026-11-21T18:58:52.123+00:00", "2026-02-29T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z", "2026-11-21T24:00:00.000Z", "2026-11-21T18:60:00.000Z",
            "2026-11-21 18:58:52.123Z", "٢026-11-21T18:58:52.123", "0000-00-00T00:00:00.000Z",
            "1969-12-31T23:59:59.999Z",
        ])
    func refused(text: String) {
        #expect(UTCTime(text) == nil)
    }
}
