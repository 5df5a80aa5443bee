internal import ControlProtocol
internal import RingwakeCore

/// Events of calls that are published once their cause is durable. A call whose end was published must not ring again
/// after a kill, and neither must a call whose handler was asked to answer.
struct DeferredEvents: Sendable {
    private struct Queue {
        var events: [EventMessage] = []
        /// The number of pending barriers.
        var barriers = 0
    }

    private var queues: [CallKey: Queue] = [:]

    /// Defers events of this call until the next barrier has been passed.
    mutating func begin(_ key: CallKey) { queues[key, default: Queue()].barriers += 1 }

    /// - Returns: false if events of this call are not deferred.
    mutating func append(_ event: @autoclosure () -> EventMessage, of key: CallKey) -> Bool {
        guard queues[key] != nil else { return false }
        queues[key]?.events.append(event())
        return true
    }

    /// A barrier has been passed.
    /// - Returns: the events to publish now.
    mutating func end(_ key: CallKey) -> [EventMessage] {
        queues[key]?.barriers -= 1
        guard let queue = queues[key], queue.barriers == 0 else { return [] }
        queues[key] = nil
        return queue.events
    }
}
