internal import RingwakeCore

/// What was reported last, and what the server showed then: only differences are reported.
struct RouteObservation {
    /// The part of the devices that decides a route.
    struct Devices: Hashable {
        var profiles: [String: String?] = [:]
        var ports: [String: [String: AudioServerImage.Availability]] = [:]
        var activePorts: [String: String?] = [:]
        var defaultSink: String?
        var defaultSource: String?

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

    typealias Reports = [AudioEngineReport]

    private(set) var devices: Devices
    private(set) var route = AudioRoute()
    /// The card of the route's output.
    private var card: UInt32?
    private var running: Set<AudioSessionID> = []
    private var othersPlay = false
    private var isMicrophoneMuted = false
    /// The headsets that were seen last.
    private var headsets: Set<String> = []
    /// The devices of the first session's streams as we left them, and the port of its output.
    private var places: [EffectTarget: String] = [:]
    /// All devices and ports, and those that appeared last.
    private var known: Set<String> = []
    private var newcomers: Set<String> = []

    init(_ image: AudioServerImage) {
        devices = Devices(image)
        see(image)
    }

    /// Marks the present devices as known.
    /// - Returns: New headsets, in the order of the server's indexes.
    @discardableResult
    mutating func see(_ image: AudioServerImage) -> [String] {
        devices = Devices(image)
        let outputs = image.outputCandidates.filter { $0.availability != .no }
        let inputs = image.inputCandidates.filter { $0.availability != .no }
        let identities = Set((outputs + inputs).map(\.port.identity))
        newcomers = identities.subtracting(known)
        known = identities
        let present = outputs.filter(\.isPersonal).map(\.port.identity)
        defer { headsets = Set(present) }
        return present.filter { !headsets.contains($0) }
    }

    /// Remembers a route that was just reported in an answer.
    mutating func reported(_ route: AudioRoute) { self.route = route }

    /// Somebody moved the call's streams, or chose another port, in a mixer.
    /// - Returns: The device, or the kind of the port.
    func choiceInMixer(_ image: AudioServerImage) -> String? {
        for (target, place) in places {
            guard case .name(let now) = image.value(of: target), now != place, image.canTake(.name(place), for: target)
            else { continue }
            guard case .sinkPort(let sink) = target else { return now }
            // Nobody has chosen a port that has just appeared.
            if let port = image.sink(named: sink)?.ports.first(where: { $0.name == now }), port.kind != .other,
                known.contains(AudioPort(kind: port.kind, device: sink, port: now, name: "").identity)
            {
                return port.kind.rawValue
            }
        }
        return nil
    }

    // MARK: - Reports

    /// Reports a changed route.
    mutating func reportRoute(
        _ current: AudioRoute, _ reason: AudioRouteChangeReason?, _ image: AudioServerImage, _ plan: AudioPlan
    ) -> Reports {
        guard current != route else { return [] }
        let previous = route
        let reason = reason ?? self.reason(for: current, in: image)
        let wasHeadset = previous.outputs.first.map { $0.isHeadset && !image.isUsable($0, isInput: false) } ?? false
        route = current
        let change = AudioEngineReport.routeChanged(reason, previous: previous, current: current)
        guard wasHeadset, let first = plan.sessions.first, !first.isCall else { return [change] }
        return [change, .routeDisconnected]
    }

    /// Remembers the state, and reports changes of who plays and of the microphone's mute.
    mutating func note(
        _ decision: RouteDecision, _ image: AudioServerImage, _ ownership: StreamOwnership
    ) -> Reports {
        see(image)
        card = decision.output.flatMap { image.sink(named: $0.device)?.card }
        places = [:]
        let first = ownership.plan.sessions.first
        if let first, let output = decision.output {
            if first.client.processes.isEmpty { places[.defaultSink] = image.defaultSink }
            if let port = output.port { places[.sinkPort(output.device)] = port }
        }
        var running: Set<AudioSessionID> = []
        var othersPlay = false
        for stream in image.playing.values {
            switch ownership.owner(of: stream) {
            case .sessions(let sessions):
                if !stream.isCorked { running.formUnion(sessions.map(\.id)) }
                let target = EffectTarget.playingDevice(stream.index)
                if decision.output != nil, sessions.contains(where: { $0.id == first?.id }),
                    case .name(let sink) = image.value(of: target)
                {
                    places[target] = sink
                }
            case .server: break
            default: othersPlay = othersPlay || !(stream.isCorked || stream.isMuted)
            }
        }
        for stream in image.recording.values where !stream.isCorked {
            if case .sessions(let sessions) = ownership.owner(of: stream) { running.formUnion(sessions.map(\.id)) }
        }
        var reports: Reports = []
        if running != self.running || othersPlay != self.othersPlay {
            (self.running, self.othersPlay) = (running, othersPlay)
            reports.append(.activity(running: running, othersPlay: othersPlay))
        }
        return reports + reportMicrophone(image, ownership.plan)
    }

    private mutating func reportMicrophone(_ image: AudioServerImage, _ plan: AudioPlan) -> Reports {
        guard plan.sessions.contains(where: \.isInputOpen), let input = route.inputs.first else {
            isMicrophoneMuted = false
            return []
        }
        let isMuted = input.kind == .builtInMicrophone && image.source(named: input.device)?.isMuted ?? false
        guard isMuted != isMicrophoneMuted else { return [] }
        isMicrophoneMuted = isMuted
        return [.microphoneMuted(isMuted)]
    }

    private func reason(for current: AudioRoute, in image: AudioServerImage) -> AudioRouteChangeReason {
        let (was, now) = (route.outputs.first, current.outputs.first)
        guard was != now else {
            if current.isInputAvailable != route.isInputAvailable {
                return current.isInputAvailable ? .newDeviceAvailable : .oldDeviceUnavailable
            }
            let isInputThere = route.inputs.first.map { image.isUsable($0, isInput: true) } ?? true
            if !isInputThere { return .oldDeviceUnavailable }
            return current.inputs.contains(where: isNew) ? .newDeviceAvailable : .override
        }
        guard let now else { return .noSuitableRouteForCategory }
        let isNew = isNew(now)
        if let was, was.device == now.device, image.isUsable(was, isInput: false) {
            return isNew ? .newDeviceAvailable : .override
        }
        if let card, image.sink(named: now.device)?.card == card, was?.device != now.device {
            return .routeConfigurationChange
        }
        if let was, !image.isUsable(was, isInput: false) { return .oldDeviceUnavailable }
        if isNew { return .newDeviceAvailable }
        return was == nil ? .unknown : .override
    }

    /// Whether it appeared lately: before the work that has just ended, or in it, as a headset's devices do after its
    /// profile was changed.
    private func isNew(_ port: AudioPort) -> Bool {
        newcomers.contains(port.identity) || !known.contains(port.identity)
    }
}

extension AudioPort {
    /// Whether a person wears it: the room must not hear the sound after it is taken off.
    fileprivate var isHeadset: Bool {
        switch kind {
        case .headphones, .headset, .bluetoothA2DP, .bluetoothHFP: true
        default: false
        }
    }

    /// Its device and port.
    var identity: String { "\(device)\u{0}\(port ?? "")" }
}
