internal import RingwakeCore

/// Streams that still ran when their session left the plan. They are muted until they end, or their client is active
/// again.
struct BusyStreams: Hashable, Sendable {
    var playing: [UInt32: AudioSessionID] = [:]
    var recording: [UInt32: AudioSessionID] = [:]

    /// Adds the running streams of sessions that leave, unless they belong to one that stays.
    /// - Returns: Sessions with such a stream.
    mutating func add(
        _ image: AudioServerImage, leaving: AudioPlan, staying: AudioPlan, tree: ProcessTree
    ) -> Set<AudioSessionID> {
        let leaving = StreamOwnership(plan: leaving, tree: tree)
        let staying = StreamOwnership(plan: staying, tree: tree)
        var sessions: Set<AudioSessionID> = []
        func owner(_ stream: AudioServerImage.Stream) -> AudioSessionID? {
            guard stream.isRunning, case .sessions(let owners) = leaving.owner(of: stream) else { return nil }
            if case .sessions = staying.owner(of: stream) { return nil }
            sessions.formUnion(owners.map(\.id))
            return owners.first?.id
        }
        playing = playing.merging(image.playing.compactMapValues(owner)) { $1 }.filter { image.playing[$0.key] != nil }
        recording = recording.merging(image.recording.compactMapValues(owner)) { $1 }
            .filter { image.recording[$0.key] != nil }
        return sessions
    }
}

/// Who owns a stream, for one plan.
struct StreamOwnership {
    enum Owner: Hashable {
        /// Of active sessions: at least one.
        case sessions([AudioPlan.Session])
        /// Of clients that have to be silent.
        case silenced(Set<AudioSessionID>)
        /// Of clients that are ducked, whose sessions are not in the plan.
        case ducked(Set<AudioSessionID>)
        /// Of ringing processes, and of players that were paused.
        case exempt
        /// Of the server itself: loopbacks, filters. Their sound belongs to somebody else.
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

    /// Sessions come first, because a process may have several, and exempt processes last: they are the daemon's
    /// children, and so are the apps that it started.
    func owner(of stream: AudioServerImage.Stream) -> Owner {
        guard !stream.isServersOwn else { return .server }
        // It came over a network, or names no process: its owner is unknown.
        guard let process = stream.process else { return .others }
        let sessions = plan.sessions.filter { tree.isOne(process, of: $0.client.processes) }
        if !sessions.isEmpty { return .sessions(sessions) }
        let silenced = plan.silenced.filter { tree.isOne(process, of: $0.value.processes) }
        if !silenced.isEmpty { return .silenced(Set(silenced.keys)) }
        let ducked = plan.ducked.filter { tree.isOne(process, of: $0.value.processes) }
        if !ducked.isEmpty { return .ducked(Set(ducked.keys)) }
        return tree.isOne(process, of: exempt) ? .exempt : .others
    }

    /// The sessions that treat others like this.
    func sessions(with others: AudioPlan.Others) -> Set<AudioSessionID> {
        Set(plan.sessions.filter { $0.others == others }.map(\.id))
    }
}
