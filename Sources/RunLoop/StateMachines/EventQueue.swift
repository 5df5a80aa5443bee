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

    package mutating func append(_ event: Event) { events.append(event) }

    /// Inserts an event before the queued ones.
    package mutating func insertNext(_ event: Event) { events.insert(event, at: position) }

    /// - Returns: false if the queue is already being drained; the event is then handled there.
    package mutating func begin() -> Bool {
        defer { isDraining = true }
        return !isDraining
    }

    /// The next event. Nil at the end; the queue is then no longer being drained.
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
