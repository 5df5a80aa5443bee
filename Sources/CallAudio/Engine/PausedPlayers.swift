internal import RingwakeCore
internal import RunLoop

/// Processes of players whose streams aren't muted while others are silenced.
struct PausedPlayers {
    /// A stream that still plays after this time doesn't belong to the paused player: a page in another tab.
    private static let pausingTime = Duration.milliseconds(400)

    /// Players that were just paused. Their streams stop a moment later; if they were muted, they would resume muted.
    private var pausing: Set<Int32> = []
    /// Players that somebody started again since.
    private var startedByUser: Set<Int32> = []
    /// The process of each owner.
    private var processes: [String: Int32] = [:]
    private(set) var deadline: BootClock.Instant?

    var yielding: Set<Int32> { pausing.union(startedByUser) }

    mutating func found(_ players: [MediaPlayer]) {
        for player in players { processes[player.owner] = player.process }
    }

    mutating func paused(_ players: [MediaPlayer], at now: BootClock.Instant) {
        let paused = players.compactMap(\.process)
        guard !paused.isEmpty else { return }
        pausing.formUnion(paused)
        deadline = now.advanced(by: Self.pausingTime)
    }

    mutating func started(_ player: MediaPlayer) {
        if let process = processes[player.owner] { startedByUser.insert(process) }
    }

    /// - Returns: Whether the grace period of players that were just paused is over.
    mutating func expire(at now: BootClock.Instant) -> Bool {
        guard let deadline, deadline <= now else { return false }
        (self.deadline, pausing) = (nil, [])
        return true
    }
}
