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
}

/// The streams of events, with their filters.
package struct EventSubscriptions: Sendable {
    private struct Subscriber {
        let app: AppID?
        let call: CallID?

        func reads(_ audience: Audience) -> Bool {
            switch audience {
            case .call(let key): (app == nil || app == key.app) && (call == nil || call == key.id)
            case .app(let app, let isNamed): call == nil && (self.app == app || (!isNamed && self.app == nil))
            case .device: call == nil
            case .unfiltered: app == nil && call == nil
            }
        }
    }

    private var subscribers: [RequestID: Subscriber] = [:]

    /// Whether there are no streams.
    var isEmpty: Bool { subscribers.isEmpty }

    /// Apps that have a stream of their own.
    package var namedApps: Set<AppID> { Set(subscribers.values.compactMap { $0.call == nil ? $0.app : nil }) }

    mutating func add(_ id: RequestID, app: AppID?, call: CallID?) {
        subscribers[id] = Subscriber(app: app, call: call)
    }

    mutating func remove(_ id: RequestID) { subscribers[id] = nil }

    /// Sends `event` to the matching streams. It is encoded only if there is one.
    func publish(_ event: @autoclosure () -> EventMessage, to audience: Audience, _ turn: inout Turn) {
        var line: [UInt8]?
        for (id, subscriber) in subscribers where subscriber.reads(audience) {
            let bytes = line ?? controlLine(event())
            line = bytes
            turn.add(.send(id, bytes))
        }
    }
}
