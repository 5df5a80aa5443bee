@testable import CallAudio
import RingwakeCore
import Testing

/// What is told of the effects is what the ledger has, from the first change until the last one is seen undone.
struct ReportedEffectsTests {
    private func rig() throws -> EngineRig {
        let rig = try EngineRig()
        rig.server.change { $0.image.play(5, process: 300, kind: "music") }
        return rig
    }

    private func told(_ rig: EngineRig) -> [AudioEngineReport] {
        rig.allReports.filter { if case .effects = $0 { true } else { false } }
    }

    @Test("Effects are told before the plan is answered; they are restoring from the end of the plan until undone")
    func inForce() throws {
        let rig = try rig()
        try rig.apply(try .call())
        #expect(told(rig) == [.effects(count: 1, isRestoring: false)])
        let answer = rig.allReports.firstIndex { if case .applied = $0 { true } else { false } }
        #expect(try #require(rig.allReports.firstIndex(of: told(rig)[0])) < (try #require(answer)))
        rig.clear()
        rig.server.isHeld = true
        _ = rig.send(AudioPlan())
        rig.settle()
        #expect(told(rig) == [.effects(count: 1, isRestoring: true)], "the server hangs")
        rig.server.release()
        #expect(rig.drive { told(rig).last == .effects(count: 0, isRestoring: false) })
    }

    @Test("Also where the plan waits behind what the server does not answer, and not if another plan follows")
    func queued() throws {
        let rig = try rig()
        try rig.apply(try .call())
        rig.clear()
        rig.server.isHeld = true
        rig.server.change { $0.image.play(6, process: 300) }
        rig.settle()
        #expect(told(rig) == [.effects(count: 2, isRestoring: false)])
        _ = rig.send(AudioPlan())
        rig.settle()
        #expect(told(rig).last == .effects(count: 2, isRestoring: true))
        _ = rig.send(try .media())
        rig.settle()
        #expect(told(rig).last == .effects(count: 2, isRestoring: false))
        rig.server.release()
    }

    @Test("What an earlier program left is told before there is a server; so is what a lost server leaves")
    func withoutServer() throws {
        let rig = try rig()
        try rig.apply(try .call())
        rig.clear()
        rig.server.crash()
        #expect(rig.drive { told(rig) == [.effects(count: 1, isRestoring: true)] })
        try rig.restart()
        rig.server.isHeld = true
        rig.engine.start()
        rig.settle()
        #expect(rig.allReports.first == .effects(count: 1, isRestoring: true))
    }

    @Test("A stored value that is to be mended counts, and so does a player that has not paused yet")
    func others() throws {
        let rig = try rig()
        let player = MediaPlayer(name: "p", owner: ":1.1", process: 303, track: nil)
        rig.players.playingNow = [player]
        rig.players.late = ["p"]
        try rig.apply(try .call())
        #expect(rig.drive { told(rig).last == .effects(count: 2, isRestoring: false) })
        rig.server.isHeld = true
        rig.server.change { $0.image.playing[5] = nil }
        _ = rig.send(AudioPlan())
        rig.settle()
        #expect(told(rig).last == .effects(count: 2, isRestoring: true))
        rig.server.release()
        #expect(rig.drive { told(rig).last == .effects(count: 1, isRestoring: true) })
        rig.players.pauses(player)
        #expect(rig.drive { told(rig).last == .effects(count: 0, isRestoring: false) })
    }
}
