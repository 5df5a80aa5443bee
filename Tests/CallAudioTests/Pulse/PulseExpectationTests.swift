import RingwakeCore
import Testing

@testable import CallAudio

/// When a change counts as done that was acknowledged.
struct PulseExpectationTests {
    private static let stream = AudioServerImage.Stream(
        index: 7, name: "music", device: 1, volume: [65_536, 65_536], isVolumeWritable: true, isMuted: false,
        isCorked: false, properties: [:])

    private static func image(_ change: (inout AudioServerImage.Stream) -> Void = { _ in }) -> AudioServerImage {
        var image = AudioServerImage(
            cookie: 1, server: AudioServerDescription(name: "", version: "", location: ""), isPipeWire: true)
        for (index, name) in [(UInt32(1), "speakers"), (2, "headset"), (3, "third")] {
            image.sinks[index] = AudioServerImage.Device(
                index: index, name: name, description: name, ports: [], isMuted: false, properties: [:])
        }
        var stream = stream
        change(&stream)
        image.playing[7] = stream
        return image
    }

    private func isMet(_ command: AudioServerCommand, _ now: AudioServerImage) -> Bool {
        PulseExpectation.all(of: command, number: 0, before: Self.image()).allSatisfy { $0.isMet(now) }
    }

    @Test("A volume: as asked, rounded, or another by somebody else, but not the old one")
    func volume() {
        let command = AudioServerCommand.set(.playingVolume(7), .volume([13_107]))
        #expect(!isMet(command, Self.image()))
        #expect(isMet(command, Self.image { $0.volume = [13_107, 13_107] }))
        #expect(isMet(command, Self.image { $0.volume = [13_106, 13_107] }))
        #expect(isMet(.set(.playingVolume(7), .volume([65_536])), Self.image()))
    }

    @Test("A move: on the way it is nowhere, and that does not count")
    func move() {
        let command = AudioServerCommand.set(.playingDevice(7), .name("headset"))
        #expect(!isMet(command, Self.image()))
        #expect(!isMet(command, Self.image { $0.device = nil }))
        #expect(isMet(command, Self.image { $0.device = 2 }))
        #expect(isMet(command, Self.image { $0.device = 3 }))
        #expect(isMet(.set(.playingDevice(7), .name("speakers")), Self.image()))
    }

    @Test("What is gone is waited for no longer")
    func gone() {
        var gone = Self.image()
        gone.playing = [:]
        #expect(isMet(.set(.playingMute(7), .muted(true)), gone))
        #expect(isMet(.set(.playingDevice(7), .name("headset")), gone))
        #expect(!isMet(.set(.playingMute(7), .muted(true)), Self.image()))
    }

    @Test("The default device: none at all is on the way too")
    func defaults() {
        var before = Self.image()
        before.defaultSink = "speakers"
        let expectation = PulseExpectation.all(of: .set(.defaultSink, .name("headset")), number: 0, before: before)[0]
        var now = before
        #expect(!expectation.isMet(now))
        now.defaultSink = nil
        #expect(!expectation.isMet(now))
        now.defaultSink = "headset"
        #expect(expectation.isMet(now))
        #expect(expectation.isPassing(before) == false && !expectation.isRequired)
    }

    @Test("A stream that has moved may be linked anew, and is waited for; one that is gone is not")
    func linkedAnew() {
        let move = PulseExpectation.all(
            of: .set(.playingDevice(7), .name("headset")), number: 0, before: Self.image())[0]
        var gone = Self.image()
        gone.playing = [:]
        #expect(move.isRequired && move.isPassing(Self.image { $0.device = nil }))
        #expect(!move.isPassing(Self.image { $0.device = 2 }) && !move.isPassing(gone))
        let mute = PulseExpectation.all(of: .set(.playingMute(7), .muted(true)), number: 0, before: Self.image())[0]
        #expect(!mute.isPassing(Self.image()))
    }
}
