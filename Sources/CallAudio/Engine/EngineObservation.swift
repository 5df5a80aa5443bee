internal import RingwakeCore

/// What was told of the server last, and what it showed then: so that only what is another is told.
struct EngineObservation {
    /// What of the devices decides a route.
    struct Devices: Hashable {
        var profiles: [String: String?] = [:]
        var ports: [String: [String: AudioServerImage.Availability]] = [:]
        var activePorts: [String: String?] = [:]
        var defaultSink: String?
        var defaultSource: String?

        init() {}

        init(_ image: AudioServerImage) {
            for card in image.cards.values { profiles[card.name] = card.activeProfile }
            for device in Array(image.sinks.values) + Array(image.sources.values) {
                ports[device.name] = Dictionary(
                    device.ports.map { ($0.name, $0.availability) }, uniquingKeysWith: { first, _ in first })
                activePorts[device.name] = device.activePort
            }
            defaultSink = image.defaultSink
            defaultSource = image.defaultSource
        }
    }

    var route = AudioRoute()
    /// The card of the route's output.
    var card: UInt32?
    var running: Set<AudioSessionID> = []
    var othersPlay = false
    var isMicrophoneMuted = false
    var devices = Devices()
    /// Headsets that were there.
    var headsets: Set<String> = []
    /// Where we left the streams of the session that counts, and the port of its output.
    var places: [EffectTarget: String] = [:]
    /// Devices and ports that came last.
    var newcomers: Set<String> = []
    private var known: Set<String> = []

    init() {}

    init(_ image: AudioServerImage) { see(image) }

    /// Takes the devices that are there as known.
    /// - Returns: Headsets that came since, in the order of the server's indexes.
    @discardableResult
    mutating func see(_ image: AudioServerImage) -> [String] {
        devices = Devices(image)
        let outputs = image.outputCandidates.filter { $0.availability != .no }
        let all = outputs + image.inputCandidates.filter { $0.availability != .no }
        let identities = Set(all.map(\.identity))
        newcomers = identities.subtracting(known)
        known = identities
        let present = outputs.filter(\.isPersonal).map(\.identity)
        defer { headsets = Set(present) }
        return present.filter { !headsets.contains($0) }
    }

    /// The port cannot have been chosen by anybody: it has just come.
    func isNew(_ device: String, _ port: String) -> Bool { !known.contains("\(device)\u{0}\(port)") }

    /// Why the route is another now.
    func reason(for current: AudioRoute, in image: AudioServerImage) -> AudioRouteChangeReason {
        let (was, now) = (route.outputs.first, current.outputs.first)
        guard was != now else {
            let isInputThere = route.inputs.first.map { image.isUsable($0, isInput: true) } ?? true
            if !isInputThere { return .oldDeviceUnavailable }
            return current.inputs.contains { newcomers.contains($0.identity) } ? .newDeviceAvailable : .override
        }
        guard let now else { return .noSuitableRouteForCategory }
        if let was, was.device == now.device, image.isUsable(was, isInput: false) {
            return newcomers.contains(now.identity) ? .newDeviceAvailable : .override
        }
        if let card, image.sink(named: now.device)?.card == card, was?.device != now.device {
            return .routeConfigurationChange
        }
        if let was, !image.isUsable(was, isInput: false) { return .oldDeviceUnavailable }
        if newcomers.contains(now.identity) { return .newDeviceAvailable }
        return was == nil ? .unknown : .override
    }
}

extension AudioPort {
    /// It is worn: who takes it off does not want to be heard by the room.
    var isHeadset: Bool {
        switch kind {
        case .headphones, .headset, .bluetoothA2DP, .bluetoothHFP: true
        default: false
        }
    }

    var identity: String { "\(device)\u{0}\(port ?? "")" }
}

extension AudioServerImage {
    /// The device is there, and its port can be used.
    func isUsable(_ port: AudioPort, isInput: Bool) -> Bool {
        guard let device = isInput ? source(named: port.device) : sink(named: port.device) else { return false }
        return port.port.map(device.hasUsablePort) ?? true
    }
}
