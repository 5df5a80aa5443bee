internal import ControlProtocol
internal import RunLoop

/// Whether the daemon can read protected data (of the class `complete`): what the app has stored with it, and what it
/// shows of calls. A device that is locked still takes pushes, and rings. Later versions may have more: a `switch` needs an
/// `@unknown default`.
@nonexhaustive
public enum ProtectedDataAvailability: Hashable, Sendable {
    /// The device is unlocked, or nothing is protected.
    ///
    /// A change to it is UIKit's `applicationProtectedDataDidBecomeAvailable(_:)`.
    case available
    /// The device is being locked: store what has to be stored, and read what will be needed, before this time.
    ///
    /// UIKit's `applicationProtectedDataWillBecomeUnavailable(_:)`.
    case willBecomeUnavailable(at: ContinuousClock.Instant)
    /// The device is locked. Reading protected data fails with an error that names its class.
    case unavailable

    /// Nil for a state that this version doesn't know.
    init?(_ event: EventMessage.ProtectedData, now: ContinuousClock.Instant) {
        switch EventMessage.ProtectedData.State(rawValue: event.state) {
        case .available: self = .available
        case .willBecomeUnavailable:
            self = .willBecomeUnavailable(at: now.advanced(by: .milliseconds(max(0, event.deadlineMs ?? 0))))
        case .unavailable: self = .unavailable
        case nil: return nil
        }
    }
}

extension RingwakeClient {
    /// Whether the daemon can read protected data now: UIKit's `UIApplication.isProtectedDataAvailable`.
    ///
    /// True until the client has connected; while it isn't connected, what the daemon said last.
    public var protectedDataAvailable: Bool { state.protectedData.value != .unavailable }

    /// The current state, and each change. A slow reader gets only the newest. The stream ends with the client, which
    /// lives as long as the stream is read.
    public var protectedDataUpdates: AsyncStream<ProtectedDataAvailability> {
        state.protectedData.stream(holding: self) { notifyNewObserversOfProtectedData() }
    }

    /// Calls `body` with the current state and with each change, on the client's thread. It must not block.
    @discardableResult
    public func observeProtectedData(
        _ body: @escaping @Sendable (ProtectedDataAvailability) -> Void
    ) -> Observation {
        let number = state.protectedData.add(.init(body: body))
        if number != nil { notifyNewObserversOfProtectedData() }
        return Observation { [state] in if let number { state.protectedData.remove(number) } }
    }

    private func notifyNewObserversOfProtectedData() {
        queue.post { [state] _ in state.protectedData.notifyNew() }
    }
}
