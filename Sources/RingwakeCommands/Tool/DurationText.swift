import ArgumentParser

/// Durations as people write and read them.
enum DurationText {
    /// `340 us`, `12.4 ms`, `2.10 s`, `95.0 s`.
    static func short(microseconds: Int64) -> String {
        let magnitude = microseconds.magnitude
        let sign = microseconds < 0 ? "-" : ""
        switch magnitude {
        case ..<1_000: return "\(sign)\(magnitude) us"
        case ..<1_000_000: return "\(sign)\(decimal(magnitude, unit: 1_000)) ms"
        default: return "\(sign)\(decimal(magnitude, unit: 1_000_000)) s"
        }
    }

    /// The same of milliseconds.
    static func short(milliseconds: Int64) -> String {
        let (microseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000)
        return short(microseconds: overflow ? (milliseconds < 0 ? .min : .max) : microseconds)
    }

    /// Until a deadline: exact while it is near, rounded when it is far.
    static func until(milliseconds: Int64) -> String {
        milliseconds < 120_000 ? short(milliseconds: milliseconds) : long(milliseconds: milliseconds)
    }

    /// `12 s`, `4 min`, `3 h 12 min`, `5 d 2 h`.
    static func long(milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds) / 1_000
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3_600: return "\(seconds / 60) min"
        case ..<86_400: return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
        default: return "\(seconds / 86_400) d \(seconds / 3_600 % 24) h"
        }
    }

    /// Three digits at least, with a fraction of two: 1.23, 12.34, 123.45.
    private static func decimal(_ value: UInt64, unit: UInt64) -> String {
        let hundredths = value / (unit / 100)
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }
}

/// A duration on the command line: `30s`, `500ms`, `2m`, `1h`, or a bare number of seconds.
struct DurationArgument: ExpressibleByArgument, Equatable, Sendable {
    let duration: Duration

    /// The longest duration that is taken: a year.
    static let maximumSeconds: Int64 = 366 * 86_400

    init(_ duration: Duration) {
        self.duration = duration
    }

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        guard !digits.isEmpty, let number = Int64(digits) else { return nil }
        let unitInMilliseconds: Int64
        switch argument[digits.endIndex...] {
        case "ms": unitInMilliseconds = 1
        case "", "s": unitInMilliseconds = 1_000
        case "m", "min": unitInMilliseconds = 60_000
        case "h": unitInMilliseconds = 3_600_000
        case "d": unitInMilliseconds = 86_400_000
        default: return nil
        }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unitInMilliseconds)
        guard !overflow, milliseconds <= DurationArgument.maximumSeconds * 1_000 else { return nil }
        duration = .milliseconds(milliseconds)
    }

    var defaultValueDescription: String {
        DurationText.long(milliseconds: duration.components.seconds * 1_000)
    }
}
