/// Applies one event at a time: an event that arrives while the effects of an earlier one run is queued behind it, in
/// order. None is dropped.
///
///     guard queue.begin(event) else { return }     // queued: applied below
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

    /// - Parameter isUrgent: whether the event is queued before the others: a result of the effect that runs now.
    /// - Returns: true if no event is being applied: then the caller applies this one, and after it every ``next()``.
    package mutating func begin(_ event: Event, isUrgent: Bool = false) -> Bool {
        guard isDraining else {
            isDraining = true
            return true
        }
        events.insert(event, at: isUrgent ? position : events.count)
        return false
    }

    /// The next event; nil at the end, and then the queue can be begun again.
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
