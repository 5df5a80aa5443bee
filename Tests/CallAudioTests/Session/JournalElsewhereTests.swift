import Glibc
import Logging
import RingwakeCore
import RunLoop
import Testing

@testable import CallAudio

/// Programs on one server whose journals lie in different folders.
@Suite(.serialized, .withAudioServers)
struct JournalElsewhereTests {
    /// A program whose journal lies where no other one looks by itself.
    private final class Program {
        let engine: AudioEngine
        let runLoop: RunLoop
        private let answers: Box<AudioEngineReport>
        private var number: UInt64 = 0

        init(_ bench: SessionBench, journal: String) throws {
            runLoop = bench.server.runLoop
            let box = Box<AudioEngineReport>()
            engine = try JournalElsewhereTests.parts(bench).makeEngine(journal: journal) { box.put($0) }
            engine.start()
            let isConnected = runLoop.drive { box.values.contains { if case .connected = $0 { true } else { false } } }
            try #require(isConnected, "\(box.values)")
            answers = box
        }

        func apply(_ plan: AudioPlan) throws {
            number += 1
            engine.handle(.apply(number: number, plan, resumes: false))
            let isAnswered = runLoop.drive {
                answers.values.contains { if case .applied(number, _) = $0 { true } else { false } }
            }
            try #require(isAnswered, "\(answers.values)")
        }

        func duck() throws {
            try apply(
                AudioPlan(sessions: [
                    AudioPlan.Session(
                        id: AudioSessionID(number: 16), client: AudioClient(name: "program"),
                        configuration: .standard, others: .duck)
                ]))
        }
    }

    private static func parts(_ bench: SessionBench) -> AudioEngineParts {
        AudioEngineParts(
            environment: bench.environment, address: bench.server.address, runLoop: bench.server.runLoop,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, version: "0")
    }

    @Test(
        "both duck: never twice, and all is back in the end, whoever is done first",
        arguments: AudioServerKind.allCases, [true, false])
    func bothDuck(kind: AudioServerKind, isFirstDoneFirst: Bool) throws {
        let bench = try SessionBench(kind)
        defer { bench.stop() }
        let before = try bench.music()
        var programs = [
            try Program(bench, journal: bench.server.folder + "/a/effects.json"),
            try Program(bench, journal: bench.server.folder + "/b/effects.json"),
        ]
        try programs[0].duck()
        let ducked = try bench.volumes()
        #expect(ducked != before)
        try programs[1].duck()
        #expect(try bench.volumes() == ducked)
        if !isFirstDoneFirst { programs.reverse() }
        for program in programs { try program.apply(AudioPlan()) }
        #expect(try bench.volumes() == before)
        #expect(programs.map(\.engine.isClean) == [true, true])
    }

    /// What comes of it when nobody has any journal any more: a process that another test is just starting may have a lock
    /// for a moment longer.
    private func mended(_ parts: AudioEngineParts) throws -> JournalRestore.Result {
        let box = Box<JournalRestore.Result>()
        repeat {
            let count = box.values.count
            _ = JournalRestore(parts.knownJournals, parts) { box.put($0) }
            try #require(parts.runLoop.drive { box.values.count > count })
        } while box.values.last?.inUse.isEmpty == false && box.values.count < 1_000
        return try #require(box.values.last)
    }

    @Test("what a killed program holds is known to others, and found by those who mend")
    func killed() throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let before = try bench.music()
        let journal = bench.server.folder + "/elsewhere/effects.json"
        // It goes without a word, and its entry stays.
        try Program(bench, journal: journal).duck()
        let ducked = try bench.volumes()
        #expect(ducked != before)
        let session = try bench.session()
        try session.setCategory(.playback, options: [.duckOthers])
        _ = try bench.set(session, active: true).get()
        #expect(try bench.volumes() == ducked)
        #expect(Self.parts(bench).knownJournals.contains(EffectJournals.place(of: journal)))
        _ = try bench.set(session, active: false).get()
        #expect(try bench.volumes() == before)
        let parts = Self.parts(bench)
        #expect(try mended(parts).isComplete)
        #expect(access(journal, F_OK) != 0)
        #expect(!parts.knownJournals.contains(EffectJournals.place(of: journal)))
        #expect(try bench.volumes() == before)
    }
}
