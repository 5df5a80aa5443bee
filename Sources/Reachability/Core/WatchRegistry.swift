/// The watches of a monitor, and the values that they have not been told yet. A body may begin and end watches.
final class WatchRegistry {
    private var paths = WatchList<NetworkPath>()
    private var targets: [ReachabilityTarget: WatchList<TargetReachability>] = [:]
    private var queue: [PathStateMachine.Effect] = []
    private var isTelling = false

    /// The watched targets.
    var watchedTargets: [ReachabilityTarget] { Array(targets.keys) }
    var targetCount: Int { targets.count }

    func isWatched(_ target: ReachabilityTarget) -> Bool { targets[target] != nil }

    /// - Returns: What ends the watch.
    func add(_ body: @escaping (NetworkPath) -> Void) -> () -> Void {
        let id = paths.add(body)
        return { [weak self] in
            let body = self?.paths.remove(id)
            withExtendedLifetime(body) {}
        }
    }

    /// - Parameter onLast: called when the last watch of the target has ended.
    /// - Returns: What ends the watch.
    func add(
        _ target: ReachabilityTarget, _ body: @escaping (TargetReachability) -> Void, onLast: @escaping () -> Void
    ) -> () -> Void {
        let id = targets[target, default: WatchList()].add(body)
        return { [weak self] in
            let body = self?.targets[target]?.remove(id)
            defer { withExtendedLifetime(body) {} }
            guard let self, targets[target]?.isEmpty ?? false else { return }
            targets[target] = nil
            onLast()
        }
    }

    /// Ends all watches.
    func removeAll() {
        let ended = (paths, targets)
        paths = WatchList()
        targets = [:]
        withExtendedLifetime(ended) {}
    }

    // MARK: - Telling

    /// Adds a value that changed; ``tellAll()`` tells it.
    func enqueue(_ change: PathStateMachine.Effect) { queue.append(change) }

    /// Tells what changed. A body may change anything here; what follows from that is told afterwards.
    func tellAll() {
        guard !isTelling else { return }
        isTelling = true
        defer { isTelling = false }
        while !queue.isEmpty {
            switch queue.removeFirst() {
            case .tellPath(let path): tell(path, onlyNew: false)
            case .tell(let target, let value): tell(target, value, onlyNew: false)
            case .attachFilter, .resolve: break
            }
        }
    }

    /// Tells new watches what is known.
    func tellNew(_ path: NetworkPath?, _ known: [(ReachabilityTarget, TargetReachability)]) {
        // What a body changes is told after this, or a watch would get the older value last.
        isTelling = true
        if let path { tell(path, onlyNew: true) }
        for (target, value) in known { tell(target, value, onlyNew: true) }
        isTelling = false
        tellAll()
    }

    private func tell(_ path: NetworkPath, onlyNew: Bool) {
        for id in paths.listeners(onlyNew: onlyNew) {
            let body = paths.body(id)
            body?(path)
        }
    }

    private func tell(_ target: ReachabilityTarget, _ value: TargetReachability, onlyNew: Bool) {
        for id in targets[target]?.listeners(onlyNew: onlyNew) ?? [] {
            let body = targets[target]?.body(id)
            body?(value)
        }
    }
}
