import FileSystem
import RingwakeCore
import Testing

@testable import CallAudio

/// A server that does not list what it stores in time, as PipeWire while streams come and go: what is told of it is true.
struct AudioEngineStoredTests {
    private let kind = "sink-input-by-application-name:music"
    private let music: [UInt32] = [60_000, 60_000]

    /// Music has been ducked and has ended so; what is stored of it is ours.
    private func rig() throws -> EngineRig {
        let rig = try EngineRig(.notebook(isPipeWire: true))
        rig.server.listsStored = false
        rig.server.change { $0.image.play(5, process: 300, volume: music, kind: kind) }
        try rig.apply(try .call(others: .duck))
        rig.server.change { $0.image.playing[5] = nil }
        rig.settle()
        rig.server.clear()
        return rig
    }

    /// With each write of what is stored a stream begins, and the one before it ends.
    private func beginStreams(_ rig: EngineRig, volume: [UInt32]) {
        var index: UInt32 = 100
        rig.server.onPerform = { commands in
            guard commands.contains(where: { if case .store = $0 { true } else { false } }) else { return }
            index += 1
            rig.server.model.image.playing[index - 1] = nil
            rig.server.model.image.play(index, process: 300, volume: volume, kind: kind)
        }
    }

    private func writes(_ rig: EngineRig) -> [StoredStream] {
        rig.server.commands.compactMap { if case .store(let entry) = $0 { entry } else { nil } }
    }

    @Test("Where streams begin with what was written, nothing is told, and it is written no more")
    func seenByStreams() throws {
        let rig = try rig()
        beginStreams(rig, volume: music)
        try rig.apply(AudioPlan())
        #expect(rig.problems.isEmpty, "\(rig.problems)")
        #expect(writes(rig).last?.volume == music)
        #expect(writes(rig).count == 2, "twice, as only what is new is passed on, and not again")
        #expect(rig.engine.isClean)
    }

    @Test("Where streams begin with what the user chose meanwhile, nothing is told")
    func usersValue() throws {
        let rig = try rig()
        beginStreams(rig, volume: [20_000, 20_000])
        try rig.apply(AudioPlan())
        #expect(rig.problems.isEmpty, "\(rig.problems)")
        #expect(rig.server.model.image.playing.values.map(\.volume) == [[20_000, 20_000]])
        #expect(rig.engine.isClean)
    }

    @Test("Where streams still begin with what we had set, that is told, and what plays is given back what it had")
    func stillOurs() throws {
        let rig = try rig()
        beginStreams(rig, volume: DuckingGain.ducked(music))
        try rig.apply(AudioPlan())
        #expect(!rig.problems.isEmpty && rig.problems.allSatisfy { $0.contains("the stored volume of \(kind)") })
        #expect(rig.server.model.image.playing.values.allSatisfy { $0.volume == music })
        #expect(rig.engine.isClean)
    }

    @Test("Where nothing shows what is stored, that is told once, and what was put between is written once")
    func nothingSeen() throws {
        let rig = try rig()
        try rig.apply(AudioPlan())
        #expect(rig.problems.count == 1, "\(rig.problems)")
        #expect(writes(rig).filter(\.isMuted).count == 1)
        #expect(rig.engine.isClean)
    }

    /// The server was killed while music was ducked, and is there again; what stores has not started yet.
    private func restartedRig() throws -> EngineRig {
        let rig = try EngineRig(.notebook(isPipeWire: true))
        rig.server.change { $0.image.play(5, process: 300, volume: music, kind: kind) }
        try rig.apply(try .call(others: .duck))
        rig.server.listsStored = false
        rig.clear()
        rig.server.crash()
        rig.server.connected()
        try #require(rig.drive { rig.reports.contains { if case .connected = $0 { true } else { false } } })
        return rig
    }

    @Test("What a restarted server doesn't take at once is written again later, and calls don't wait for it")
    func storesLate() throws {
        let rig = try restartedRig()
        #expect(rig.ledgerOnDisk().kinds[kind] != nil, "a crash now forgets nothing")
        rig.server.clear()
        try rig.apply(try .call(others: .duck))
        try rig.apply(AudioPlan())
        #expect(writes(rig).isEmpty)
        rig.server.listsStored = true
        #expect(rig.drive { !FileSystem.exists(rig.journalPath) })
        #expect(rig.server.model.stored[kind]?.volume == music)
        #expect(rig.problems.isEmpty, "\(rig.problems)")
    }

    @Test("A stream that begins shows that what stores has started")
    func streamBegins() throws {
        let rig = try restartedRig()
        rig.server.listsStored = true
        rig.server.change { $0.image.play(7, process: 300, volume: DuckingGain.ducked(music), kind: kind) }
        #expect(rig.drive { rig.engine.isClean })
        #expect(rig.server.model.image.playing[7]?.volume == music)
        #expect(rig.server.model.stored[kind]?.volume == music)
    }

    @Test("At the end there is one more try, and what is not taken stays in the journal")
    func endsBeforeItStores() throws {
        let rig = try restartedRig()
        rig.server.clear()
        try rig.close()
        #expect(!writes(rig).isEmpty)
        #expect(rig.ledgerOnDisk().kinds[kind] != nil)
    }
}
