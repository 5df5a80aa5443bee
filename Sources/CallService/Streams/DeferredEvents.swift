internal import ControlProtocol
internal import RingwakeCore

/// Events of calls that are published once their cause is durable. A call whose end was published must not ring again
/// after a kill, and neither must a call whose handler was asked to answer.
///
/// The end of a call with active audio also waits for the end of its audio, which is published first: a handler that
/// exits at the end of its call must see both. An audio program that hangs delays it by at most ``audioTime``.
struct DeferredEvents: Sendable {
    /// How long the end of a call waits for the end of its audio, which takes some milliseconds, or some hundred if a
    /// headset changes its profile.
    static let audioTime = Duration.seconds(1)

    private struct Queue {
        var events: [EventMessage] = []
        /// The number of pending barriers.
        var barriers = 0
        /// The end of the call waits for its audio: the position of the end, and the time limit.
        var audio: (position: Int, limit: BootInstant)?
    }

    private var queues: [CallKey: Queue] = [:]

    /// When the end of a call stops waiting; nil if none waits.
    var nextDeadline: BootInstant? { queues.values.compactMap(\.audio?.limit).min() }

    /// Whether the end of this call waits for its audio.
    func awaitsAudio(_ key: CallKey) -> Bool { queues[key]?.audio != nil }

    /// Calls whose end has waited for long enough.
    func overdue(at now: BootInstant) -> [CallKey] {
        queues.filter { $0.value.audio.map { $0.limit <= now } ?? false }.map(\.key)
    }

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
        return take(key)
    }

    /// Defers the events of this call from now on until its audio has ended, but not past `limit`.
    mutating func awaitAudio(_ key: CallKey, until limit: BootInstant) {
        queues[key, default: Queue()].audio = (queues[key]?.events.count ?? 0, limit)
    }

    /// The audio of this call has ended.
    /// - Parameter event: comes before what was deferred since ``awaitAudio(_:until:)``; nil if there is nothing to
    ///   publish about it.
    /// - Returns: the events to publish now; nil if the call's end doesn't wait for it.
    mutating func audioEnded(_ key: CallKey, _ event: EventMessage?) -> [EventMessage]? {
        guard let position = queues[key]?.audio?.position else { return nil }
        queues[key]?.audio = nil
        if let event { queues[key]?.events.insert(event, at: position) }
        return take(key)
    }

    private mutating func take(_ key: CallKey) -> [EventMessage] {
        guard let queue = queues[key], queue.barriers == 0, queue.audio == nil else { return [] }
        queues[key] = nil
        return queue.events
    }
}
