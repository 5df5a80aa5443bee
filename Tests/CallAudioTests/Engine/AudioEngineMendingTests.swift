@testable import CallAudio
import FileSystem
import RingwakeCore
import RunLoop
import Testing

/// Deaths of the program, of the server and of both; and players, who live elsewhere.
struct AudioEngineMendingTests {
    private let kind = "sink-input-by-application-name:music"

    private func stored(_ volume: [UInt32] = [60_000, 60_000]) -> StoredStream {
        StoredStream(name: kind, volume: volume, channels: [1, 2], isMuted: false, device: nil)
    }

    private func rig() throws -> EngineRig {
        let rig = try EngineRig()
        rig.server.change {
            $0.stored[kind] = stored()
            $0.image.play(5, process: 300, volume: [60_000, 60_000], kind: kind)
            $0.image.sources[2]?.isMuted = true
        }
        return rig
    }

    @Test("The program is killed: the next one puts everything back before it says that it is connected")
    func crash() throws {
        let rig = try rig()
        let before = rig.server.model
        try rig.apply(try .call(others: .duck))
        #expect(rig.server.model != before)
        try rig.restart()
        try rig.start()
        #expect(rig.reports.first == .ready(version: "1", mended: 2))
        #expect(rig.server.model == before)
        rig.settle()
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test("What the user changed after the crash stays")
    func changedMeanwhile() throws {
        let rig = try rig()
        try rig.apply(try .call(others: .duck))
        try rig.restart()
        rig.server.change { _ = $0.perform(.setPlayingVolume(stream: 5, [1_000, 1_000])) }
        try rig.start()
        #expect(rig.server.model.image.playing[5]?.volume == [1_000, 1_000])
        #expect(rig.server.model.stored[kind]?.volume == [1_000, 1_000])
        #expect(rig.server.model.image.sources[2]?.isMuted == true)
    }

    @Test("A stream that began with the ducked level while nobody looked is as loud as its kind was")
    func youngStream() throws {
        let rig = try rig()
        try rig.apply(try .call(others: .duck))
        try rig.restart()
        rig.server.change {
            $0.image.playing[5] = nil
            $0.begin(6, process: 300, kind: kind)
        }
        try rig.start()
        #expect(rig.server.model.image.playing[6]?.volume == [60_000, 60_000])
        #expect(rig.server.model.stored[kind] == stored())
    }

    @Test(
        "A stream that begins at the very end with what was set for its kind is as loud as the kind was",
        arguments: [false, true])
    func lateStream(isSeenAtOnce: Bool) throws {
        let rig = try rig()
        try rig.apply(try .media())
        rig.server.isHeld = true
        let number = rig.send(AudioPlan())
        // It is there before the volumes are back, and shown before or after that.
        var late: AudioServerImage.Stream?
        rig.server.change { model in
            model.begin(6, process: 300, kind: kind)
            if !isSeenAtOnce { late = model.image.playing.removeValue(forKey: 6) }
        }
        rig.server.release()
        #expect(rig.drive { rig.answer(to: number) != nil })
        if let late { rig.server.change { $0.image.playing[6] = late } }
        #expect(rig.drive { rig.server.model.image.playing[6]?.volume == [60_000, 60_000] })
        rig.settle()
        #expect(rig.server.model.stored[kind] == stored())
        #expect(rig.engine.isClean)
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test(
        "The server is killed: what it stored is mended before anything else, and no plan is in force",
        arguments: [false, true])
    func serverCrash(isReborn: Bool) throws {
        let rig = try rig()
        try rig.apply(try .call(others: .duck))
        rig.clear()
        let waiting = rig.send(try .media())
        rig.server.crash()
        rig.settle()
        #expect(rig.reports.contains(.lost("killed")))
        guard case .failure(let error) = rig.answer(to: waiting) else {
            Issue.record("the request is not answered")
            return
        }
        #expect(error.code == .mediaServicesFailed)
        let refused = rig.send(try .media())
        rig.settle()
        guard case .failure = rig.answer(to: refused) else {
            Issue.record("a plan without a server is not refused")
            return
        }
        if isReborn { rig.server.change { $0.begin(1, process: 300, kind: kind) } }
        rig.server.clear()
        rig.server.connected()
        #expect(rig.drive { rig.reports.contains { if case .connected = $0 { true } else { false } } })
        rig.settle()
        #expect(rig.server.model.stored[kind] == stored())
        #expect(rig.server.model.image.sources[2]?.isMuted == true)
        if isReborn { #expect(rig.server.model.image.playing[1]?.volume == [60_000, 60_000]) }
        #expect(!FileSystem.exists(rig.journalPath))
        #expect(rig.engine.isClean)
        try rig.apply(try .call(others: .duck))
        try rig.apply(AudioPlan())
        #expect(rig.server.model.stored[kind] == stored())
    }

    @Test("Both are killed, and an index of before names another stream now: that one is left alone")
    func bothCrash() throws {
        let rig = try rig()
        try rig.apply(try .call(others: .duck))
        let ducked = try #require(rig.server.model.image.playing[5]?.volume)
        try rig.restart()
        rig.server.crash()
        rig.server.model.image.play(5, process: 999, volume: ducked, kind: "other")
        try rig.start()
        #expect(rig.server.model.image.playing[5]?.volume == ducked)
        #expect(rig.server.model.stored[kind] == stored())
    }

    @Test("At any of the first commands: the server dies, comes back, and all is as before", arguments: 0..<12)
    func crashAtAnyTurn(turns: Int) throws {
        let rig = try rig()
        _ = rig.send(try .call(others: .duck))
        for _ in 0..<turns { rig.runLoop.runOnce(timeout: .zero) }
        rig.server.crash()
        rig.server.connected()
        #expect(rig.drive { rig.engine.isClean })
        rig.settle()
        #expect(rig.server.model.stored[kind] == stored())
        #expect(rig.server.model.image.sources[2]?.isMuted == true)
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test("No server when it starts: it says so, keeps the journal, and mends when there is one")
    func serverLater() throws {
        let rig = try rig()
        try rig.apply(try .call(others: .duck))
        try rig.restart()
        rig.server.onEvent = nil
        rig.engine.start()
        rig.server.onEvent?(.unavailable("no socket"))
        #expect(rig.drive { rig.reports.contains { if case .connected = $0 { true } else { false } } })
        #expect(Array(rig.reports.prefix(2)) == [.ready(version: "1", mended: 0), .unavailable("no socket")])
        #expect(rig.server.model.image.playing[5]?.volume == [60_000, 60_000])
    }

    @Test("A damaged journal is told, and the engine works")
    func damaged() throws {
        let rig = try EngineRig()
        try FileSystem.replace(rig.journalPath, with: Array("nonsense".utf8), mode: 0o600)
        try rig.restart()
        try rig.start()
        #expect(rig.reports.first == .ready(version: "1", mended: 0))
        #expect(rig.problems.count == 1)
        try rig.apply(try .call())
        try rig.close()
        #expect(!FileSystem.exists(rig.journalPath))
    }

    // MARK: - Players

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
        #expect(rig.server.commands == [.mutePlaying(stream: 6, true)])
        try rig.apply(AudioPlan())
        #expect(rig.players.resumed == [player])
        #expect(!FileSystem.exists(rig.journalPath))
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
        #expect(rig.server.commands == [.mutePlaying(stream: 5, true)])
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
                try FileSystem.replace(rig.journalPath, with: EffectJournal.bytes(of: ledger), mode: 0o600)
            }
            try rig.restart()
            try rig.start()
            #expect(rig.players.resumed == (isSameBoot ? [player] : []))
            #expect(rig.engine.isClean)
        }
    }
}
