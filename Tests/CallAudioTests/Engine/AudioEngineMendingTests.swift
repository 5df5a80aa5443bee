@testable import CallAudio
import FileSystem
import RingwakeCore
import RunLoop
import Testing

/// Deaths of the program, of the server and of both.
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
        rig.server.change { _ = $0.perform(.set(.playingVolume(5), .volume([1_000, 1_000]))) }
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

    @Test(
        "Both are killed, and a stream begins from what is stored while that is mended: it is as loud as its kind was",
        arguments: [0, 1, 2, 3], [false, true])
    func bornWhileMended(released: Int, isSeenAtOnce: Bool) throws {
        let rig = try rig()
        try rig.apply(try .call(others: .duck))
        try rig.restart()
        rig.server.crash()
        rig.server.isHeld = true
        rig.engine.start()
        rig.settle()
        for _ in 0..<released {
            rig.server.releaseOne()
            rig.settle()
        }
        var late: AudioServerImage.Stream?
        rig.server.change { model in
            model.begin(0, process: 300, kind: kind)
            if !isSeenAtOnce { late = model.image.playing.removeValue(forKey: 0) }
        }
        rig.server.release()
        #expect(rig.drive { rig.reports.contains { if case .connected = $0 { true } else { false } } })
        if let late { rig.server.change { $0.image.playing[0] = late } }
        #expect(rig.drive { rig.server.model.image.playing[0]?.volume == [60_000, 60_000] })
        rig.settle()
        #expect(rig.server.model.stored[kind] == stored())
        #expect(rig.engine.isClean)
        #expect(!FileSystem.exists(rig.journalPath))
        // The user's hand, right after.
        let ducked = DuckingGain.ducked([60_000, 60_000])
        rig.server.change { _ = $0.perform(.set(.playingVolume(0), .volume(ducked))) }
        rig.settle()
        #expect(rig.server.model.image.playing[0]?.volume == ducked)
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

    @Test("Before any answer to a plan: the server dies, comes back, and all is as before", arguments: 0..<4)
    func crashAtAnyAnswer(answers: Int) throws {
        let rig = try rig()
        rig.server.isHeld = true
        _ = rig.send(try .call(others: .duck))
        for _ in 0..<answers {
            rig.settle()
            rig.server.releaseOne()
        }
        rig.settle()
        rig.server.isHeld = false
        rig.server.crash()
        rig.server.connected()
        #expect(rig.drive { rig.engine.isClean })
        rig.settle()
        #expect(rig.server.model.stored[kind] == stored())
        #expect(rig.server.model.image.sources[2]?.isMuted == true)
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test(
        "Before any answer to what puts things back: the server dies, comes back, and all is as before",
        arguments: 0..<5, [false, true])
    func crashAtAnyAnswerOfTheEnd(answers: Int, hasStreamEnded: Bool) throws {
        let rig = try rig()
        try rig.apply(try .call(others: .duck))
        if hasStreamEnded { rig.server.change { $0.image.playing = [:] } }
        rig.server.isHeld = true
        _ = rig.send(AudioPlan())
        for _ in 0..<answers {
            rig.settle()
            rig.server.releaseOne()
        }
        rig.settle()
        rig.server.isHeld = false
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

    @Test(
        "What the user gave a ducked stream is what its kind has afterwards, though it ended first",
        arguments: [false, true], [false, true])
    func usersVolumeOutlivesStream(isServerKilled: Bool, hasElder: Bool) throws {
        let rig = try EngineRig(.notebook(isPipeWire: true))
        rig.server.change { $0.image.play(5, process: 300, volume: [60_000, 60_000], kind: kind) }
        try rig.apply(try .call(others: .duck))
        if hasElder {
            rig.server.change { $0.image.playing[5] = nil }
            rig.server.change { $0.image.play(6, process: 300, volume: [60_000, 60_000], kind: kind) }
            rig.settle()
        }
        rig.server.clear()
        let users = StoredStream(name: kind, volume: [20_000, 20_000], channels: [1, 2], isMuted: false, device: nil)
        rig.server.change { model in
            for index in model.image.playing.keys { model.image.playing[index]?.volume = users.volume }
            model.stored[kind] = users
        }
        rig.settle()
        if isServerKilled {
            rig.server.crash()
            rig.server.connected()
            #expect(rig.drive { rig.engine.isClean })
        } else {
            rig.server.change { $0.image.playing = [:] }
            rig.settle()
            try rig.apply(AudioPlan())
        }
        #expect(rig.server.model.stored[kind] == users)
        #expect(rig.server.commands.isEmpty)
        #expect(!FileSystem.exists(rig.journalPath))
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
}
