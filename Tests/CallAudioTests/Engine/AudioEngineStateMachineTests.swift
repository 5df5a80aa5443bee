@testable import CallAudio
import RingwakeCore
import RunLoop
import Testing

/// The machine alone: no loop, no server, no disk, and a clock that moves when the test says so.
@Suite struct AudioEngineStateMachineTests {
    private typealias Machine = AudioEngineStateMachine
    private let start = BootClock.Instant(nanoseconds: 1_000_000_000)

    private func machine(_ ledger: EffectLedger = EffectLedger()) -> Machine {
        Machine(
            ledger,
            EngineSurroundings(
                tree: ProcessTree { _ in nil }, boot: "boot", others: { [] }, stored: { nil }))
    }

    private func image() -> AudioServerImage {
        var image = AudioServerImage.notebook()
        image.play(5, process: 300, kind: "music")
        return image
    }

    /// A machine with a plan that ducks, up to the question whether the journal holds it.
    private func ducking() throws -> Machine {
        var machine = machine()
        _ = machine.handle(.start, at: start)
        _ = machine.handle(.server(.connected(image())), at: start)
        _ = machine.handle(.request(.apply(number: 1, try .media(), resumes: true)), at: start)
        let effects = machine.handle(.answered(.stored([]), nil), at: start)
        try #require(effects.contains { if case .cover = $0 { true } else { false } })
        return machine
    }

    private func commands(_ effects: [Machine.Effect]) -> [AudioServerCommand] {
        effects.flatMap { effect -> [AudioServerCommand] in
            if case .perform(let commands) = effect { return commands }
            return []
        }
    }

    private func reports(_ effects: [Machine.Effect]) -> [AudioEngineReport] {
        effects.compactMap { effect -> AudioEngineReport? in
            if case .report(let report) = effect { return report }
            return nil
        }
    }

    private func isFinished(_ effects: [Machine.Effect]) -> Bool {
        effects.contains { if case .finish = $0 { true } else { false } }
    }

    @Test("Commands leave once the disk holds their records")
    func coveredFirst() throws {
        var machine = try ducking()
        #expect(machine.ledger.count == 1)
        let effects = machine.handle(.covered(true), at: start)
        #expect(commands(effects).count == 1)
    }

    @Test("A journal that cannot be written means that nothing is changed")
    func notCovered() throws {
        var machine = try ducking()
        let effects = machine.handle(.covered(false), at: start)
        #expect(commands(effects).isEmpty)
        #expect(machine.ledger.records.isEmpty)
    }

    @Test("A loss answers what is open, and keeps the ledger alone: the next server is restored first")
    func lost() throws {
        var machine = try ducking()
        _ = machine.handle(.covered(true), at: start)
        let effects = machine.handle(.server(.lost("killed")), at: start)
        #expect(reports(effects).contains { if case .refused(number: 1, _) = $0 { true } else { false } })
        #expect(reports(effects).last == .lost("killed"))
        #expect(machine.image == nil && machine.nextDeadline == nil)
        #expect(machine.ledger.count == 1)
        // The stream has what was set, as the same server tells.
        var ducked = image()
        ducked.playing[5]?.volume = DuckingGain.ducked([65_536, 65_536])
        let restoring = machine.handle(.server(.connected(ducked)), at: start)
        #expect(!reports(restoring).contains { if case .connected = $0 { true } else { false } })
        let undone = machine.handle(.covered(true), at: start)
        #expect(commands(undone) == [.set(.playingVolume(5), .volume([65_536, 65_536]))])
    }

    @Test("Without a server a plan is refused, an empty one is applied, and closing ends at once")
    func absent() throws {
        var machine = machine()
        _ = machine.handle(.start, at: start)
        let refused = machine.handle(.request(.apply(number: 1, try .media(), resumes: true)), at: start)
        #expect(reports(refused).contains { if case .refused(number: 1, _) = $0 { true } else { false } })
        let applied = machine.handle(.request(.apply(number: 2, AudioPlan(), resumes: true)), at: start)
        #expect(reports(applied) == [.applied(number: 2, AudioApplied(route: AudioRoute()))])
        #expect(isFinished(machine.handle(.close, at: start)))
        #expect(machine.handle(.server(.connected(image())), at: start).isEmpty)
    }

    @Test("Closing ends when everything is undone, and at its timeout at the latest")
    func closingTimeout() throws {
        var machine = try ducking()
        _ = machine.handle(.covered(true), at: start)
        #expect(!isFinished(machine.handle(.close, at: start)))
        let end = start.advanced(by: AudioEngineStateMachine.closingTime)
        #expect(machine.nextDeadline == end)
        #expect(isFinished(machine.handle(.deadlineReached, at: end)))
        #expect(machine.nextDeadline == nil)
    }
}
