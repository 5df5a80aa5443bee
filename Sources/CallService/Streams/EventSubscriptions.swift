internal import ControlProtocol
package import RingwakeCore

/// The streams that an event is for.
package enum Audience: Hashable, Sendable {
    /// Streams of this call, streams of its app, and unfiltered streams.
    case call(CallKey)
    /// Streams of this app and unfiltered streams, but no streams of a single call. `isNamed`: only those of this app.
    case app(AppID, isNamed: Bool = false)
    /// Every stream except those of a single call.
    case device
    /// Streams without a filter for app or call.
    case unfiltered
    /// Streams of senders' requests; of this app, or of all apps. Nil: the app isn't known.
    case requests(AppID?)
}

/// The streams of events, with their filters.
package struct EventSubscriptions: Sendable {
    private struct Subscriber {
        let app: AppID?
        var call: CallID?
        /// Whether it is a stream of senders' requests, which has no other events.
        var isOfRequests = false

        func reads(_ audience: Audience) -> Bool {
            if case .requests(let app) = audience { return isOfRequests && (self.app == nil || self.app == app) }
            guard !isOfRequests else { return false }
            return switch audience {
            case .call(let key): (app == nil || app == key.app) && (call == nil || call == key.id)
            case .app(let app, let isNamed): call == nil && (self.app == app || (!isNamed && self.app == nil))
            case .device: call == nil
            case .unfiltered: app == nil && call == nil
            case .requests: false
            }
        }
    }

    private var subscribers: [RequestID: Subscriber] = [:]
    /// Whether there are streams of senders' requests.
    package private(set) var readsRequests = false
    private var deferred = DeferredEvents()

    /// Whether there are no streams.
    var isEmpty: Bool { subscribers.isEmpty }

    /// Whether a stream has the events of the device.
    package var areOfDevice: Bool { subscribers.values.contains { $0.reads(.device) } }

    /// Apps that have a stream of their own.
    package var namedApps: Set<AppID> {
        Set(subscribers.values.compactMap { $0.call == nil && !$0.isOfRequests ? $0.app : nil })
    }

    /// Begins a stream with `first`, and continues it with the events of the app and call until the client leaves.
    mutating func begin(
        _ id: RequestID, app: AppID?, call: CallID?, first: [EventMessage], _ turn: inout Turn
    ) {
        turn.add(.begin(id))
        subscribers[id] = Subscriber(app: app, call: call)
        // Send it in one piece: a long start must not make the client look like one that does not read.
        let lines = first.flatMap { controlLine($0) }
        if !lines.isEmpty { turn.add(.send(id, lines)) }
    }

    /// Begins a stream of senders' requests.
    mutating func beginRequests(_ id: RequestID, app: AppID?, _ turn: inout Turn) {
        turn.add(.begin(id))
        subscribers[id] = Subscriber(app: app, isOfRequests: true)
        readsRequests = true
    }

    mutating func remove(_ id: RequestID) {
        guard subscribers.removeValue(forKey: id)?.isOfRequests == true else { return }
        readsRequests = subscribers.values.contains { $0.isOfRequests }
    }

    /// Sends `event` to the matching streams. It is encoded only if there is one.
    func publish(_ event: @autoclosure () -> EventMessage, to audience: Audience, _ turn: inout Turn) {
        var line: [UInt8]?
        for (id, subscriber) in subscribers where subscriber.reads(audience) {
            let bytes = line ?? controlLine(event())
            line = bytes
            turn.add(.send(id, bytes))
        }
    }

    /// Publishes an event of a call. The events of one call stay in order.
    mutating func publish(_ event: @autoclosure () -> EventMessage, of key: CallKey, _ turn: inout Turn) {
        guard !isEmpty, !deferred.append(event(), of: key) else { return }
        publish(event(), to: .call(key), &turn)
    }

    /// Defers events of this call until everything written so far is durable. If the disk fails or hangs, the delay is
    /// bounded.
    mutating func deferEvents(of key: CallKey, _ turn: inout Turn) {
        guard !isEmpty else { return }
        deferred.begin(key)
        turn.add(.barrier { service, turn in service.subscriptions.publishDeferred(of: key, &turn) })
    }

    private mutating func publishDeferred(of key: CallKey, _ turn: inout Turn) {
        for event in deferred.end(key) { publish(event, to: .call(key), &turn) }
    }

    // MARK: - Audio of a call

    /// Defers the end of this call in the same way, and until its audio has ended.
    mutating func deferEnd(of call: Call, _ turn: inout Turn) {
        guard !isEmpty else { return }
        if call.audio?.isActive == true {
            deferred.awaitAudio(call.key, until: turn.now.advanced(by: DeferredEvents.audioTime))
        }
        deferEvents(of: call.key, &turn)
    }

    /// Publishes a change of the call's audio. Its end comes before the end of the call, if that waits for it.
    mutating func publish(_ change: CallAudioChange, of call: Call, _ turn: inout Turn) {
        let isEnd = change == .deactivated
        guard isEnd, audioEnded(of: call.key, reporting: EventMessage(audio: change, of: call), &turn) else {
            return publish(EventMessage(audio: change, of: call), of: call.key, &turn)
        }
    }

    /// The call's audio has ended: its end doesn't wait for that any more.
    ///
    /// - Returns: false if the end didn't wait.
    @discardableResult
    mutating func audioEnded(
        of key: CallKey, reporting event: EventMessage? = nil, _ turn: inout Turn
    ) -> Bool {
        guard let events = deferred.audioEnded(key, event) else { return false }
        for event in events { publish(event, to: .call(key), &turn) }
        return true
    }

    /// When the end of a call stops waiting for its audio, or `other` if that is earlier.
    func nextDeadline(or other: BootInstant?) -> BootInstant? {
        deferred.nextDeadline.map { min($0, other ?? $0) } ?? other
    }

    /// Whether the end of this call waits for its audio, and comes to streams that begin meanwhile too.
    func awaitsAudio(_ key: CallKey) -> Bool { deferred.awaitsAudio(key) }

    /// Calls whose end has waited for their audio for long enough.
    func overdue(at now: BootInstant) -> [CallKey] { deferred.overdue(at: now) }
}
