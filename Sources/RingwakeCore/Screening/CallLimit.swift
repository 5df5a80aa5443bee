/// A limit on the number of calls within a time window.
package struct CallLimit: Hashable, Sendable, CustomStringConvertible {
    package let count: Int
    package let window: Duration

    /// The maximum count of a limit: ``CallHistory`` stores no more calls.
    package static let maximumCount = CallHistory.capacity
    private static let longestWindowSeconds: Int64 = 7 * 86_400
    private static let units: [(name: Character, seconds: Int64)] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)]

    /// Parses `30/1h`: thirty calls within an hour. The count is 1 to 4096, and the window 1s to 7d in s, m, h or d.
    /// Nil for anything else.
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

/// The limits on the number of calls; nil: no limit.
package struct CallLimits: Hashable, Sendable {
    /// The limit of one app.
    package var app: CallLimit?
    /// The limit of one caller in that app. All anonymous callers count as one.
    package var caller: CallLimit?

    package init(app: CallLimit? = nil, caller: CallLimit? = nil) {
        self.app = app
        self.caller = caller
    }
}
