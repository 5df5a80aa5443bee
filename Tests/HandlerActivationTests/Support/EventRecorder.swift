import HandlerActivation
import RingwakeCore

/// What was told of one handler, in order.
final class EventRecorder {
    enum Entry: Equatable {
        case started(Int32?)
        case failed(RingwakeError)
        case ended(HandlerExit)
    }

    private(set) var entries: [Entry] = []

    var events: HandlerEvents {
        HandlerEvents(
            started: { self.entries.append(.started($0)) }, failed: { self.entries.append(.failed($0)) },
            ended: { self.entries.append(.ended($0)) })
    }

    var hasStarted: Bool { entries.contains { if case .started = $0 { true } else { false } } }
    var pid: Int32? {
        for case .started(let pid) in entries { return pid }
        return nil
    }
    var failure: RingwakeError? {
        for case .failed(let error) in entries { return error }
        return nil
    }
    var exit: HandlerExit? {
        for case .ended(let exit) in entries { return exit }
        return nil
    }
    var isOver: Bool { failure != nil || exit != nil }
}
