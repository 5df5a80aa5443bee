extension Duration {
    /// The units of a written duration, the largest first.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    /// The longest duration that can be written: a year.
    private static let longestMilliseconds: Int64 = 366 * 86_400_000

    /// Reads a whole number and its unit, `ms`, `s`, `m`, `h` or `d`; nil for anything else, and for more than a year.
    package init?(settingText text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let unit = Duration.units.first(where: { $0.name == text.dropFirst(digits.count) }),
            let count = Int64(digits)
        else { return nil }
        let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
        guard !overflow, milliseconds <= Duration.longestMilliseconds else { return nil }
        self = .milliseconds(milliseconds)
    }

    /// The duration in the largest unit that needs no fraction: `45s`, `4h`.
    package var settingText: String {
        let unit = Duration.units.first { milliseconds != 0 && milliseconds % $0.milliseconds == 0 }
        return unit.map { "\(milliseconds / $0.milliseconds)\($0.name)" } ?? "0s"
    }
}
