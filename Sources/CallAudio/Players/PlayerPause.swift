internal import DBus

/// Orders one player to pause that plays and can be paused.
///
/// A command that was sent may be carried out at any later time, even if the player hangs now. So it counts from the
/// moment that it is sent, unless the player refuses it.
///
/// The closures of its step keep it alive.
final class PlayerPause {
    private let player: MediaPlayer
    private let owner: String
    private let step: PlayerStep
    /// What has to be known before the command is sent.
    private var checks: Set<Check> = [.status, .ability]

    private enum Check {
        case status, ability
    }

    init(_ player: MediaPlayer, _ owner: String, _ step: PlayerStep) {
        self.player = player
        self.owner = owner
        self.step = step
    }

    func begin() {
        step.askStatus(owner) { [self] in $0 == .playing ? passed(.status) : step.end(player.name) }
        step.askPlayer(owner, "CanPause") { [self] in $0?.flag == true ? passed(.ability) : step.end(player.name) }
    }

    private func passed(_ check: Check) {
        checks.remove(check)
        guard checks.isEmpty else { return }
        step.note(player.name, player)
        step.command(owner, "Pause") { [self] isDone in
            if !isDone { step.drop(player.name) }
            step.end(player.name)
        }
    }
}
