/// At most so many calls within a time.
package struct CallLimit: Hashable, Sendable, CustomStringConvertible {
    package let count: Int
    package let window: Duration

    /// The most calls that a limit may name: as many as ``CallHistory`` remembers.
    package static let maximumCount = CallHistory.capacity
    private static let longestWindowSeconds: Int64 = 7 * 86_400
    private static let units: [(name: Character, seconds: Int64)] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)]

    /// Reads `30/1h`: thirty calls within an hour, 1 to 4096 of them within 1s to 7d. The time is a number and s, m, h
    /// or d. Nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.allSatisfy(\.isDigit), let count = Int(parts[0]),
            (1...CallLimit.maximumCount).contains(count)
        else { return nil }
        let number = parts[1].dropLast()
        guard let unit = CallLimit.units.first(where: { $0.name == parts[1].last }),
            number.utf8.allSatisfy(\.isDigit), let amount = Int64(number), amount > 0,
            amount <= CallLimit.longestWindowSeconds / unit.seconds
        else { return nil }
        self.count = count
        window = .seconds(amount * unit.seconds)
    }

    package var description: String { "\(count)/\(windowText(separator: ""))" }

    /// `1 h`.
    var windowWords: String { windowText(separator: " ") }

    private func windowText(separator: String) -> String {
        let seconds = window.components.seconds
        let unit = CallLimit.units.first { seconds % $0.seconds == 0 } ?? ("s", 1)
        return "\(seconds / unit.seconds)\(separator)\(unit.name)"
    }
}

/// How many calls may come; nil where there is no limit.
package struct CallLimits: Hashable, Sendable {
    /// Of one app.
    package var app: CallLimit?
    /// Of one caller by that app; all anonymous callers are one.
    package var caller: CallLimit?

    package init(app: CallLimit? = nil, caller: CallLimit? = nil) {
        self.app = app
        self.caller = caller
    }
}
