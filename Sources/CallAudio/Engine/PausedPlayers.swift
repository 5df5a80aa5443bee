internal import RingwakeCore
internal import RunLoop

/// The players that are paused for a plan: what they are asked, and what they answer. Nothing else waits for a player.
///
///     a plan interrupts others --> find --> journal --> order to pause --> watch: paused, started again, gone
///     it ends --> resume --> those that play, or are silent, are watched: once they are paused, they are resumed
///
/// Invariants:
/// - A player is in the ledger before it is ordered to pause, and until the order is seen undone: it was resumed, or it
///   is gone, or somebody else's by now.
/// - Only a player that answers and plays on for ``lateTime`` counts as one that never pauses.
struct PausedPlayers {
    typealias Effect = AudioEngineStateMachine.Effect

    /// How long after its plan a player may take to carry out the order.
    private static let lateTime = Duration.seconds(5)
    /// The same at the end of this program, which waits for 2 s at most.
    private static let lateTimeAtEnd = Duration.milliseconds(1_500)

    private enum Question: Equatable {
        case find
        case pause([MediaPlayer])
        /// `isLast`: one that still plays doesn't pause any more.
        case resume(isLast: Bool)
    }

    private(set) var effects: [Effect] = []
    private(set) var deadline: BootClock.Instant?
    /// What is asked, one after the other.
    private var asked: Question?
    private var next: Question?
    /// The plan that they were paused for is over.
    private var isOver = false
    private var lateTime = Self.lateTime
    /// Processes of players that somebody started again since.
    private(set) var startedByUser: Set<Int32> = []

    mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    /// Another plan, which silences nobody: streams of a player that the user has started have no exception.
    mutating func forget() { startedByUser = [] }

    // MARK: - Plans

    /// A plan that silences others is in force.
    mutating func begin() {
        (isOver, deadline) = (false, nil)
        ask(.find)
    }

    /// No plan silences others any more.
    mutating func end(_ ledger: inout EffectLedger, resumes: Bool, isAtEnd: Bool) {
        (isOver, deadline) = (true, nil)
        if next == .find { next = nil }
        guard !ledger.players.isEmpty else { return }
        guard resumes else {
            ledger.removePlayers { _ in true }
            effects += [.watchPlayers([], paused: []), .write(ledger)]
            return
        }
        lateTime = isAtEnd ? Self.lateTimeAtEnd : Self.lateTime
        ask(.resume(isLast: false), ledger)
    }

    private mutating func ask(_ question: Question, _ ledger: EffectLedger = EffectLedger()) {
        guard asked == nil else {
            next = question
            return
        }
        asked = question
        switch question {
        case .find: effects.append(.findPlayers)
        case .pause(let players):
            // Watched first, so that no change is missed.
            effects += [watching(ledger), .pausePlayers(players, ledger)]
        // What they do now is our doing.
        case .resume: effects += [.watchPlayers([], paused: []), .resumePlayers(ledger.players)]
        }
    }

    private func watching(_ ledger: EffectLedger) -> Effect {
        .watchPlayers(ledger.players, paused: ledger.pausedPlayers)
    }

    // MARK: - Answers

    /// - Parameter isOthers: whether a player may be paused.
    mutating func answered(
        _ answer: AudioEngineStateMachine.PlayersAnswer, _ ledger: inout EffectLedger, boot: String?,
        at now: BootClock.Instant, isOthers: (MediaPlayer) -> Bool
    ) {
        let question = asked
        asked = nil
        switch (question, answer) {
        case (.find, .found(let found)):
            let players = found.filter { !ledger.players.contains($0) && isOthers($0) }
            guard !isOver, !players.isEmpty, next == nil else { break }
            ledger.addPlayers(players, boot: boot)
            return ask(.pause(players), ledger)
        case (.pause(let players), .ordered(let ordered)):
            ledger.removePlayers { players.contains($0) && !ordered.contains($0) }
            effects += [watching(ledger), .write(ledger)]
        case (.resume(let isLast), .resumed(let answers)):
            let late = isLast ? [] : answers.playing.filter { !ledger.pausedPlayers.contains($0) }
            ledger.removePlayers { !answers.silent.contains($0) && !late.contains($0) }
            // If another plan has begun meanwhile, they are resumed after that.
            deadline = late.isEmpty || !isOver ? nil : deadline ?? now.advanced(by: lateTime)
            effects += [watching(ledger), .write(ledger)]
        default: break
        }
        guard let next else { return }
        self.next = nil
        ask(next, ledger)
    }

    /// - Returns: Whether streams may sound now, or again.
    mutating func changed(
        _ player: MediaPlayer, _ change: MediaPlayerChange, _ ledger: inout EffectLedger, interrupts: Bool
    ) -> Bool {
        guard ledger.players.contains(player) else { return false }
        switch change {
        case .paused:
            ledger.notePaused(player)
            if isOver { ask(.resume(isLast: false), ledger) }
        case .playing:
            // From now on it belongs to the user.
            ledger.removePlayers { $0 == player }
            if interrupts, let process = player.process { startedByUser.insert(process) }
        case .gone: ledger.removePlayers { $0 == player }
        }
        if asked == nil { effects.append(watching(ledger)) }
        effects.append(.write(ledger))
        return interrupts
    }

    mutating func deadlineReached(_ ledger: EffectLedger, at now: BootClock.Instant) {
        guard let deadline, deadline <= now else { return }
        self.deadline = nil
        ask(.resume(isLast: true), ledger)
    }
}
