import ControlProtocol
import Testing

@Suite struct MetricsTextTests {
    @Test("A metric has its help, its type and a line for each value, in the order of the labels")
    func values() {
        var metrics = MetricsText()
        metrics.add("links", .gauge, "Open links.", by: "state", ["b": 2, "a": 1])
        metrics.add("made_total", .counter, "Made.", 7)
        #expect(
            metrics.text == """
                # HELP links Open links.
                # TYPE links gauge
                links{state="a"} 1
                links{state="b"} 2
                # HELP made_total Made.
                # TYPE made_total counter
                made_total 7

                """)
    }

    @Test("A metric without a value is named all the same")
    func empty() {
        var metrics = MetricsText()
        metrics.add("refused_total", .counter, "Refused.", by: "reason", [:])
        #expect(metrics.text == "# HELP refused_total Refused.\n# TYPE refused_total counter\n")
    }

    @Test("What would break a label's text is escaped; labels are in the order of their names")
    func labels() {
        var metrics = MetricsText()
        metrics.add("m", .gauge, "M.", [(labels: ["b": "x", "a": "say \"no\\yes\"\nor"], value: 1)])
        #expect(metrics.text.hasSuffix("\nm{a=\"say \\\"no\\\\yes\\\"\\nor\",b=\"x\"} 1\n"))
    }

    @Test("A histogram counts each time in its bucket and in those above; a bound belongs to its bucket")
    func histogram() {
        var times = TimeHistogram()
        for time: Int64 in [-3, 5, 6, 300_000, 300_001] { times.add(milliseconds: time) }
        var metrics = MetricsText()
        metrics.add("wait_seconds", "Waits.", times)
        let lines = metrics.text.split(separator: "\n")
        #expect(
            lines.prefix(4) == [
                "# HELP wait_seconds Waits.", "# TYPE wait_seconds histogram", "wait_seconds_bucket{le=\"0.005\"} 2",
                "wait_seconds_bucket{le=\"0.010\"} 3",
            ])
        #expect(
            lines.suffix(4) == [
                "wait_seconds_bucket{le=\"300.000\"} 4", "wait_seconds_bucket{le=\"+Inf\"} 5",
                "wait_seconds_sum 600.012",
                "wait_seconds_count 5",
            ])
    }
}
