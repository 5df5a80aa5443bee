internal import RingwakeCore
public import RingwakeKit

// A test waits for what the app does, on the client's thread and in its own tasks. Nothing is waited for by the clock.
extension SimulatedDaemon {
    /// Waits until a call is in a state; at once if it is.
    ///
    /// It has no time limit of its own: give the test one (`.timeLimit(.minutes(1))`).
    /// - Throws: ``CallWentAnotherWay``: the call has ended, so it will not be. `CancellationError`: the task was cancelled.
    @discardableResult
    public func call(_ call: RingwakeKit.Call.ID, reaches state: CallState) async throws -> SimulatedCall {
        let found = try await wait { daemon -> SimulatedCall? in
            let key = daemon.key(call)
            guard let found = daemon.coordinator.call(key) else { return nil }
            let isThere = found.machine.state.name.rawValue == state.rawValue
            return isThere || found.machine.hasEnded ? SimulatedCall(of: found, rings: daemon.rings[key] ?? 0) : nil
        }
        guard found.state == state else { throw CallWentAnotherWay(call: found, expected: state) }
        return found
    }

    /// Waits until the app owes an answer to an action of this kind.
    ///
    /// - Throws: As ``call(_:reaches:)``.
    public func call(_ call: RingwakeKit.Call.ID, owes kind: RingwakeKit.CallAction.Kind) async throws {
        let found = try await wait { daemon -> SimulatedCall? in
            let key = daemon.key(call)
            guard let found = daemon.coordinator.call(key).map({ SimulatedCall(of: $0, rings: 0) }) else { return nil }
            return found.state == .ended || found.owed.contains(kind) ? found : nil
        }
        guard found.owed.contains(kind) else { throw CallWentAnotherWay(call: found, expected: nil) }
    }

    /// Waits until the app owes nothing for a call.
    public func callOwesNothing(_ call: RingwakeKit.Call.ID) async throws {
        _ = try await wait { daemon in
            daemon.coordinator.call(daemon.key(call)).flatMap { $0.machine.owed.isEmpty ? true : nil }
        }
    }

    /// Waits until a client keeps a connection as a handler; at once if one does.
    public func connected() async throws {
        _ = try await wait { daemon in daemon.streams.values.contains { $0.wake != nil } ? true : nil }
    }

    /// The next start of a handler that the daemon makes because none was connected, once there is one.
    public func nextStart() async throws -> SimulatedStart {
        try await wait { daemon in daemon.starts.isEmpty ? nil : daemon.starts.removeFirst() }
    }

    /// The process of a handler that was started has ended.
    public func exited(_ start: SimulatedStart, status: Int32 = 0) {
        with { $0.handlerExited(start.wake, status: status) }
    }

    private func wait<Value: Sendable>(
        _ look: @escaping @Sendable (inout DaemonState) -> Value?
    ) async throws -> Value {
        let number = with { $0.nextWait() }
        let value: Value? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                with { $0.wait(number, look) { continuation.resume(returning: $0) } }
            }
        } onCancel: {
            with { $0.cancelWait(number) }
        }
        guard let value else { throw CancellationError() }
        return value
    }
}

/// A call has ended, and so will not be what the test waits for.
public struct CallWentAnotherWay: Error, Sendable, CustomStringConvertible {
    /// The call at its end.
    public let call: SimulatedCall
    /// The state that was waited for; nil: an action.
    public let expected: CallState?

    public var description: String {
        let reason = call.endReason?.rawValue ?? "no reason"
        let detail = call.endDetail.map { ", \($0)" } ?? ""
        return "call '\(call.id)' ended (\(reason)\(detail)) and will not be \(expected?.rawValue ?? "asked for that")"
    }
}
