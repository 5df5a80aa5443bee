@testable import CallAudio
import FileSystem
import RingwakeCore
import RunLoop
import Testing

/// From requests to answers, on a model of a server.
struct AudioEngineTests {
    @Test("It is ready, then connected, and does nothing to the server by itself")
    func ready() throws {
        let rig = try EngineRig()
        rig.settle()
        #expect(rig.reports.first == .ready(version: "1", mended: 0))
        guard case .connected(_, let route) = rig.reports.dropFirst().first else {
            Issue.record("\(rig.reports)")
            return
        }
        #expect(route.outputs.map(\.device) == ["speakers"])
        #expect(route.inputs.map(\.device) == ["microphone"])
        #expect(rig.server.commands.isEmpty)
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test(
        "What the user changed just before the end, and the mirror does not show yet, stays", arguments: [false, true])
    func unseenHand(isClosed: Bool) throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300, kind: "music") }
        try rig.apply(try .call(others: .duck))
        _ = rig.server.model.perform(.set(.playingVolume(5), .volume([40_000, 40_000])))
        if isClosed { try rig.close() } else { try rig.apply(AudioPlan()) }
        #expect(rig.server.model.image.playing[5]?.volume == [40_000, 40_000])
        #expect(rig.engine.isClean)
    }

    @Test("A call in one batch after the journal; its answer counts; afterwards all is back and the journal is gone")
    func call() throws {
        let rig = try EngineRig()
        rig.server.change {
            $0.image.play(5, process: 300, kind: "music")
            $0.image.sources[2]?.isMuted = true
            $0.stored["music"] = StoredStream(
                name: "music", volume: [9, 9], channels: [1, 2], isMuted: false, device: nil)
        }
        let before = rig.server.model
        let applied = try rig.apply(try .call())
        #expect(rig.server.batches == 1)
        #expect(
            rig.server.commands == [
                .set(.playingMute(5), .muted(true)), .set(.sourceMute("microphone"), .muted(false)),
            ])
        #expect((applied.made, applied.undone, applied.left) == (2, 0, 0))
        #expect(applied.microseconds > 0)
        #expect(rig.ledgerOnDisk().records.count == 2)
        let back = try rig.apply(AudioPlan())
        #expect((back.made, back.undone, back.left) == (0, 2, 0))
        #expect(rig.server.model == before)
        #expect(!FileSystem.exists(rig.journalPath))
        #expect(rig.engine.isClean)
    }

    @Test("What is prepared is on the disk, changes nothing, and needs no second write; another call does not get it")
    func prepare() throws {
        let rig = try EngineRig()
        let player = MediaPlayer(name: "p", owner: ":1.1", process: 303, track: nil)
        rig.players.playingNow = [player]
        rig.server.change { $0.image.play(5, process: 300, kind: "music") }
        rig.settle()
        rig.engine.handle(.prepare(try .call()))
        rig.settle()
        #expect(rig.server.commands.isEmpty)
        let prepared = try FileSystem.read(rig.journalPath, maximumSize: 1 << 20)
        #expect(rig.ledgerOnDisk().records.keys.map { $0 } == [.playingMute(5)])
        var atCommand: [UInt8] = []
        let check = rig.server.onPerform
        rig.server.onPerform = { commands in
            atCommand = (try? FileSystem.read(rig.journalPath, maximumSize: 1 << 20)) ?? []
            check?(commands)
        }
        try rig.apply(try .call())
        #expect(atCommand == prepared)
        try rig.apply(AudioPlan())
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test("What the server stores is not asked for again while it is known, and is remembered as it was read")
    func storedIsKnown() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300, kind: "music") }
        rig.settle()
        let entry = StoredStream(name: "music", volume: [30_000], channels: [0], isMuted: false, device: nil)
        rig.server.knownStored = [entry]
        let before = rig.server.questions
        try rig.apply(try .call())
        #expect(rig.server.questions == before)
        #expect(rig.ledgerOnDisk().kinds["music"]?.before == entry)
        rig.server.knownStored = nil
        try rig.apply(AudioPlan())
        #expect(rig.server.questions > before, "it is read before anything is undone")
        #expect(rig.engine.isClean)
    }

    @Test("A preparation that nothing comes of leaves nothing")
    func preparedInVain() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300) }
        rig.engine.handle(.prepare(try .call()))
        rig.settle()
        #expect(FileSystem.exists(rig.journalPath))
        try rig.close()
        #expect(rig.server.commands.isEmpty)
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test("Plans that come while another is under way: the last one counts, each is answered, in order")
    func superseded() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300) }
        rig.server.isHeld = true
        let numbers = [rig.send(try .call()), rig.send(try .media()), rig.send(AudioPlan())]
        rig.settle()
        #expect(numbers.allSatisfy { rig.answer(to: $0) == nil })
        rig.server.release()
        #expect(rig.drive { rig.answer(to: numbers[2]) != nil })
        let answered = rig.reports.compactMap { if case .applied(let number, _) = $0 { number } else { nil } }
        #expect(answered == numbers)
        #expect(rig.server.commands == [.set(.playingMute(5), .muted(true)), .set(.playingMute(5), .muted(false))])
    }

    @Test("A stream that begins during a call is treated as the others are, without a request")
    func newStream() throws {
        let rig = try EngineRig()
        try rig.apply(try .call())
        rig.server.change { $0.image.play(5, process: 300) }
        #expect(rig.drive { rig.server.model.image.playing[5]?.isMuted == true })
        try rig.apply(AudioPlan())
        #expect(rig.server.model.image.playing[5]?.isMuted == false)
    }

    @Test("Without a microphone a recording is refused, with the code of its category, and the former plan is in force")
    func refused() throws {
        var image = AudioServerImage.notebook()
        image.sources[2] = nil
        image.play(5, process: 300)
        let rig = try EngineRig(image)
        try rig.apply(try .media())
        let ducked = rig.server.model.image
        for (category, code) in [
            (AudioCategory.playAndRecord, AudioSessionError.Code.resourceNotAvailable),
            (.record, .cannotStartRecording),
        ] {
            let number = rig.send(try .media(.third, category: category))
            #expect(rig.drive { rig.answer(to: number) != nil })
            rig.settle()
            let error = AudioSessionError(code, "the audio server has no microphone: connect one")
            #expect(rig.answer(to: number) == .failure(error))
            #expect(rig.server.model.image == ducked)
        }
        try rig.apply(AudioPlan())
        #expect(rig.server.model.image == image)
    }

    @Test("Sessions that leave while their streams run are busy, and silent until they end or are active again")
    func busy() throws {
        let rig = try EngineRig()
        rig.server.change {
            $0.image.play(5, process: 200)
            $0.image.record(6, process: 200)
            $0.image.play(7, process: 200, isCorked: true)
        }
        try rig.apply(try .media(others: .leave))
        let left = try rig.apply(AudioPlan())
        #expect(left.busy == [.other])
        #expect(rig.server.model.image.playing[5]?.isMuted == true)
        #expect(rig.server.model.image.recording[6]?.isMuted == true)
        #expect(rig.server.model.image.playing[7]?.isMuted == false)
        try rig.apply(try .media(others: .leave))
        #expect(rig.server.model.image.playing[5]?.isMuted == false)
        try rig.apply(AudioPlan())
        rig.server.change { $0.image.playing[5] = nil }
        rig.server.change { $0.image.recording[6] = nil }
        #expect(rig.drive { rig.engine.isClean })
        rig.settle()
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test("The answer does not wait for the disk to hear that all is undone")
    func answerFirst() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300) }
        try rig.apply(try .call())
        var wasThere: Bool?
        rig.onReport = { report in
            if case .applied = report { wasThere = FileSystem.exists(rig.journalPath) }
        }
        try rig.apply(AudioPlan())
        #expect(wasThere == true)
        #expect(!FileSystem.exists(rig.journalPath))
        rig.onReport = nil
    }

    @Test("Closing undoes everything, ends the connections and tells nothing more")
    func closing() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300, kind: "music") }
        let before = rig.server.model
        try rig.apply(try .call())
        try rig.close()
        #expect(rig.server.model == before)
        #expect(rig.server.isClosed && rig.players.isClosed)
        #expect(!FileSystem.exists(rig.journalPath))
        rig.clear()
        _ = rig.send(try .call())
        rig.settle()
        #expect(rig.reports.isEmpty)
    }

    @Test("A server that does not answer does not hold up the end: the journal keeps what is left")
    func closingWithoutAnswer() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300) }
        try rig.apply(try .call())
        rig.server.isHeld = true
        let begin = BootClock.now()
        try rig.close()
        #expect(begin.duration(to: BootClock.now()) >= AudioEngineStateMachine.closingTime)
        #expect(!rig.engine.isClean)
        #expect(rig.ledgerOnDisk().records.keys.map { $0 } == [.playingMute(5)])
    }

    @Test("At the end nothing is waited for that may never come: a stream without a device keeps what it has")
    func closingInPatience() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300) }
        try rig.apply(try .media())
        rig.server.change { $0.image.playing[5]?.device = nil }
        let number = rig.send(AudioPlan())
        rig.settle()
        #expect(rig.answer(to: number) == nil)
        try rig.close()
        #expect(!FileSystem.exists(rig.journalPath))
    }

    @Test("Nothing that changes nothing wakes anybody: no report, no command, no write")
    func quiet() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300) }
        try rig.apply(try .call())
        rig.clear()
        rig.server.clear()
        rig.server.change { $0.image.playing[5]?.name = "another title" }
        rig.settleDevices()
        #expect(rig.reports.isEmpty)
        #expect(rig.server.commands.isEmpty)
    }

    @Test("A command that a stream did not live to see is no failure; a refusal is told and everything else done")
    func failures() throws {
        let rig = try EngineRig()
        rig.server.change {
            $0.image.addSink(9, "room")
            $0.image.play(5, process: 300)
            $0.image.play(6, process: 100, sink: 9)
            $0.image.play(7, process: 300)
            $0.fixedStreams = [6]
        }
        rig.server.isHeld = true
        let number = rig.send(try .call())
        rig.server.change { $0.image.playing[5] = nil }
        rig.server.release()
        #expect(rig.drive { rig.answer(to: number) != nil })
        _ = try #require(rig.answer(to: number)).get()
        #expect(rig.engine.ledger.count == 1)
        #expect(rig.server.model.image.playing[7]?.isMuted == true)
        #expect(rig.problems.count == 1)
        #expect(rig.problems.first?.contains("playingDevice(6)") == true)
    }
}
