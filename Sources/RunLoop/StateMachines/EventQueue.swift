/// Queues events while the effects of an earlier one run: one at a time, in order, without loss.
///
///     queue.append(event)
///     guard queue.begin() else { return }     // the running drain handles this event too
///     while let event = queue.next() { run(machine.handle(event, at: now)) }
package struct EventQueue<Event> {
    private var events: [Event] = []
    private var position = 0
    private var isDraining = false

    package init() {}

    /// - Returns: false if the queue is already being drained; the event is then handled there.
    package mutating func begin(_ event: Event, isUrgent: Bool = false) -> Bool {
        guard isDraining else {
            isDraining = true
            return true
        }
        events.insert(event, at: isUrgent ? position : events.count)
        return false
    }

    /// The next event. Nil at the end; the queue is then no longer being drained.
    package mutating func next() -> Event? {
        guard position < events.count else {
            events.removeAll(keepingCapacity: events.capacity <= Self.keptCapacity)
            (position, isDraining) = (0, false)
            return nil
        }
        defer { position += 1 }
        return events[position]
    }

    /// A larger queue was a burst: its memory is freed.
    private static var keptCapacity: Int { 64 }
}

extension EventQueue: Sendable where Event: Sendable {}
