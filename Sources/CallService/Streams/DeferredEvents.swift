internal import ControlProtocol
internal import RingwakeCore

/// Events of calls that are published when the disk has what led to them: a call whose end was published must not ring
/// again after a kill, nor one whose answer a handler was asked for.
struct DeferredEvents: Sendable {
    private struct Queue {
        var events: [EventMessage] = []
        /// Barriers that have not been passed.
        var barriers = 0
    }

    private var queues: [CallKey: Queue] = [:]

    /// Defers events of this call until the next barrier.
    mutating func begin(_ key: CallKey) { queues[key, default: Queue()].barriers += 1 }

    /// - Returns: false if events of this call are not deferred.
    mutating func append(_ event: @autoclosure () -> EventMessage, of key: CallKey) -> Bool {
        guard queues[key] != nil else { return false }
        queues[key]?.events.append(event())
        return true
    }

    /// A barrier was passed.
    /// - Returns: The events to publish now.
    mutating func end(_ key: CallKey) -> [EventMessage] {
        queues[key]?.barriers -= 1
        guard let queue = queues[key], queue.barriers == 0 else { return [] }
        queues[key] = nil
        return queue.events
    }
}
