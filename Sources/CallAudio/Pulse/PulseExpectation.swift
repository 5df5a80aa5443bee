/// What a command is to bring about in the image.
///
/// PulseAudio does what it acknowledges; PipeWire acknowledges first, and does it a little later or not at all.
struct PulseExpectation {
    /// What it is about: a later command about the same takes its place.
    enum Subject: Hashable {
        case playingVolume(UInt32), playingMute(UInt32), playingDevice(UInt32)
        case recordingMute(UInt32), recordingDevice(UInt32)
        case profile(String), profileDevices(String), sinkPort(String), sourcePort(String), sourceMute(String)
        case defaultSink, defaultSource
    }

    let subject: Subject
    /// Which of the commands it belongs to.
    let command: Int
    /// That it is not seen in time makes the command a failure. Of one connection in some hundreds PipeWire 0.3 makes one
    /// that never hears of a new default, however often it asks; all others see it.
    let isRequired: Bool
    /// Whether it has come about: it is as was asked, or at least not as it was. A server may round a volume, give a
    /// profile a longer name, or have been asked for something else by somebody else meanwhile.
    let isMet: (AudioServerImage) -> Bool
    /// Whether it is on the way, also once more after it was met: PipeWire unlinks a stream that was moved again when
    /// the default changes, and links it anew.
    let isPassing: (AudioServerImage) -> Bool

    /// - Parameters:
    ///   - passing: What it may be on the way.
    ///   - value: What it is; nil where what it is about is gone.
    private init<Value: Equatable>(
        _ subject: Subject, of command: Int, before: AudioServerImage, wanted: Value, passing: Value? = nil,
        isRequired: Bool = true, _ value: @escaping (AudioServerImage) -> Value?
    ) {
        self.subject = subject
        self.command = command
        self.isRequired = isRequired
        let old = value(before)
        isMet = { image in
            let now = value(image)
            return now == wanted || now == nil || (now != old && now != passing)
        }
        isPassing = { image in passing.map { value(image) == $0 } ?? false }
    }

    /// The devices of a card's new profile. Those of a Bluetooth device's old one have to be gone; others may stay.
    private init(devicesOf card: String, _ profile: String, of command: Int, before: AudioServerImage) {
        subject = .profileDevices(card)
        self.command = command
        isRequired = false
        isPassing = { _ in false }
        let old = before.cards.values.first { $0.name == card }
        let isRenewed = old?.activeProfile != profile && old?.isBluetooth == true
        let gone = isRenewed ? before.devices(of: old) : []
        isMet = { image in
            guard let card = image.cards.values.first(where: { $0.name == card }) else { return true }
            guard let active = card.profiles.first(where: { $0.name == card.activeProfile }),
                active.name == profile || active.name != old?.activeProfile
            else { return false }
            let devices = image.devices(of: card)
            return devices.count { $0.kind == .sink } >= Int(active.sinks)
                && devices.count { $0.kind == .source } >= Int(active.sources) && devices.isDisjoint(with: gone)
        }
    }

    /// - Parameter number: Which of the batch's commands it is.
    static func all(of command: AudioServerCommand, number: Int, before: AudioServerImage) -> [PulseExpectation] {
        switch command {
        case .setPlayingVolume(let stream, let volume):
            let channels = before.playing[stream]?.volume.count ?? 1
            let wanted = volume.count == 1 ? Array(repeating: volume[0], count: channels) : volume
            return [
                PulseExpectation(.playingVolume(stream), of: number, before: before, wanted: wanted) {
                    $0.playing[stream]?.volume
                }
            ]
        case .mutePlaying(let stream, let isMuted):
            return [
                PulseExpectation(.playingMute(stream), of: number, before: before, wanted: isMuted) {
                    $0.playing[stream]?.isMuted
                }
            ]
        case .muteRecording(let stream, let isMuted):
            return [
                PulseExpectation(.recordingMute(stream), of: number, before: before, wanted: isMuted) {
                    $0.recording[stream]?.isMuted
                }
            ]
        case .movePlaying(let stream, let sink):
            return [
                PulseExpectation(.playingDevice(stream), of: number, before: before, wanted: sink, passing: "") {
                    image in
                    image.playing[stream].map { $0.device.flatMap { image.sinks[$0]?.name } ?? "" }
                }
            ]
        case .moveRecording(let stream, let source):
            return [
                PulseExpectation(.recordingDevice(stream), of: number, before: before, wanted: source, passing: "") {
                    image in
                    image.recording[stream].map { $0.device.flatMap { image.sources[$0]?.name } ?? "" }
                }
            ]
        case .setProfile(let card, let profile):
            return [
                PulseExpectation(.profile(card), of: number, before: before, wanted: profile, passing: "") { image in
                    image.cards.values.first { $0.name == card }.map { $0.activeProfile ?? "" }
                },
                PulseExpectation(devicesOf: card, profile, of: number, before: before),
            ]
        case .setSinkPort(let sink, let port):
            return [
                PulseExpectation(.sinkPort(sink), of: number, before: before, wanted: port) { image in
                    image.sinks.values.first { $0.name == sink }?.activePort
                }
            ]
        case .setSourcePort(let source, let port):
            return [
                PulseExpectation(.sourcePort(source), of: number, before: before, wanted: port) { image in
                    image.sources.values.first { $0.name == source }?.activePort
                }
            ]
        case .muteSource(let source, let isMuted):
            return [
                PulseExpectation(.sourceMute(source), of: number, before: before, wanted: isMuted) { image in
                    image.sources.values.first { $0.name == source }?.isMuted
                }
            ]
        case .setDefaultSink(let sink):
            return [
                PulseExpectation(
                    .defaultSink, of: number, before: before, wanted: sink, passing: "", isRequired: !before.isPipeWire
                ) { $0.defaultSink ?? "" }
            ]
        case .setDefaultSource(let source):
            return [
                PulseExpectation(
                    .defaultSource, of: number, before: before, wanted: source, passing: "",
                    isRequired: !before.isPipeWire
                ) { $0.defaultSource ?? "" }
            ]
        case .store, .forget: return []
        }
    }
}

extension AudioServerCommand {
    /// What has to be asked for to see what it brought about.
    func touched(_ image: AudioServerImage) -> [PulseObject] {
        switch self {
        case .setPlayingVolume(let stream, _), .mutePlaying(let stream, _), .movePlaying(let stream, _):
            [PulseObject(kind: .sinkInput, index: stream)]
        case .muteRecording(let stream, _), .moveRecording(let stream, _):
            [PulseObject(kind: .sourceOutput, index: stream)]
        case .setProfile:
            // The order matters: what a port is depends on its card.
            [.card, .sink, .source, .sinkInput, .sourceOutput, .server].map { PulseObject(kind: $0, index: nil) }
        case .setSinkPort(let sink, _):
            [PulseObject(kind: .sink, index: image.sinks.values.first { $0.name == sink }?.index)]
        case .setSourcePort(let source, _), .muteSource(let source, _):
            [PulseObject(kind: .source, index: image.sources.values.first { $0.name == source }?.index)]
        case .setDefaultSink:
            // Streams that follow the default move along.
            [PulseObject(kind: .server, index: nil), PulseObject(kind: .sinkInput, index: nil)]
        case .setDefaultSource:
            [PulseObject(kind: .server, index: nil), PulseObject(kind: .sourceOutput, index: nil)]
        case .store, .forget:
            // Streams that began with what was stored until then.
            PulseObject.streams
        }
    }
}

extension AudioServerImage {
    /// Sinks and sources of a card, without monitors.
    fileprivate func devices(of card: Card?) -> Set<PulseObject> {
        guard let card else { return [] }
        let sinks = sinks.values.filter { $0.card == card.index }
        let sources = sources.values.filter { $0.card == card.index && $0.monitors == nil }
        return Set(
            sinks.map { PulseObject(kind: .sink, index: $0.index) }
                + sources.map { PulseObject(kind: .source, index: $0.index) })
    }
}

extension AudioServerImage.Card {
    fileprivate var isBluetooth: Bool {
        properties["device.bus"] == "bluetooth" || properties["device.api"]?.hasPrefix("bluez") == true
    }
}
