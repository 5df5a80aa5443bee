import ArgumentParser
import RingwakeCore

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

    /// The same for milliseconds.
    static func short(milliseconds: Int64) -> String {
        let (microseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000)
        return short(microseconds: overflow ? (milliseconds < 0 ? .min : .max) : microseconds)
    }

    /// Time until a deadline: exact if it is near, rounded if it is far.
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

/// A duration on the command line: `30s`, `500ms`, `2m`, `1h`, or 0. A number without a unit is refused: it could mean
/// seconds or minutes.
struct DurationArgument: Equatable, Sendable {
    let duration: Duration

    init(_ duration: Duration) {
        self.duration = duration
    }

    /// Throws a `ValidationError` that says what to write instead.
    @Sendable
    init(parsing text: String) throws {
        let isNumber = !text.isEmpty && text.allSatisfy { $0.isASCII && $0.isNumber }
        if isNumber, text.contains(where: { $0 != "0" }) {
            throw ValidationError("give the number a unit, such as \(text)s, \(text)m or \(text)h")
        }
        let withUnit = isNumber ? "0s" : text.hasSuffix("min") ? String(text.dropLast(2)) : text
        guard let duration = Duration(settingText: withUnit) else {
            throw ValidationError(
                "give a whole number and a unit (ms, s, m, h or d), such as 30s or 5m; at most a year")
        }
        self.duration = duration
    }
}
