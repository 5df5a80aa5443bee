/// What a command should change in the image.
///
/// PulseAudio has done what it acknowledges; PipeWire acknowledges first, and acts a little later or not at all.
struct PulseExpectation {
    /// What it is about: a later command about the same subject replaces it.
    enum Subject: Hashable {
        case target(EffectTarget)
        case devices(card: String)
    }

    let subject: Subject
    /// The number of its command.
    let command: Int
    /// Whether the command failed if this isn't seen in time. About one connection in some hundreds to PipeWire 0.3
    /// never shows a new default device, however often it reads; all others see it.
    let isRequired: Bool
    /// Whether the target has the requested value, or at least no longer the former one: a server may round a volume
    /// or give a profile a longer name, and somebody else may have changed it meanwhile.
    let isMet: (AudioServerImage) -> Bool
    /// Whether the target is in an intermediate state, perhaps again after it was met: PipeWire unlinks a moved
    /// stream once more when the default changes, and links it again.
    let isPassing: (AudioServerImage) -> Bool

    /// - Parameter number: the number of the command in its batch.
    static func all(of command: AudioServerCommand, number: Int, before: AudioServerImage) -> [PulseExpectation] {
        guard case .set(let target, let value) = command else { return [] }
        let expectation = PulseExpectation(target, value, of: number, before: before)
        guard case (.profile(let card), .name(let profile)) = (target, value) else { return [expectation] }
        return [expectation, PulseExpectation(devicesOf: card, profile, of: number, before: before)]
    }

    private init(_ target: EffectTarget, _ value: EffectValue, of command: Int, before: AudioServerImage) {
        subject = .target(target)
        self.command = command
        isRequired = !(before.isPipeWire && (target == .defaultSink || target == .defaultSource))
        var wanted = value
        if case .volume(let volume) = value, volume.count == 1 {
            let channels = before.stream(of: target)?.volume.count ?? 1
            wanted = .volume(Array(repeating: volume[0], count: channels))
        }
        let old = before.shown(target)
        let isPassing = { (image: AudioServerImage) in image.shown(target) == .name("") }
        self.isPassing = isPassing
        // nil: the target may be gone.
        isMet = { [wanted] image in
            let now = image.shown(target)
            return now == wanted || now == nil || (now != old && !isPassing(image))
        }
    }

    /// The devices of a card's new profile have to exist. Those of a Bluetooth card's old profile have to be gone;
    /// others may stay.
    private init(devicesOf card: String, _ profile: String, of command: Int, before: AudioServerImage) {
        subject = .devices(card: card)
        self.command = command
        isRequired = false
        isPassing = { _ in false }
        let old = before.card(named: card)
        let isRenewed = old?.activeProfile != profile && old?.isBluetoothCard == true
        let gone = isRenewed ? before.devices(of: old) : []
        isMet = { image in
            guard let card = image.card(named: card) else { return true }
            guard let active = card.profiles.first(where: { $0.name == card.activeProfile }),
                active.name == profile || active.name != old?.activeProfile
            else { return false }
            let devices = image.devices(of: card)
            return devices.count { $0.kind == .sink } >= Int(active.sinks)
                && devices.count { $0.kind == .source } >= Int(active.sources) && devices.isDisjoint(with: gone)
        }
    }
}

extension AudioServerCommand {
    /// The objects to read to see the result.
    func touched(_ image: AudioServerImage) -> [PulseObject] {
        // Streams may have begun with the previous stored value.
        guard case .set(let target, _) = self else { return PulseObject.streams }
        switch target {
        case .playingVolume(let stream), .playingMute(let stream), .playingDevice(let stream):
            return [PulseObject(kind: .sinkInput, index: stream)]
        case .recordingMute(let stream), .recordingDevice(let stream):
            return [PulseObject(kind: .sourceOutput, index: stream)]
        case .profile:
            // The order matters: the kind of a port depends on its card.
            return [.card, .sink, .source, .sinkInput, .sourceOutput, .server].map { PulseObject(kind: $0, index: nil) }
        case .sinkPort(let sink): return [PulseObject(kind: .sink, index: image.sink(named: sink)?.index)]
        case .sourcePort(let source), .sourceMute(let source):
            return [PulseObject(kind: .source, index: image.source(named: source)?.index)]
        // Streams that use the default device move along.
        case .defaultSink: return [.server, .sinkInput].map { PulseObject(kind: $0, index: nil) }
        case .defaultSource: return [.server, .sourceOutput].map { PulseObject(kind: $0, index: nil) }
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
