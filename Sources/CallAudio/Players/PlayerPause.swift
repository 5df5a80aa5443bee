internal import DBus

/// Pauses one player that plays and can be paused, and waits for its confirmation.
///
/// The closures of its step keep it alive.
final class PlayerPause {
    private let player: MediaPlayer
    private let owner: String
    private let step: PlayerStep
    /// What has to be known before the command is sent.
    private var checks: Set<Check> = [.signals, .status, .ability]
    private var isOrdered = false

    private enum Check {
        case signals, status, ability
    }

    init(_ player: MediaPlayer, _ owner: String, _ step: PlayerStep) {
        self.player = player
        self.owner = owner
        self.step = step
    }

    func begin() {
        step.subscribe(
            MPRIS.changes(of: owner),
            onReady: { [self] result in
                if case .success = result { passed(.signals) } else { end() }
            }, handler: { [self] in changed($0) })
        step.askStatus(owner) { [self] in $0 == .playing ? passed(.status) : end() }
        step.askPlayer(owner, "CanPause") { [self] in $0?.flag == true ? passed(.ability) : end() }
    }

    private func end() {
        step.end(player.name)
    }

    private func passed(_ check: Check) {
        checks.remove(check)
        guard checks.isEmpty, !isOrdered else { return }
        isOrdered = true
        step.command(owner, "Pause") { [self] isDone in
            guard isDone else { return end() }
            // It may pause after the timeout, and then has to be resumed too.
            var late = player
            late.process = nil
            step.note(player.name, late)
            look()
            // For a player that reports no changes.
            step.after(MPRISPlayers.secondLook) { [self] in look() }
        }
    }

    private func look() {
        step.askStatus(owner) { [self] in
            if $0 == .paused { paused() }
        }
    }

    private func changed(_ signal: DBusSignal) {
        guard isOrdered else { return }
        switch MPRIS.StatusChange(signal) {
        case .status(MPRIS.Status.paused.rawValue): paused()
        case .invalidated: look()
        case .status, .none: break
        }
    }

    private func paused() {
        step.note(player.name, player)
        end()
    }
}
