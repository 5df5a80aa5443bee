package import RingwakeCore

/// Streams that ran on when their session left the plan: they are silent until they end, or their client is active again.
package struct BusyStreams: Hashable, Sendable {
    package var playing: [UInt32: AudioSessionID] = [:]
    package var recording: [UInt32: AudioSessionID] = [:]

    package init() {}
}

/// Whose a stream is, for one plan.
struct StreamOwnership {
    enum Owner: Hashable {
        /// Of active sessions: at least one.
        case sessions([AudioPlan.Session])
        /// Of clients that are to be silent.
        case silenced(Set<AudioSessionID>)
        /// Of clients that are quieter, of sessions that are none of the plan's.
        case ducked(Set<AudioSessionID>)
        /// What rings, and players that were paused and are left alone.
        case exempt
        /// Of the server itself: loopbacks, filters. What they carry belongs to somebody else.
        case server
        case others
    }

    let plan: AudioPlan
    let tree: ProcessTree
    let exempt: Set<Int32>

    init(plan: AudioPlan, yielding: Set<Int32> = [], tree: ProcessTree) {
        self.plan = plan
        self.tree = tree
        exempt = plan.exempt.union(yielding)
    }

    /// The sessions go before all else, as one process may have several of them, and what is exempt last: the daemon's
    /// children are, and the apps that it started are among them.
    func owner(of stream: AudioServerImage.Stream) -> Owner {
        guard !stream.isServersOwn else { return .server }
        // It came over a network, or says nothing that is a process: it is somebody's all the same.
        guard let process = stream.process else { return .others }
        let sessions = plan.sessions.filter { tree.isOne(process, of: $0.client.processes) }
        if !sessions.isEmpty { return .sessions(sessions) }
        let silenced = plan.silenced.filter { tree.isOne(process, of: $0.value.processes) }
        if !silenced.isEmpty { return .silenced(Set(silenced.keys)) }
        let ducked = plan.ducked.filter { tree.isOne(process, of: $0.value.processes) }
        if !ducked.isEmpty { return .ducked(Set(ducked.keys)) }
        return tree.isOne(process, of: exempt) ? .exempt : .others
    }

    /// The sessions that have others treated like this.
    func sessions(with others: AudioPlan.Others) -> Set<AudioSessionID> {
        Set(plan.sessions.filter { $0.others == others }.map(\.id))
    }
}

extension AudioServerImage.Stream {
    /// It has a device and a volume. A new stream of PipeWire has neither for a moment, and each loses its device while
    /// it is moved: what it shows then is no value of it.
    var isSettled: Bool { device != nil && volume.contains { $0 > 0 } }

    /// A loopback, a filter: nobody's program made it. A sample that is played has no client, but says whose it is.
    var isServersOwn: Bool {
        if properties["node.link-group"] != nil { return true }
        return client == nil && process == nil && properties["application.process.id"] == nil
    }

    /// Sound goes through it, or could at once.
    var isRunning: Bool { device != nil && !isCorked }
}

extension AudioServerImage {
    func sink(named name: String) -> Device? { sinks.values.first { $0.name == name } }

    func source(named name: String) -> Device? { sources.values.first { $0.name == name } }

    func card(named name: String) -> Card? { cards.values.first { $0.name == name } }

    /// What a target has now; nil when it is not there, or shows nothing that could be compared.
    func value(of target: EffectTarget) -> EffectValue? {
        switch target {
        case .playingVolume(let index):
            guard let stream = playing[index], stream.isSettled else { return nil }
            return .volume(stream.volume)
        case .playingMute(let index): return playing[index].map { .muted($0.isMuted) }
        case .recordingMute(let index): return recording[index].map { .muted($0.isMuted) }
        case .playingDevice(let index):
            return playing[index]?.device.flatMap { sinks[$0] }.map { .name($0.name) }
        case .recordingDevice(let index):
            return recording[index]?.device.flatMap { sources[$0] }.map { .name($0.name) }
        case .profile(let name): return card(named: name)?.activeProfile.map { .name($0) }
        case .sinkPort(let name): return sink(named: name)?.activePort.map { .name($0) }
        case .sourcePort(let name): return source(named: name)?.activePort.map { .name($0) }
        case .sourceMute(let name): return source(named: name).map { .muted($0.isMuted) }
        case .defaultSink: return defaultSink.map { .name($0) }
        case .defaultSource: return defaultSource.map { .name($0) }
        }
    }

    /// The thing that the target is of is there.
    func has(_ target: EffectTarget) -> Bool {
        switch target {
        case .playingVolume(let index), .playingMute(let index), .playingDevice(let index): playing[index] != nil
        case .recordingMute(let index), .recordingDevice(let index): recording[index] != nil
        case .profile(let name): card(named: name) != nil
        case .sinkPort(let name): sink(named: name) != nil
        case .sourcePort(let name), .sourceMute(let name): source(named: name) != nil
        case .defaultSink, .defaultSource: true
        }
    }

    /// Whether the target could take this value now.
    func canTake(_ value: EffectValue, for target: EffectTarget) -> Bool {
        guard case .name(let name) = value else { return true }
        switch target {
        case .playingDevice, .defaultSink: return sink(named: name) != nil
        case .recordingDevice, .defaultSource: return source(named: name) != nil
        case .profile(let card): return self.card(named: card)?.profiles.contains { $0.name == name } ?? false
        case .sinkPort(let sink): return self.sink(named: sink)?.hasUsablePort(name) ?? false
        case .sourcePort(let source): return self.source(named: source)?.hasUsablePort(name) ?? false
        default: return true
        }
    }

    func stream(of target: EffectTarget) -> Stream? {
        if let index = target.playing { return playing[index] }
        return target.recording.flatMap { recording[$0] }
    }
}

extension AudioServerImage.Device {
    func hasUsablePort(_ name: String) -> Bool { ports.contains { $0.name == name && $0.availability != .no } }
}
