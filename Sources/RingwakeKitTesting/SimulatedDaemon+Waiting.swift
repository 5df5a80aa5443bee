internal import CallService
internal import RingwakeCore
public import RingwakeKit

// Waits for what the app does, on the client's thread and in its own tasks. No wait depends on the clock.
extension SimulatedDaemon {
    /// Waits until a call is in a state; returns immediately if it is.
    ///
    /// It has no time limit of its own: give the test one (`.timeLimit(.minutes(1))`).
    /// - Throws: ``CallEndedEarly``: the call has ended in another state. `CancellationError`: the task was cancelled.
    @discardableResult
    public func call(_ call: RingwakeKit.Call.ID, reaches state: CallState) async throws -> SimulatedCall {
        let found = try await wait { daemon -> SimulatedCall? in
            let key = daemon.key(call)
            guard let found = daemon.coordinator.call(key) else { return nil }
            let isThere = found.machine.state.name.rawValue == state.rawValue
            return isThere || found.machine.hasEnded ? SimulatedCall(of: found, rings: daemon.rings[key] ?? 0) : nil
        }
        guard found.state == state else { throw CallEndedEarly(call: found, expected: state) }
        return found
    }

    /// Waits until an action of this kind is pending: the app has neither fulfilled nor failed it.
    ///
    /// - Throws: As ``call(_:reaches:)``.
    public func call(_ call: RingwakeKit.Call.ID, hasPending kind: RingwakeKit.CallAction.Kind) async throws {
        let found = try await wait { daemon -> SimulatedCall? in
            let key = daemon.key(call)
            guard let found = daemon.coordinator.call(key).map({ SimulatedCall(of: $0, rings: 0) }) else { return nil }
            return found.state == .ended || found.pendingActions.contains(kind) ? found : nil
        }
        guard found.pendingActions.contains(kind) else { throw CallEndedEarly(call: found, expected: nil) }
    }

    /// Waits until no action of a call is pending.
    public func callHasNothingPending(_ call: RingwakeKit.Call.ID) async throws {
        _ = try await wait { daemon in
            daemon.coordinator.call(daemon.key(call)).flatMap { $0.machine.owed.isEmpty ? true : nil }
        }
    }

    /// Waits until a client is connected as a handler; returns immediately if one is.
    public func connected() async throws {
        _ = try await wait { daemon in daemon.service.handlers.connections.isEmpty ? nil : true }
    }

    /// Waits for the next start of a handler, which the daemon makes for a call when none is connected.
    public func nextStart() async throws -> SimulatedStart {
        try await wait { daemon in daemon.starts.isEmpty ? nil : daemon.starts.removeFirst() }
    }

    /// Ends the process of a started handler.
    public func exited(_ start: SimulatedStart, status: Int32 = 0) {
        with { $0.exited(start.wake, .exited(status)) }
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

/// A call ended while a test waited for something else.
public struct CallEndedEarly: Error, Sendable, CustomStringConvertible {
    /// The call at its end.
    public let call: SimulatedCall
    /// The state that the test waited for; nil: an action.
    public let expected: CallState?

    public var description: String {
        let reason = call.endReason?.rawValue ?? "no reason"
        let detail = call.endDetail.map { ", \($0)" } ?? ""
        return "call '\(call.id)' ended (\(reason)\(detail)) before it was \(expected?.rawValue ?? "asked for that")"
    }
}
