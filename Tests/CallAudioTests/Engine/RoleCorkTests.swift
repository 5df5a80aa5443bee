@testable import CallAudio
import Glibc
import RingwakeCore
import RunLoop
import Testing

/// A server that mutes music while a phone plays, and unmutes it by itself, as PulseAudio does with `module-role-cork`.
struct RoleCorkTests {
    private static let phone: UInt32 = 4
    private static let music: UInt32 = 5

    /// Music, and a phone's stream of the call's app or of another program.
    private func image(
        isPipeWire: Bool = false, process: Int32 = AudioPlan.callProcess, role: String? = "phone", isMuted: Bool = true
    ) -> AudioServerImage {
        var image = AudioServerImage.notebook(isPipeWire: isPipeWire)
        image.play(Self.phone, process: process, properties: role.map { ["media.role": $0] } ?? [:])
        image.play(Self.music, process: 300, isMuted: isMuted, properties: ["media.role": "music"])
        return image
    }

    private func isMuted(_ rig: EngineRig) -> Bool? { rig.server.model.image.playing[Self.music]?.isMuted }

    /// In which order it is seen that the phone plays no more and that the music is unmuted.
    enum Order: CaseIterable { case together, endFirst, unmutedFirst }

    /// All in one turn of the loop: no time passes in between.
    private func release(_ rig: EngineRig, _ order: Order, _ end: (inout ModelServer) -> Void) {
        let unmute: (inout ModelServer) -> Void = { $0.image.playing[Self.music]?.isMuted = false }
        switch order {
        case .together:
            rig.server.change {
                end(&$0)
                unmute(&$0)
            }
        case .endFirst:
            rig.server.change(end)
            rig.server.change(unmute)
        case .unmutedFirst:
            rig.server.change(unmute)
            rig.server.change(end)
        }
        rig.settle()
    }

    @Test(
        "Music that the server unmutes with the phone's end is muted for the call, and heard after it",
        arguments: Order.allCases)
    func end(order: Order) throws {
        // Of the call's app, whatever it is called, or of another program that is left alone.
        for (process, role) in [(AudioPlan.callProcess, nil), (AudioPlan.callProcess, "phone"), (400, "phone")] {
            let rig = try EngineRig(image(process: process, role: role))
            var plan = try AudioPlan.call()
            plan.exempt = [400]
            try rig.apply(plan)
            #expect(!rig.server.commands.contains(.set(.playingMute(Self.music), .muted(true))))
            release(rig, order) { $0.image.playing[Self.phone] = nil }
            #expect(isMuted(rig) == true)
            try rig.apply(AudioPlan())
            #expect(isMuted(rig) == false)
            #expect(rig.engine.isClean)
        }
    }

    @Test(
        "A phone that pauses, is muted or goes to another device does the same",
        arguments: Order.allCases)
    func silent(order: Order) throws {
        let ends: [(inout ModelServer) -> Void] = [
            { $0.image.playing[Self.phone]?.isCorked = true },
            { $0.image.playing[Self.phone]?.isMuted = true },
            { $0.image.playing[Self.phone]?.device = 9 },
        ]
        for end in ends {
            var image = image()
            image.addSink(9, "room")
            let rig = try EngineRig(image)
            try rig.apply(.call())
            release(rig, order, end)
            #expect(isMuted(rig) == true)
            try rig.apply(AudioPlan())
            #expect(isMuted(rig) == false)
        }
    }

    @Test("Music that we had muted as well is muted again", arguments: Order.allCases)
    func both(order: Order) throws {
        let rig = try EngineRig(image(isMuted: false))
        try rig.apply(.call())
        #expect(isMuted(rig) == true)
        release(rig, order) { $0.image.playing[Self.phone] = nil }
        #expect(isMuted(rig) == true)
        #expect(rig.engine.ledger[.playingMute(Self.music)]?.isTaken == false)
        try rig.apply(AudioPlan())
        #expect(isMuted(rig) == false)
    }

    @Test("Whom the user unmutes while the phone plays on, or afterwards, is heard", arguments: [true, false])
    func users(isMuted wasMuted: Bool) throws {
        let rig = try EngineRig(image(isMuted: wasMuted))
        try rig.apply(.call())
        rig.server.change { $0.image.playing[Self.music]?.isMuted = false }
        rig.settle()
        #expect(isMuted(rig) == false)
        try rig.apply(AudioPlan())
        #expect(isMuted(rig) == false)
    }

    @Test("Whom the user unmutes after the server had, and we have muted him, is heard")
    func usersLater() throws {
        let rig = try EngineRig(image())
        try rig.apply(.call())
        release(rig, .together) { $0.image.playing[Self.phone] = nil }
        #expect(isMuted(rig) == true)
        rig.server.change { $0.image.playing[Self.music]?.isMuted = false }
        rig.settle()
        #expect(isMuted(rig) == false)
    }

    @Test("PipeWire unmutes nobody by itself")
    func pipeWire() throws {
        let rig = try EngineRig(image(isPipeWire: true))
        try rig.apply(.call())
        release(rig, .together) { $0.image.playing[Self.phone] = nil }
        #expect(isMuted(rig) == false)
    }

    @Test("What comes long after the phone's end, or long before, has nothing to do with it", arguments: [true, false])
    func time(isEndFirst: Bool) {
        var cork = RoleCorkModule()
        let former = image()
        var between = former
        var last = former
        last.playing[Self.phone] = nil
        last.playing[Self.music]?.isMuted = false
        if isEndFirst {
            between.playing[Self.phone] = nil
        } else {
            between.playing[Self.music]?.isMuted = false
        }
        let now = BootClock.now()
        cork.notice(from: former, to: between, at: now) { $0.index == Self.phone }
        var late = cork
        cork.notice(from: between, to: last, at: now.advanced(by: .milliseconds(499))) { $0.index == Self.phone }
        #expect(cork.released == [.playingMute(Self.music)])
        late.notice(from: between, to: last, at: now.advanced(by: .milliseconds(501))) { $0.index == Self.phone }
        #expect(late.released.isEmpty)
        // It is over as soon as it is muted again.
        cork.notice(from: last, to: former, at: now.advanced(by: .milliseconds(499))) { $0.index == Self.phone }
        #expect(cork.released.isEmpty)
    }
}

/// The same with the module itself.
@Suite(.serialized, .withAudioServers) struct RoleCorkServerTests {
    @Test(
        "Music that does not pause by itself is silent in a call when the phone's stream ends or moves, and heard after it",
        arguments: [true, false])
    func deaf(isMoved: Bool) throws {
        let rig = try ServerRig(.pulseAudio)
        defer { rig.stop() }
        try rig.host.pactl("load-module", "module-role-cork")
        let music = try rig.host.play("media.role=music")
        let stream = try rig.eye.playing(music)
        // It would pause when it is asked to, and it does not hear that.
        music.send(SIGSTOP)
        let phone = try rig.host.play("media.role=phone")
        _ = try rig.eye.playing(phone)
        let corked = try rig.stream(music) { $0.isMuted }
        #expect(corked.isMuted && !corked.isCorked)
        let target = EffectTarget.playingMute(stream.index)
        #expect(rig.host.runLoop.drive { rig.engine.image?.value(of: target) == .muted(true) })
        if isMoved { rig.engine.handle(.chooseOutput("headset")) }
        try rig.apply(.call(processes: [phone.pid]))
        if !isMoved {
            #expect(rig.engine.ledger[target] == nil)
            phone.stop()
        }
        try #require(rig.host.runLoop.drive { rig.engine.ledger[target] != nil })
        #expect(try rig.stream(music) { $0.isMuted }.isMuted)
        // Another one of the phone's, and its end.
        let again = try rig.host.play("media.role=phone")
        let other = try rig.eye.playing(again)
        again.stop()
        _ = try rig.eye.wait { $0.playing[other.index] == nil }
        try rig.apply(.call(others: .interrupt, processes: [phone.pid, again.pid]))
        #expect(rig.engine.ledger[target]?.isTaken == false)
        #expect(try rig.stream(music) { $0.isMuted }.isMuted)
        try rig.apply(AudioPlan())
        #expect(try rig.stream(music) { !$0.isMuted }.isMuted == false)
    }

    @Test("Whom the user unmutes beside a phone's stream is heard, also with the module")
    func users() throws {
        let rig = try ServerRig(.pulseAudio)
        defer { rig.stop() }
        try rig.host.pactl("load-module", "module-role-cork")
        let music = try rig.host.play("media.role=music")
        let stream = try rig.eye.playing(music)
        music.send(SIGSTOP)
        let phone = try rig.host.play("media.role=phone")
        _ = try rig.stream(music) { $0.isMuted }
        let target = EffectTarget.playingMute(stream.index)
        #expect(rig.host.runLoop.drive { rig.engine.image?.value(of: target) == .muted(true) })
        try rig.apply(.call(processes: [phone.pid]))
        try rig.host.pactl("set-sink-input-mute", "\(stream.index)", "0")
        try #require(rig.host.runLoop.drive { rig.engine.image?.value(of: target) == .muted(false) })
        try rig.apply(.call(others: .interrupt, processes: [phone.pid, 1_000_000]))
        #expect(try rig.stream(music) { !$0.isMuted }.isMuted == false)
        #expect(rig.engine.ledger[target] == nil)
    }
}
