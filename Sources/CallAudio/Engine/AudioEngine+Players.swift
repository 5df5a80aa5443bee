internal import RingwakeCore
internal import RunLoop

/// Which players are left alone while others are silent.
struct PlayerHand {
    /// Of players that were paused just now: what they play ends a moment later.
    var pausing: Set<Int32> = []
    /// Of players that somebody had play again since.
    var users: Set<Int32> = []
    /// Of the owners of players.
    var processes: [String: Int32] = [:]
    var timer: Timer?

    var yielding: Set<Int32> { pausing.union(users) }
}

/// Players are paused before anything is muted, and play again when they are as they were left.
extension AudioEngine {
    /// What plays still so long after its player said that it is paused is something else: a page in another tab.
    private static var pausingTime: Duration { .milliseconds(400) }

    func asksPlayers(_ work: EngineWork) -> Bool {
        guard case .apply = work.kind, work.refusal == nil, !work.havePlayersBeenAsked else { return false }
        return plan.interrupts && !work.former.interrupts
    }

    /// The plan that players are to be paused for has not been given up meanwhile.
    private var asksPlayersStill: Bool { plan.interrupts && work != nil }

    /// Those that play are written down, and then paused.
    func pausePlayers() {
        ask { engine, done in
            engine.players.playing { found in done { engine.pause(found) } }
        }
    }

    private func pause(_ found: [MediaPlayer]) {
        guard asksPlayersStill else { return }
        let ours = Set(plan.sessions.flatMap(\.client.processes)).union(plan.exempt)
        let others = found.filter { player in
            !ledger.players.contains(player) && !(player.process.map { tree.isOne($0, of: ours) } ?? false)
        }
        guard !others.isEmpty else { return }
        let earlier = ledger.players
        for player in others { playerHand.processes[player.owner] = player.process }
        ledger.players += others
        ledger.boot = EffectLedger.presentBoot
        guard journal.covers(ledger) || isWritten(ledger) else {
            ledger.players = earlier
            return
        }
        ask { engine, done in
            engine.players.pause(others) { paused in
                done {
                    engine.ledger.players.removeAll { others.contains($0) }
                    engine.ledger.players += paused
                    engine.work?.made += paused.count
                    engine.players.watch(engine.ledger.players)
                    engine.leaveAlone(paused)
                }
            }
        }
    }

    // MARK: - Afterwards

    /// What these play is not muted yet: it is better that it ends by itself, as nobody would hear it play again else.
    private func leaveAlone(_ paused: [MediaPlayer]) {
        let processes = Set(paused.compactMap(\.process))
        guard !processes.isEmpty else { return }
        playerHand.pausing.formUnion(processes)
        playerHand.timer.map(runLoop.cancel)
        let deadline = runLoop.refreshNow().advanced(by: Self.pausingTime)
        playerHand.timer = runLoop.schedule(at: deadline, tolerance: .milliseconds(50)) { [weak self] in
            guard let self else { return }
            (playerHand.timer, playerHand.pausing) = (nil, [])
            if image != nil { keepUp() }
        }
    }

    /// Somebody had a player play that was paused: it is theirs from then on, and heard.
    func playerPlays(_ player: MediaPlayer) {
        guard let index = ledger.players.firstIndex(of: player) else { return }
        ledger.players.remove(at: index)
        players.watch(ledger.players)
        if let process = playerHand.processes[player.owner], plan.interrupts { playerHand.users.insert(process) }
        // After a crash too.
        writeJournal(ledger)
        if image != nil { keepUp() }
    }

    func endPlayerHand() {
        playerHand.timer.map(runLoop.cancel)
        playerHand = PlayerHand()
    }
}
