@testable import CallAudio
import FileSystem
import RingwakeCore
import RunLoop
import Testing

/// Players, who live elsewhere: they are paused, and play again when nobody else has touched them.
struct AudioEnginePlayerTests {
    private func rig() throws -> EngineRig {
        let rig = try EngineRig()
        rig.players.playingNow = [player]
        rig.server.change {
            $0.image.play(5, process: 303)
            $0.image.play(6, process: 303)
        }
        return rig
    }

    private let player = MediaPlayer(name: "p", owner: ":1.1", process: 303, track: nil)

    private var mutes: [AudioServerCommand] { [5, 6].map { .set(.playingMute($0), .muted(true)) } }

    @Test("All is muted at once, and players are paused; what a paused one has stopped is unmuted")
    func paused() throws {
        let rig = try rig()
        try rig.apply(try .call())
        #expect(rig.server.commands == mutes)
        #expect(rig.players.playingNow.isEmpty)
        #expect(rig.ledgerOnDisk().pausedPlayers == [player])
        #expect(rig.server.commands == mutes, "it still sounds")
        rig.server.change { $0.image.playing[6]?.isCorked = true }
        #expect(rig.drive { rig.server.commands == mutes + [.set(.playingMute(6), .muted(false))] })
        try rig.apply(AudioPlan())
        #expect(rig.server.model.image.playing.values.allSatisfy { !$0.isMuted })
        #expect(rig.drive { rig.players.resumed == [player] })
        #expect(rig.drive { !FileSystem.exists(rig.journalPath) })
        #expect(rig.players.watched.isEmpty)
    }

    @Test("No player holds up a call, nor its end: not when it is looked for, nor when it is paused, nor resumed")
    func hanging() throws {
        let rig = try rig()
        rig.players.isHeld = true
        try rig.apply(try .call())
        #expect(rig.server.commands == mutes)
        try rig.apply(AudioPlan())
        rig.players.answer()
        rig.settle()
        #expect(rig.players.playingNow == [player], "the call is over")
        rig.players.isHeld = true
        try rig.apply(try .call())
        rig.players.answer()
        #expect(rig.drive { rig.ledgerOnDisk().players == [player] })
        rig.players.isHeld = true
        try rig.apply(AudioPlan())
        try rig.apply(try .call())
        rig.players.answer()
        #expect(rig.drive { rig.players.resumed == [player] && rig.players.playingNow.isEmpty })
    }

    @Test(
        "A player that the user plays during the call is heard, and left as it is afterwards", arguments: [false, true])
    func usersHand(isMuted: Bool) throws {
        let rig = try rig()
        try rig.apply(try .call())
        #expect(rig.players.watched == [player])
        if !isMuted {
            rig.server.change { for stream in [5, 6] as [UInt32] { $0.image.playing[stream]?.isCorked = true } }
            #expect(rig.drive { rig.server.commands.count == 4 })
        }
        rig.players.userPlays(player)
        #expect(rig.drive { rig.ledgerOnDisk().players.isEmpty })
        #expect(rig.drive { rig.server.model.image.playing.values.allSatisfy { !$0.isMuted } })
        rig.server.change { $0.image.play(7, process: 303) }
        try rig.apply(try .call())
        #expect(rig.server.model.image.playing.values.allSatisfy { !$0.isMuted })
        // The user pauses it too.
        rig.players.playingNow = []
        try rig.apply(AudioPlan())
        #expect(rig.players.resumed.isEmpty)
        #expect(rig.engine.isClean)
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test("A player that pauses only after the call is resumed; until then the journal has it", arguments: [0, 1])
    func latePlayer(silent: Int) throws {
        let rig = try rig()
        rig.players.late = ["p"]
        try rig.apply(try .call())
        #expect(rig.ledgerOnDisk().players == [player])
        if silent == 1 { rig.players.silent = ["p"] }
        try rig.apply(AudioPlan())
        rig.settle()
        #expect(rig.players.resumed.isEmpty)
        #expect(rig.players.watched == [player])
        #expect(rig.ledgerOnDisk().players == [player])
        rig.players.silent = []
        rig.players.pauses(player)
        #expect(rig.drive { rig.players.resumed == [player] })
        #expect(rig.drive { rig.engine.isClean && !FileSystem.exists(rig.journalPath) })
    }

    @Test("A plan that follows at once on one that leaves players paused: the journal has its effects before it")
    func journalAfterPlayers() throws {
        let rig = try rig()
        try rig.apply(try .call())
        #expect(rig.drive { rig.ledgerOnDisk().pausedPlayers == [player] })
        rig.server.isHeld = true
        let numbers = [rig.send(AudioPlan(), resumes: false), rig.send(try .call())]
        rig.server.release()
        // The rig looks at the journal before each command.
        #expect(rig.drive { rig.reports.count { if case .applied(numbers[1], _) = $0 { true } else { false } } == 1 })
        #expect(rig.ledgerOnDisk().players.isEmpty)
    }

    @Test("One that is late, and another call begins while it is asked: nothing is resumed in that call")
    func callMeanwhile() {
        var (players, ledger) = (PausedPlayers(), EffectLedger())
        let now = BootClock.now()
        func answer(_ answer: AudioEngineStateMachine.PlayersAnswer) {
            players.answered(answer, &ledger, boot: nil, at: now) { _ in true }
        }
        players.begin()
        answer(.found([player]))
        answer(.ordered([player]))
        players.end(&ledger, resumes: true, isAtEnd: false)
        players.begin()
        answer(.resumed(MediaPlayerAnswers(playing: [player])))
        #expect(ledger.players == [player] && players.deadline == nil)
    }

    @Test("A player that pauses after this program was killed is resumed by the next one")
    func lateAfterCrash() throws {
        let rig = try rig()
        rig.players.late = ["p"]
        try rig.apply(try .call())
        try rig.restart()
        try rig.start()
        #expect(rig.players.resumed.isEmpty)
        rig.players.pauses(player)
        #expect(rig.drive { rig.players.resumed == [player] })
        #expect(rig.drive { rig.engine.isClean })
    }

    @Test("At the end a player that pauses late is waited for; one that is gone is not")
    func lateAtEnd() throws {
        for isGone in [false, true] {
            let rig = try rig()
            rig.players.late = ["p"]
            try rig.apply(try .call())
            var isClosed = false
            rig.engine.close { isClosed = true }
            rig.settle()
            #expect(!isClosed)
            if isGone { rig.players.leaves(player) } else { rig.players.pauses(player) }
            #expect(rig.drive { isClosed })
            #expect(rig.players.resumed == (isGone ? [] : [player]))
            #expect(!FileSystem.exists(rig.journalPath))
        }
    }

    @Test("A player that never answers stays in the journal, and the end does not wait for it for ever")
    func neverAnswers() throws {
        let rig = try rig()
        rig.players.late = ["p"]
        try rig.apply(try .call())
        rig.players.silent = ["p"]
        try rig.close()
        #expect(rig.ledgerOnDisk().players == [player])
        #expect(rig.problems.contains { $0.contains("1 effects") })
    }

    @Test("Without notification players stay paused; mutes come back all the same")
    func staysPaused() throws {
        let rig = try EngineRig()
        rig.players.playingNow = [player]
        rig.server.change { $0.image.play(6, process: 300) }
        try rig.apply(try .call())
        try rig.apply(AudioPlan(), resumes: false)
        #expect(rig.players.resumed.isEmpty)
        #expect(rig.server.model.image.playing[6]?.isMuted == false)
        #expect(rig.engine.isClean)
    }

    @Test("A player that does not pause is muted; one of the session itself plays on; one that is gone is not counted")
    func stubborn() throws {
        let rig = try EngineRig()
        let own = MediaPlayer(name: "own", owner: ":1.2", process: 100, track: nil)
        let third = MediaPlayer(name: "third", owner: ":1.3", process: 304, track: nil)
        rig.players.playingNow = [player, own, third]
        rig.players.stubborn = ["p"]
        rig.players.gone = ["third"]
        rig.server.change { $0.image.play(5, process: 303) }
        try rig.apply(try .call())
        #expect(rig.server.commands == [.set(.playingMute(5), .muted(true))])
        let applied = try rig.apply(AudioPlan())
        #expect(rig.players.resumed.isEmpty)
        #expect((applied.undone, applied.left) == (1, 0))
    }

    @Test("After a crash players play again that were paused in this boot; of another boot none is")
    func playersAfterCrash() throws {
        for isSameBoot in [true, false] {
            let rig = try EngineRig()
            rig.players.playingNow = [player]
            try rig.apply(try .call())
            if !isSameBoot {
                var ledger = rig.ledgerOnDisk()
                ledger.boot = "another"
                try FileSystem.replace(rig.journalPath, with: EffectJournalFile.bytes(of: ledger), mode: 0o600)
            }
            try rig.restart()
            try rig.start()
            #expect(rig.players.resumed == (isSameBoot ? [player] : []))
            #expect(rig.engine.isClean)
        }
    }
}
