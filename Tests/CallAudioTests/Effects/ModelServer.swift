@testable import CallAudio
import RingwakeCore

/// An audio server as a value: it does what commands say, and stores what it gave its streams as PulseAudio does.
struct ModelServer: Hashable {
    var image: AudioServerImage
    var stored: [String: StoredStream] = [:]
    /// Profiles that it refuses, after which the card is off.
    var refusedProfiles: Set<String> = []
    /// A Bluetooth headset's devices do not come with its profile.
    var areDevicesLate = false
    /// Streams that it does not move.
    var fixedStreams: Set<UInt32> = []

    init(_ image: AudioServerImage) { self.image = image }

    mutating func perform(_ command: AudioServerCommand) -> AudioServerFailure? {
        switch command {
        case .set(let target, let value):
            guard image.has(target) else { return .absent }
            return set(target, value)
        case .store(let entry): stored[entry.name] = entry
        case .forget(let name): stored[name] = nil
        }
        return nil
    }

    private mutating func set(_ target: EffectTarget, _ value: EffectValue) -> AudioServerFailure? {
        switch (target, value) {
        case (.playingVolume(let index), .volume(let volume)):
            image.playing[index]?.volume = volume
            store(image.playing[index])
        case (.playingMute(let index), .muted(let isMuted)):
            image.playing[index]?.isMuted = isMuted
            store(image.playing[index])
        case (.recordingMute(let index), .muted(let isMuted)):
            image.recording[index]?.isMuted = isMuted
            store(image.recording[index])
        case (.playingDevice(let index), .name(let name)):
            guard let sink = image.sink(named: name) else { return .absent }
            if fixedStreams.contains(index) { return AudioServerFailure(.refused, "it does not move") }
            image.playing[index]?.device = sink.index
            store(image.playing[index]) { [image] in $0.device = name == image.defaultSink ? nil : name }
        case (.recordingDevice(let index), .name(let name)):
            guard let source = image.source(named: name) else { return .absent }
            image.recording[index]?.device = source.index
            store(image.recording[index]) { [image] in $0.device = name == image.defaultSource ? nil : name }
        case (.profile(let card), .name(let profile)): return setProfile(card, profile)
        case (.sinkPort(let name), .name(let port)): return change(sink: name) { $0.activePort = port }
        case (.sourcePort(let name), .name(let port)): return change(source: name) { $0.activePort = port }
        case (.sourceMute(let name), .muted(let isMuted)): return change(source: name) { $0.isMuted = isMuted }
        case (.defaultSink, .name(let name)): image.defaultSink = name
        case (.defaultSource, .name(let name)): image.defaultSource = name
        default: return AudioServerFailure(.refused, "no such value")
        }
        return nil
    }

    /// A stream of a kind begins as the server has stored it.
    mutating func begin(_ index: UInt32, process: Int32, kind: String, volume: [UInt32] = [65_536, 65_536]) {
        let entry = stored[kind]
        image.play(
            index, process: process, sink: entry?.device.flatMap { image.sink(named: $0)?.index } ?? 1,
            volume: entry.map { $0.volume.isEmpty ? volume : $0.volume } ?? volume, kind: kind,
            isMuted: entry?.isMuted ?? false)
    }

    /// All that the stream has; of its device, whether it was moved to one that is not the default.
    private mutating func store(
        _ stream: AudioServerImage.Stream?, _ change: (inout StoredStream) -> Void = { _ in }
    ) {
        guard !image.isPipeWire, let stream, let kind = stream.restoreID else { return }
        var entry =
            stored[kind] ?? StoredStream(name: kind, volume: [], channels: [], isMuted: false, device: nil)
        (entry.volume, entry.channels, entry.isMuted) = (stream.volume, stream.channels, stream.isMuted)
        change(&entry)
        stored[kind] = entry
    }

    private mutating func setProfile(_ name: String, _ profile: String) -> AudioServerFailure? {
        guard let card = image.card(named: name) else { return .absent }
        let isRefused = refusedProfiles.contains(profile)
        image.cards[card.index]?.activeProfile = isRefused ? "off" : profile
        if card.isBluetoothCard {
            image.addBluetoothDevices(isRefused || (areDevicesLate && profile != "a2dp-sink") ? "off" : profile)
            rescue()
        }
        return isRefused ? AudioServerFailure(.refused, "no such profile now") : nil
    }

    /// Streams whose device went are put on the default one.
    private mutating func rescue() {
        let fallback = image.sink(named: "speakers")?.index
        if let name = image.defaultSink, image.sink(named: name) == nil { image.defaultSink = "speakers" }
        for stream in image.playing.values where stream.device.map({ image.sinks[$0] == nil }) ?? false {
            image.playing[stream.index]?.device = fallback
        }
        for stream in image.recording.values where stream.device.map({ image.sources[$0] == nil }) ?? false {
            image.recording[stream.index]?.device = 2
        }
    }

    private mutating func change(
        sink name: String, _ body: (inout AudioServerImage.Device) -> Void
    ) -> AudioServerFailure? {
        guard var device = image.sink(named: name) else { return .absent }
        body(&device)
        image.sinks[device.index] = device
        return nil
    }

    private mutating func change(
        source name: String, _ body: (inout AudioServerImage.Device) -> Void
    ) -> AudioServerFailure? {
        guard var device = image.source(named: name) else { return .absent }
        body(&device)
        image.sources[device.index] = device
        return nil
    }
}

extension AudioServerFailure {
    static let absent = AudioServerFailure(.notFound, "there is none")
}
