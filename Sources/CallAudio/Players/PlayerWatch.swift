internal import DBus

/// Sees whether a player that was paused plays again, by whosever hand.
final class PlayerWatch {
    private let owner: String
    private let bus: DBusConnection
    private let onPlaying: () -> Void
    /// One that has not said yet that it is paused may still do so.
    private var isPaused: Bool
    private var subscription: DBusSubscription?
    private var call: DBusCall?

    /// - Parameters:
    ///   - isPaused: It said so.
    ///   - onPlaying: Called once, from the loop.
    init(_ owner: String, isPaused: Bool, bus: DBusConnection, onPlaying: @escaping () -> Void) {
        self.owner = owner
        self.isPaused = isPaused
        self.bus = bus
        self.onPlaying = onPlaying
        subscription = bus.subscribe(
            MPRIS.changes(of: owner),
            onReady: { [weak self] result in
                // It may have played again before anybody listened.
                if case .success = result { self?.ask() }
            }, handler: { [weak self] in self?.changed($0) })
    }

    deinit { cancel() }

    /// Nothing is told after this. Idempotent.
    func cancel() {
        subscription?.cancel()
        subscription = nil
        call?.cancel()
        call = nil
    }

    private func ask() {
        guard subscription != nil else { return }
        call?.cancel()
        call = bus.call(
            destination: owner, path: MPRIS.path, interface: MPRIS.properties, member: "Get",
            arguments: [.string(MPRIS.player), .string("PlaybackStatus")], allowAutoStart: false,
            timeout: MPRISPlayers.stepTime
        ) { [weak self] result in
            guard case .success(let values) = result else { return }
            self?.take(values.first?.unwrapped.text)
        }
    }

    private func changed(_ signal: DBusSignal) {
        switch MPRIS.StatusChange(signal) {
        case .status(let status): take(status)
        case .invalidated: ask()
        case .none: break
        }
    }

    private func take(_ status: String?) {
        guard subscription != nil else { return }
        switch status.flatMap(MPRIS.Status.init) {
        case .paused: isPaused = true
        case .playing where isPaused:
            cancel()
            onPlaying()
        default: break
        }
    }
}
