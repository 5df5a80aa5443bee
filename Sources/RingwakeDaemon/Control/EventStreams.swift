internal import ControlProtocol
internal import HTTPServer
internal import RingwakeCore

/// The clients that read `/v1/events`, each with what it wants to hear of.
final class EventStreams {
    private struct Subscriber {
        let exchange: any HTTPExchange
        let app: AppID?
        let call: CallID?
    }

    private var subscribers: [ObjectIdentifier: Subscriber] = [:]

    /// Begins a stream with `first`, and goes on with every event that is published until the client leaves.
    ///
    /// - Parameters:
    ///   - hasBegun: something was sent on it already.
    ///   - onClose: called once when the client leaves, and at once when it has left.
    func subscribe(
        _ exchange: any HTTPExchange, app: AppID?, call: CallID?, first: [EventMessage], hasBegun: Bool = false,
        onClose: (() -> Void)? = nil
    ) {
        if !hasBegun { exchange.beginLines() }
        // A client that has left already would never be seen leaving.
        guard exchange.isOpen else {
            onClose?()
            return
        }
        let id = ObjectIdentifier(exchange)
        subscribers[id] = Subscriber(exchange: exchange, app: app, call: call)
        exchange.onClose = { [weak self] in
            self?.subscribers[id] = nil
            onClose?()
        }
        // As one piece: what is there to tell at the beginning must not count as a client that does not read.
        let opening = first.flatMap { EventStreams.line($0) }
        if !opening.isEmpty { _ = exchange.send(opening) }
    }

    /// Sends `event` to each client that asked for its app and call. Encodes it only when there is one.
    func publish(_ event: @autoclosure () -> EventMessage, of key: CallKey?) {
        publish(event()) { subscriber in
            (subscriber.app == nil || subscriber.app == key?.app)
                && (subscriber.call == nil || subscriber.call == key?.id)
        }
    }

    /// Sends `event` to each client that listens to all of `app`.
    ///
    /// - Parameter isNamed: only to those that listen to this app alone; else also to those that listen to all apps.
    func publish(_ event: @autoclosure () -> EventMessage, of app: AppID, isNamed: Bool = false) {
        publish(event()) { subscriber in
            subscriber.call == nil && (subscriber.app == app || (!isNamed && subscriber.app == nil))
        }
    }

    /// Sends `event`, which is of the device, to each client that listens to more than a single call.
    func publishToAll(_ event: @autoclosure () -> EventMessage) {
        publish(event()) { $0.call == nil }
    }

    /// Whether anybody listens.
    var isHeard: Bool { !subscribers.isEmpty }

    /// The apps that a client listens to alone.
    var namedApps: Set<AppID> { Set(subscribers.values.compactMap { $0.call == nil ? $0.app : nil }) }

    private func publish(_ event: @autoclosure () -> EventMessage, to isMeant: (Subscriber) -> Bool) {
        var line: [UInt8]?
        for (id, subscriber) in subscribers where isMeant(subscriber) {
            let bytes = line ?? EventStreams.line(event())
            line = bytes
            if !subscriber.exchange.send(bytes) {
                subscribers[id] = nil
            }
        }
    }

    /// Ends every stream in good order: the daemon is stopping.
    func finish() {
        for subscriber in subscribers.values {
            subscriber.exchange.finish()
        }
        subscribers = [:]
    }

    private static func line(_ event: EventMessage) -> [UInt8] { controlLine(event) }
}

extension HTTPExchange {
    /// Begins an answer of JSON objects, one a line.
    func beginLines() {
        beginStream(
            status: 200,
            fields: [
                HTTPField(name: "content-type", value: "application/x-ndjson"),
                HTTPField(name: "cache-control", value: "no-store"),
            ])
    }
}
