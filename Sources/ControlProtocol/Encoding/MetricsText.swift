/// Writes metrics in the text format of Prometheus, version 0.0.4: what `GET /metrics` answers.
///
///     var text = MetricsText()
///     text.add("ringwake_gateway_links", .gauge, "Open connections of devices.", [(["state": "admitted"], 3)])
///
/// A family is added once, under a name with its unit; a counter's ends in `_total`.
package struct MetricsText {
    package enum Kind: String, Sendable {
        case counter
        case gauge
    }

    /// The media type.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var text = ""

    package init() {}

    /// Adds a metric with its values by labels, in the order of the labels' text.
    package mutating func add(
        _ name: String, _ kind: Kind, _ help: String, _ values: [(labels: [String: String], value: UInt64)]
    ) {
        begin(name, kind.rawValue, help)
        for (labels, value) in values.map({ (Self.text(of: $0.labels), $0.value) }).sorted(by: { $0.0 < $1.0 }) {
            text += "\(name)\(labels) \(value)\n"
        }
    }

    /// Adds a metric with one value.
    package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: UInt64) {
        add(name, kind, help, [([:], value)])
    }

    /// Adds a metric with a value for each value of one label.
    package mutating func add(
        _ name: String, _ kind: Kind, _ help: String, by label: String, _ values: [String: UInt64]
    ) {
        add(name, kind, help, values.map { ([label: $0.key], $0.value) })
    }

    /// Adds a histogram of times; its name ends in `_seconds`.
    package mutating func add(_ name: String, _ help: String, _ histogram: TimeHistogram) {
        begin(name, "histogram", help)
        var count: UInt64 = 0
        for (bound, inBucket) in zip(TimeHistogram.boundsInMs, histogram.counts) {
            count += inBucket
            text += "\(name)_bucket{le=\"\(Self.seconds(bound))\"} \(count)\n"
        }
        text += "\(name)_bucket{le=\"+Inf\"} \(histogram.count)\n"
        text += "\(name)_sum \(Self.seconds(histogram.sumInMs))\n\(name)_count \(histogram.count)\n"
    }

    private mutating func begin(_ name: String, _ kind: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
    }

    private static func text(of labels: [String: String]) -> String {
        guard !labels.isEmpty else { return "" }
        let pairs = labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value))\"" }
        return "{\(pairs.joined(separator: ","))}"
    }

    private static func escaped(_ value: String) -> String {
        var result = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    private static func seconds(_ milliseconds: UInt64) -> String {
        let rest = String(1000 + milliseconds % 1000).dropFirst()
        return "\(milliseconds / 1000).\(rest)"
    }
}

/// How long something took, counted in buckets. To add a time is two additions.
package struct TimeHistogram: Equatable, Sendable {
    /// The upper bounds of the buckets, which a time may equal.
    package static let boundsInMs: [UInt64] = [
        5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000,
    ]

    /// By bucket; times above the last bound are in none.
    package private(set) var counts = [UInt64](repeating: 0, count: boundsInMs.count)
    package private(set) var count: UInt64 = 0
    package private(set) var sumInMs: UInt64 = 0

    package init() {}

    /// Counts a time. One below 0 counts as 0.
    package mutating func add(milliseconds: Int64) {
        let time = UInt64(max(0, milliseconds))
        count &+= 1
        sumInMs &+= time
        if let index = Self.boundsInMs.firstIndex(where: { time <= $0 }) { counts[index] &+= 1 }
    }
}
