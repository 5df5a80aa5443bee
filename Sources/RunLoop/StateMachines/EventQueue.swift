/// Queues events while the effects of an earlier one run: one at a time, in order, without loss.
///
///     guard queue.begin(event) else { return }     // queued: the caller that drains it applies it
///     var next: Event? = event
///     while let event = next {
///         run(machine.handle(event, at: now))
///         next = queue.next()
///     }
package struct EventQueue<Event> {
    private var events: [Event] = []
    private var position = 0
    private var isDraining = false

    package init() {}

    /// - Parameter isUrgent: whether the event comes before the queued ones: a result of the effect that runs now.
    /// - Returns: true if nothing is being applied: the caller then applies this event, and every ``next()`` after it.
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

    /// The largest capacity that is kept. A larger queue was a burst, and its memory is freed.
    private static var keptCapacity: Int { 64 }
}

extension EventQueue: Sendable where Event: Sendable {}
