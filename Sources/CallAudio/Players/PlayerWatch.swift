internal import DBus

/// Watches what a player does that was ordered to pause.
final class PlayerWatch {
    private let owner: String
    private let bus: DBusConnection
    private let onChange: (MediaPlayerChange) -> Void
    /// A player that has not confirmed the pause may still do so.
    private var isPaused: Bool
    private var subscription: DBusSubscription?
    private var presence: DBusSubscription?
    private var call: DBusCall?

    /// - Parameters:
    ///   - isPaused: whether it has confirmed the pause.
    ///   - onChange: Called from the loop; `playing` and `gone` are the last.
    init(_ owner: String, isPaused: Bool, bus: DBusConnection, onChange: @escaping (MediaPlayerChange) -> Void) {
        self.owner = owner
        self.isPaused = isPaused
        self.bus = bus
        self.onChange = onChange
        subscription = bus.subscribe(
            MPRIS.changes(of: owner),
            onReady: { [weak self] result in
                // It may have started again before the subscription.
                if case .success = result { self?.ask() }
            }, handler: { [weak self] in self?.changed($0) })
        presence = bus.watchName(owner) { [weak self] in if $0 == nil { self?.end(.gone) } }
    }

    deinit { cancel() }

    /// Ends the watch; no call follows. Idempotent.
    func cancel() {
        subscription?.cancel()
        subscription = nil
        presence?.cancel()
        presence = nil
        call?.cancel()
        call = nil
    }

    private func end(_ change: MediaPlayerChange) {
        guard subscription != nil else { return }
        cancel()
        onChange(change)
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
        case .paused where !isPaused:
            isPaused = true
            onChange(.paused)
        case .playing where isPaused: end(.playing)
        default: break
        }
    }
}
