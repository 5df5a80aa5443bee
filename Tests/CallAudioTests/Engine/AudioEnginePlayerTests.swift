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

    @Test("A player is paused rather than muted, and plays again when the call is over")
    func paused() throws {
        let rig = try EngineRig()
        rig.players.playingNow = [player]
        rig.server.change {
            $0.image.play(5, process: 303)
            $0.image.play(6, process: 300)
        }
        try rig.apply(try .call())
        #expect(rig.players.playingNow.isEmpty)
        #expect(rig.server.commands == [.set(.playingMute(6), .muted(true))])
        try rig.apply(AudioPlan())
        #expect(rig.players.resumed == [player])
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test("What a paused player plays on for long is muted, what ends in time is not; both sound again afterwards")
    func secondTab() throws {
        let rig = try rig()
        try rig.apply(try .call())
        #expect(rig.server.commands.isEmpty)
        rig.server.change { $0.image.playing[6]?.isCorked = true }
        #expect(rig.drive { !rig.server.commands.isEmpty })
        rig.settle()
        #expect(rig.server.commands == [.set(.playingMute(5), .muted(true))])
        try rig.apply(AudioPlan())
        #expect(rig.server.commands == [.set(.playingMute(5), .muted(true)), .set(.playingMute(5), .muted(false))])
        #expect(rig.players.resumed == [player])
        #expect(rig.players.watched.isEmpty)
    }

    @Test(
        "A player that the user plays during the call is heard, and left as it is afterwards", arguments: [false, true])
    func usersHand(isMuted: Bool) throws {
        let rig = try rig()
        try rig.apply(try .call())
        #expect(rig.players.watched == [player])
        if isMuted { #expect(rig.drive { rig.server.commands.count == 2 }) }
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

    @Test("A player that did not say in time that it is paused is muted at once, and heard when the user plays it")
    func latePlayer() throws {
        let rig = try rig()
        rig.players.late = ["p"]
        try rig.apply(try .call())
        #expect(rig.server.commands.count == 2)
        var late = player
        late.process = nil
        #expect(rig.players.watched == [late])
        rig.players.userPlays(late)
        #expect(rig.drive { rig.server.model.image.playing.values.allSatisfy { !$0.isMuted } })
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
        #expect((applied.undone, applied.left) == (1, 1))
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
