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
        case drained(since: BootInstant, LinkSlices)
        case stopping
    }

    private var state = State.open

    /// When the gateway was drained; nil if it is not.
    var drainedSince: BootInstant? { if case .drained(let since, _) = state { since } else { nil } }

    /// When ``takeDue(at:retryAfter:)`` has something to return.
    var nextDeadline: BootInstant? { if case .drained(_, let slices) = state { slices.nextDeadline } else { nil } }

    /// Why no device may connect now; nil if it may.
    func refusal(retryAfter: Duration) -> LinkHello.Refusal? {
        switch state {
        case .open: nil
        case .drained:
            .init(.serverUnavailable, "the gateway is drained: it takes no links now", retryAfter: retryAfter)
        case .stopping: .init(.serverUnavailable, "the gateway is shutting down", retryAfter: retryAfter)
        }
    }

    /// Takes no more links, and lets those that there are end. Changes nothing if it is drained already, or stopping.
    mutating func drain(_ links: [LinkID], at now: BootInstant) {
        if case .open = state { state = .drained(since: now, LinkSlices(links, at: now)) }
    }

    /// Takes links again. Links that have not ended yet stay.
    mutating func reopen() {
        if case .drained = state { state = .open }
    }

    /// Takes no more links for good, and ends those that there are at once.
    mutating func stop(_ links: [LinkID], retryAfter: Duration) -> [LinkDeparture] {
        state = .stopping
        return departures(links, "the gateway stops", retryAfter)
    }

    /// The links that have to end now.
    mutating func takeDue(at now: BootInstant, retryAfter: Duration) -> [LinkDeparture] {
        guard case .drained(let since, var slices) = state else { return [] }
        let due = slices.takeDue(at: now)
        state = .drained(since: since, slices)
        return departures(due, "the gateway is drained", retryAfter)
    }

    private func departures(_ links: [LinkID], _ text: String, _ retryAfter: Duration) -> [LinkDeparture] {
        links.map { LinkDeparture(link: $0, reason: .serverShuttingDown, text: text, retryAfter: retryAfter) }
    }
}
