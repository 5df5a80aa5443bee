internal import RingwakeCore

/// The state that should be in force on a server, from the plan, the route and the image.
struct EffectWants {
    struct Want: Hashable, Sendable {
        var value: Value
        var owners: Set<AudioSessionID>

        enum Value: Hashable, Sendable {
            case exact(EffectValue)
            /// Quieter than before us. Two ducking sessions want the same: gains are never multiplied.
            case ducked
        }
    }

    private(set) var all: [EffectTarget: Want] = [:]
    private let image: AudioServerImage
    private let plan: AudioPlan
    private let route: RouteDecision
    private let busy: BusyStreams
    private let ownership: StreamOwnership
    private let ledger: EffectLedger
    private let paused: Set<Int32>
    private let strays: Set<UInt32>

    init(_ planner: EffectPlanner) {
        image = planner.image
        plan = planner.plan
        route = planner.route
        busy = planner.busy
        ownership = planner.ownership
        ledger = planner.ledger
        paused = planner.paused
        strays = planner.strays
        for stream in image.playing.values { addPlaying(stream) }
        for stream in image.recording.values { addRecording(stream) }
        if let first = plan.sessions.first { addDevices(first, mutedByUser: planner.microphonesMuted) }
    }

    private mutating func set(_ target: EffectTarget, _ value: EffectValue, _ owners: Set<AudioSessionID>) {
        all[target] = Want(value: .exact(value), owners: owners)
    }

    private mutating func mute(_ target: EffectTarget, _ owners: Set<AudioSessionID>) {
        if !owners.isEmpty { set(target, .muted(true), owners) }
    }

    private mutating func duck(_ stream: AudioServerImage.Stream, _ owners: Set<AudioSessionID>) {
        let target = EffectTarget.playingVolume(stream.index)
        guard ledger[target] != nil || (stream.isSettled && stream.isVolumeWritable) else { return }
        all[target] = Want(value: .ducked, owners: owners)
    }

    // MARK: - Streams

    private mutating func addPlaying(_ stream: AudioServerImage.Stream) {
        let mute = EffectTarget.playingMute(stream.index)
        switch ownership.owner(of: stream) {
        case .server, .exempt: self.mute(mute, busyOwner(busy.playing[stream.index]))
        case .silenced(let ids): self.mute(mute, ids)
        case .ducked: duck(stream, duckingSessions(but: []))
        case .sessions(let sessions):
            if sessions.contains(where: { plan.ducked[$0.id] != nil }) { duck(stream, duckingSessions(but: sessions)) }
            if let output = route.output, stream.device != nil { move(.playingDevice(stream.index), output, sessions) }
        case .others:
            let interrupting = ownership.sessions(with: .interrupt)
            let ducking = ownership.sessions(with: .duck)
            self.mute(mute, busyOwner(busy.playing[stream.index]))
            if interrupting.isEmpty {
                if !ducking.isEmpty { duck(stream, ducking) }
                return
            }
            // A stream of a paused player is unmuted once it has stopped, so that it doesn't play on muted.
            let isKept = ledger[mute] != nil && !(stream.isCorked && isPaused(stream))
            if isKept || (stream.isSettled && !stream.isCorked) { self.mute(mute, interrupting) }
            // If an interruption follows a ducking, the volume stays ducked, so that it isn't changed back and forth.
            if !ducking.isEmpty, ledger[.playingVolume(stream.index)] != nil { duck(stream, ducking) }
        }
    }

    private func isPaused(_ stream: AudioServerImage.Stream) -> Bool {
        !paused.isEmpty && stream.process.map { ownership.tree.isOne($0, of: paused) } ?? false
    }

    private mutating func addRecording(_ stream: AudioServerImage.Stream) {
        let mute = EffectTarget.recordingMute(stream.index)
        switch ownership.owner(of: stream) {
        case .server, .exempt, .ducked, .others: self.mute(mute, busyOwner(busy.recording[stream.index]))
        case .silenced(let ids): self.mute(mute, ids)
        case .sessions(let sessions):
            // A call with a closed microphone, or with none, records nothing, whatever its app does.
            let isStray = strays.contains(stream.index)
            let isDeaf = isStray && (route.input == nil || route.isProvisional)
            self.mute(
                mute, Set(sessions.filter { $0.isMuted || ($0.isCall && (!$0.isInputOpen || isDeaf)) }.map(\.id)))
            // A stream that records the monitor of a sink by choice uses no microphone.
            let source = stream.device.flatMap { image.sources[$0] }
            if let input = route.input, let source, source.monitors == nil || isStray {
                move(.recordingDevice(stream.index), input, sessions)
            }
        }
    }

    /// Moves a stream of the first session to the route's device.
    private mutating func move(_ target: EffectTarget, _ port: AudioPort, _ sessions: [AudioPlan.Session]) {
        guard !route.isProvisional, let first = plan.sessions.first, sessions.contains(where: { $0.id == first.id })
        else { return }
        set(target, .name(port.device), [first.id])
    }

    private func duckingSessions(but sessions: [AudioPlan.Session]) -> Set<AudioSessionID> {
        let owners = ownership.sessions(with: .duck).union(ownership.sessions(with: .interrupt))
        let others = owners.subtracting(sessions.map(\.id))
        return others.isEmpty ? Set(plan.ducked.keys) : others
    }

    private func busyOwner(_ owner: AudioSessionID?) -> Set<AudioSessionID> { owner.map { [$0] } ?? [] }

    // MARK: - Devices

    private mutating func addDevices(_ first: AudioPlan.Session, mutedByUser: Set<String>) {
        if let profile = route.profile { set(.profile(card: profile.card), .name(profile.profile), [first.id]) }
        guard !route.isProvisional else { return }
        // Streams of unknown processes follow only the default device.
        let setsDefaults = first.client.processes.isEmpty
        if let output = route.output {
            if let port = output.port { set(.sinkPort(output.device), .name(port), [first.id]) }
            if setsDefaults { set(.defaultSink, .name(output.device), [first.id]) }
        }
        guard first.configuration.category.hasInput, let input = route.input else { return }
        if let port = input.port { set(.sourcePort(input.device), .name(port), [first.id]) }
        if setsDefaults { set(.defaultSource, .name(input.device), [first.id]) }
        let open = plan.sessions.filter { $0.isInputOpen && !$0.isMuted }.map(\.id)
        if !open.isEmpty, !mutedByUser.contains(input.device) {
            set(.sourceMute(input.device), .muted(false), Set(open))
        }
    }
}
