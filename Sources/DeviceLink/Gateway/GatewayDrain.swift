internal import MQTT5
import RingwakeCore

/// Whether a gateway takes links, and which links it still has to end.
///
/// ```
/// open --drain--> drained --reopen--> open
/// open, drained --stop--> stopping
/// ```
/// | state | what holds |
/// |---|---|
/// | open | devices link |
/// | drained | devices are refused; the links that there were end in slices, each at its time |
/// | stopping | devices are refused; all links have ended |
struct GatewayDrain: Sendable {
    private enum State: Sendable {
        case open
        case drained(Drained)
        case stopping
    }

    private struct Drained: Sendable {
        let since: BootInstant
        /// Links that have not ended yet, those that end first at the end.
        var leaving: [LinkID]
        let sliceCount: Int
        var next: BootInstant
    }

    /// Between two slices. Ending all links at once would make senders wait for their last packets.
    private static let sliceInterval = Duration.milliseconds(100)

    private var state = State.open

    /// When the gateway was drained; nil if it is not.
    var drainedSince: BootInstant? { if case .drained(let drained) = state { drained.since } else { nil } }

    /// When ``takeDue(at:)`` has something to return.
    var nextDeadline: BootInstant? {
        guard case .drained(let drained) = state, !drained.leaving.isEmpty else { return nil }
        return drained.next
    }

    /// Why no device may connect now; nil if it may.
    var refusal: LinkHello.Refusal? {
        switch state {
        case .open: nil
        case .drained: .init(.serverUnavailable, "the gateway is drained: it takes no links now")
        case .stopping: .init(.serverUnavailable, "the gateway is shutting down")
        }
    }

    /// Within this time `count` devices may come again, each at a random time.
    static func time(for count: Int) -> Duration { .seconds(min(120, max(1, count / 200))) }

    /// Takes no more links, and lets those that there are end within ``time(for:)``. Changes nothing if it is drained
    /// already, or stopping.
    mutating func drain(_ links: [LinkID], at now: BootInstant) {
        guard case .open = state else { return }
        let slices = Int(Self.time(for: links.count) / Self.sliceInterval)
        state = .drained(
            Drained(
                since: now, leaving: links.reversed(), sliceCount: (links.count + slices - 1) / slices, next: now))
    }

    /// Takes links again. Links that have not ended yet stay.
    mutating func reopen() {
        if case .drained = state { state = .open }
    }

    /// Takes no more links for good. The caller ends those that there are.
    mutating func stop() { state = .stopping }

    /// The links that have to end now.
    mutating func takeDue(at now: BootInstant) -> [LinkID] {
        guard case .drained(var drained) = state, drained.next <= now, !drained.leaving.isEmpty else { return [] }
        let due = Array(drained.leaving.suffix(drained.sliceCount).reversed())
        drained.leaving.removeLast(due.count)
        drained.next = now.advanced(by: Self.sliceInterval)
        state = .drained(drained)
        return due
    }
}
