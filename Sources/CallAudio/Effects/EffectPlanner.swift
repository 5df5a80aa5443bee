package import RingwakeCore

/// What is to be in force on a server: from the plan and the mirror alone.
///
/// A want says nothing of how it is now. ``EffectPlanner/changes`` makes the difference to what is in force already.
package struct EffectPlanner {
    package struct Want: Hashable, Sendable {
        package var value: Value
        package var owners: Set<AudioSessionID>

        package enum Value: Hashable, Sendable {
            case exact(EffectValue)
            /// Quieter than it was found. Two sessions that duck want the same: a gain is never multiplied.
            case ducked
        }
    }

    let image: AudioServerImage
    let plan: AudioPlan
    let route: RouteDecision
    let busy: BusyStreams
    let ownership: StreamOwnership
    let ledger: EffectLedger
    /// Targets that the server would not change.
    let refused: Set<EffectTarget>
    /// Targets that the mirror has not shown our value of yet.
    let unconfirmed: Set<EffectTarget>
    /// What was wanted, and so, when everything was last as wanted: where it is not any more, somebody else did that.
    let settled: [EffectTarget: EffectValue]
    /// Mutes that the server itself took back: they are not the user's doing.
    let released: Set<EffectTarget>
    /// Microphones that are left muted.
    let microphonesMuted: Set<String>
    /// What other programs of this kind have in force on the same server.
    let others: () -> [EffectLedger]
    /// What is not there yet may still come; else it is given up.
    let isPatient: Bool
    /// The ledger is of another run of this program.
    let isMending: Bool

    /// - Parameter yielding: Processes whose streams are left as they are.
    package init(
        image: AudioServerImage, plan: AudioPlan, route: RouteDecision, ledger: EffectLedger, tree: ProcessTree,
        busy: BusyStreams = BusyStreams(), refused: Set<EffectTarget> = [], unconfirmed: Set<EffectTarget> = [],
        settled: [EffectTarget: EffectValue] = [:], released: Set<EffectTarget> = [],
        microphonesMuted: Set<String> = [], yielding: Set<Int32> = [],
        others: @escaping () -> [EffectLedger] = { [] },
        isPatient: Bool = true, isMending: Bool = false
    ) {
        self.image = image
        self.plan = plan
        self.route = route
        self.busy = busy
        self.ledger = ledger
        self.refused = refused
        self.unconfirmed = unconfirmed
        self.settled = settled
        self.released = released
        self.microphonesMuted = microphonesMuted
        self.others = others
        self.isPatient = isPatient
        self.isMending = isMending
        ownership = StreamOwnership(plan: plan, yielding: yielding, tree: tree)
    }

    package var wants: [EffectTarget: Want] {
        var wants: [EffectTarget: Want] = [:]
        for stream in image.playing.values { add(wantsOfPlaying(stream), to: &wants) }
        for stream in image.recording.values { add(wantsOfRecording(stream), to: &wants) }
        add(wantsOfDevices, to: &wants)
        return wants
    }

    /// What ``settled`` is to be once everything is as wanted: of devices, of where streams go, and of streams of others
    /// that somebody else had muted. Another mute is not among them: a client that is to be silent is, whoever unmuted it.
    package var settling: [EffectTarget: EffectValue] {
        var values: [EffectTarget: EffectValue] = [:]
        for (target, want) in wants {
            guard case .exact(let value) = want.value else { continue }
            if target.isOfDevice || (isUsersToUnmute(target) && isSettled(target, value)) { values[target] = value }
        }
        return values
    }

    /// A mute of a stream of others, whose effect it would be to have it silent while a session is active.
    func isUsersToUnmute(_ target: EffectTarget) -> Bool {
        guard case .playingMute(let index) = target, busy.playing[index] == nil, let stream = image.playing[index]
        else { return false }
        return ownership.owner(of: stream) == .others
    }

    /// It was as wanted without us, now or before.
    private func isSettled(_ target: EffectTarget, _ value: EffectValue) -> Bool {
        ledger[target] == nil && (settled[target] == value || image.value(of: target) == value)
    }

    private typealias Wants = [(EffectTarget, Want)]

    private func add(_ more: Wants, to wants: inout [EffectTarget: Want]) {
        for (target, want) in more { wants[target] = want }
    }

    // MARK: - Streams

    private func wantsOfPlaying(_ stream: AudioServerImage.Stream) -> Wants {
        let volume = EffectTarget.playingVolume(stream.index)
        let mute = EffectTarget.playingMute(stream.index)
        switch ownership.owner(of: stream) {
        case .server, .exempt: return busyWant(busy.playing[stream.index], mute)
        case .silenced(let ids): return [(mute, muted(by: ids))]
        case .ducked: return canDuck(stream) ? [(volume, ducked(by: duckingSessions(but: [])))] : []
        case .sessions(let sessions):
            var wants: Wants = []
            let isDucked = sessions.contains { plan.ducked[$0.id] != nil }
            if isDucked, canDuck(stream) { wants.append((volume, ducked(by: duckingSessions(but: sessions)))) }
            if let first = plan.sessions.first, sessions.contains(where: { $0.id == first.id }),
                let output = route.output, !route.isProvisional, stream.device != nil
            {
                wants.append((.playingDevice(stream.index), exact(.name(output.device), by: [first.id])))
            }
            return wants
        case .others:
            let interrupting = ownership.sessions(with: .interrupt)
            let ducking = ownership.sessions(with: .duck)
            var wants = busyWant(busy.playing[stream.index], mute)
            if !interrupting.isEmpty {
                if ledger[mute] != nil || (stream.isSettled && !stream.isCorked) {
                    wants.append((mute, muted(by: interrupting)))
                }
                // What an interruption replaces comes back with the volume that it had: not twice, there and back.
                if !ducking.isEmpty, ledger[volume] != nil { wants.append((volume, ducked(by: ducking))) }
            } else if !ducking.isEmpty, canDuck(stream) {
                wants.append((volume, ducked(by: ducking)))
            }
            return wants
        }
    }

    private func wantsOfRecording(_ stream: AudioServerImage.Stream) -> Wants {
        let mute = EffectTarget.recordingMute(stream.index)
        switch ownership.owner(of: stream) {
        case .server, .exempt, .ducked, .others: return busyWant(busy.recording[stream.index], mute)
        case .silenced(let ids): return [(mute, muted(by: ids))]
        case .sessions(let sessions):
            var wants: Wants = []
            // A call that is not to be heard yet, or any more, is not: whatever its app does.
            let muting = sessions.filter { $0.isMuted || ($0.isCall && !$0.isInputOpen) }.map(\.id)
            if !muting.isEmpty { wants.append((mute, muted(by: Set(muting)))) }
            if let first = plan.sessions.first, sessions.contains(where: { $0.id == first.id }),
                let input = route.input, !route.isProvisional, isMovable(stream)
            {
                wants.append((.recordingDevice(stream.index), exact(.name(input.device), by: [first.id])))
            }
            return wants
        }
    }

    /// A stream that records what a sink plays is no microphone's.
    private func isMovable(_ stream: AudioServerImage.Stream) -> Bool {
        guard let source = stream.device.flatMap({ image.sources[$0] }) else { return false }
        return source.monitors == nil
    }

    private func canDuck(_ stream: AudioServerImage.Stream) -> Bool {
        ledger[.playingVolume(stream.index)] != nil || (stream.isSettled && stream.isVolumeWritable)
    }

    private func duckingSessions(but sessions: [AudioPlan.Session]) -> Set<AudioSessionID> {
        let owners = ownership.sessions(with: .duck).union(ownership.sessions(with: .interrupt))
        let others = owners.subtracting(sessions.map(\.id))
        return others.isEmpty ? Set(plan.ducked.keys) : others
    }

    private func busyWant(_ owner: AudioSessionID?, _ target: EffectTarget) -> Wants {
        owner.map { [(target, muted(by: [$0]))] } ?? []
    }

    // MARK: - Devices

    private var wantsOfDevices: Wants {
        guard let first = plan.sessions.first else { return [] }
        var wants: Wants = []
        let owners: Set = [first.id]
        if let profile = route.profile {
            wants.append((.profile(card: profile.card), exact(.name(profile.profile), by: owners)))
        }
        guard !route.isProvisional else { return wants }
        if let output = route.output {
            if let port = output.port { wants.append((.sinkPort(output.device), exact(.name(port), by: owners))) }
            // Where the streams of the session are not known, the default is what takes them there.
            if first.client.processes.isEmpty {
                wants.append((.defaultSink, exact(.name(output.device), by: owners)))
            }
        }
        if first.configuration.category.hasInput, let input = route.input {
            if let port = input.port { wants.append((.sourcePort(input.device), exact(.name(port), by: owners))) }
            if first.client.processes.isEmpty {
                wants.append((.defaultSource, exact(.name(input.device), by: owners)))
            }
            let open = plan.sessions.filter { $0.isInputOpen && !$0.isMuted }.map(\.id)
            if !open.isEmpty, !microphonesMuted.contains(input.device) {
                wants.append((.sourceMute(input.device), exact(.muted(false), by: Set(open))))
            }
        }
        return wants
    }

    private func exact(_ value: EffectValue, by owners: Set<AudioSessionID>) -> Want {
        Want(value: .exact(value), owners: owners)
    }

    private func muted(by owners: Set<AudioSessionID>) -> Want { exact(.muted(true), by: owners) }

    private func ducked(by owners: Set<AudioSessionID>) -> Want { Want(value: .ducked, owners: owners) }
}
