internal import ControlProtocol
internal import RingwakeCore

/// Where the lines of a stream go. Both are called outside of the lock, in order.
struct LineSink: Sendable {
    let line: @Sendable ([UInt8]) -> Void
    /// The stream ended on the daemon's side.
    let end: @Sendable () -> Void
}

/// A stream that is to be a handler's, and is not one's yet.
struct PendingStream: Sendable {
    let number: UInt64
    let sink: LineSink
    /// Which client opened it: it stands for the process.
    let client: UInt64
    let since: Int64?
}

/// One open answer of lines.
struct EventStream: Sendable {
    let sink: LineSink
    /// The app that it is about; nil for all.
    let app: AppID?
    /// The call that it is about; nil for all of the app.
    let call: CallID?
    /// The handler whose connection it is.
    let wake: WakeID?
}

// The streams of events, and who keeps one as a handler.
extension DaemonState {
    /// The client has left.
    mutating func closeStream(_ number: UInt64) {
        guard let stream = streams.removeValue(forKey: number), let wake = stream.wake, isRunning else { return }
        guard handlers[wake]?.stream == number else { return }
        detach(wake)
        submit(.handlerDisconnected(wake))
    }

    /// The daemon ends a stream.
    mutating func endStream(_ number: UInt64) {
        guard let stream = streams.removeValue(forKey: number) else { return }
        outbox.append(stream.sink.end)
    }

    /// A stream begins with `first` and goes on with what is published for its app and call.
    mutating func begin(_ number: UInt64, _ stream: EventStream, first: [EventMessage]) {
        streams[number] = stream
        for event in first { write(controlLine(event), to: number) }
    }

    mutating func write(_ line: [UInt8], to number: UInt64) {
        guard let sink = streams[number]?.sink else { return }
        outbox.append { sink.line(line) }
    }

    /// Tells each stream that asked for the event's app and call; `key` is nil for what is of the app or the device.
    mutating func publish(_ event: EventMessage, of key: CallKey?) {
        let line = controlLine(event)
        for (number, stream) in streams.sorted(by: { $0.key < $1.key }) {
            let isMeant =
                key == nil
                ? stream.call == nil
                : (stream.app == nil || stream.app == key?.app) && (stream.call == nil || stream.call == key?.id)
            if isMeant { write(line, to: number) }
        }
    }

    /// What whoever begins to listen has to know: the calls that run, and those that have ended since.
    func beginning(since: Int64?, call: CallID? = nil) -> [EventMessage] {
        let running = Array(coordinator.active.values)
        let over = coordinator.finished.filter { finished in
            call.map { finished.key.id == $0 } ?? since.map { finished.number >= $0 } ?? false
        }
        let calls = (running + over).filter { call == nil || $0.key.id == call }
        return calls.sorted { $0.number < $1.number }.flatMap { call in
            var first = [EventMessage(change: call, at: now)]
            first += call.machine.owed.map { EventMessage(action: $0, of: call.key, at: now) }
            if let audio = EventMessage(audioOf: call) { first.append(audio) }
            if let unread = call.pushes.unread.first { first.append(EventMessage(waiting: call.key, unread.kind)) }
            return first
        }
    }
}
