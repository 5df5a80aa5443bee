/// Events that wait while the effects of an earlier one run: one at a time, in order, none dropped.
///
///     queue.append(event)
///     guard queue.begin() else { return }     // whoever drains it takes this event too
///     while let event = queue.next() { run(machine.handle(event, at: now)) }
package struct EventQueue<Event> {
    private var events: [Event] = []
    private var position = 0
    private var isDraining = false

    package init() {}

    package mutating func append(_ event: Event) { events.append(event) }

    /// Puts an event before those that wait.
    package mutating func insertNext(_ event: Event) { events.insert(event, at: position) }

    /// - Returns: false if the queue is being drained: then the event has its turn there.
    package mutating func begin() -> Bool {
        defer { isDraining = true }
        return !isDraining
    }

    /// The next event; nil at the end, and then the queue is not being drained anymore.
    package mutating func next() -> Event? {
        guard position < events.count else {
            (events, position, isDraining) = ([], 0, false)
            return nil
        }
        defer { position += 1 }
        return events[position]
    }
}

extension EventQueue: Sendable where Event: Sendable {}
