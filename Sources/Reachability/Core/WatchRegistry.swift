/// The watches of a monitor, and the values that they have not been notified of yet. A body may begin and end watches.
final class WatchRegistry {
    private var paths = WatchList<NetworkPath>()
    private var targets: [WatchedTarget: WatchList<TargetReachability>] = [:]
    private var queue: [PathStateMachine.Effect] = []
    private var isNotifying = false

    /// The watched targets.
    var watchedTargets: [WatchedTarget] { Array(targets.keys) }
    var targetCount: Int { targets.count }

    func isWatched(_ target: WatchedTarget) -> Bool { targets[target] != nil }

    /// - Returns: A closure that ends the watch.
    func add(_ body: @escaping (NetworkPath) -> Void) -> () -> Void {
        let id = paths.add(body)
        return { [weak self] in
            let body = self?.paths.remove(id)
            withExtendedLifetime(body) {}
        }
    }

    /// - Parameter onLast: called when the last watch of the target has ended.
    /// - Returns: A closure that ends the watch.
    func add(
        _ target: WatchedTarget, _ body: @escaping (TargetReachability) -> Void, onLast: @escaping () -> Void
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

    // MARK: - Notifying

    /// Adds a value that changed; ``notifyAll()`` reports it.
    func enqueue(_ change: PathStateMachine.Effect) { queue.append(change) }

    /// Notifies of the queued changes. A body may change anything here; the resulting changes are reported
    /// afterwards.
    /// - Parameter isAwaited: whether new watches of a target wait for a better value.
    func notifyAll(isAwaited: (WatchedTarget) -> Bool) {
        guard !isNotifying else { return }
        isNotifying = true
        defer { isNotifying = false }
        while !queue.isEmpty {
            switch queue.removeFirst() {
            case .reportPath(let path): notify(path, .all)
            case .report(let target, let value): notify(target, value, isAwaited(target) ? .informed : .all)
            case .attachFilter, .resolve: break
            }
        }
    }

    /// Notifies new watches of the known values. Call ``notifyAll(isAwaited:)`` afterwards.
    func notifyNew(_ path: NetworkPath?, _ known: [(WatchedTarget, TargetReachability)]) {
        // Report the changes that a body causes afterwards, or a watch could get the older value last.
        isNotifying = true
        defer { isNotifying = false }
        if let path { notify(path, .new) }
        for (target, value) in known { notify(target, value, .new) }
    }

    private func notify(_ path: NetworkPath, _ audience: WatchList<NetworkPath>.Audience) {
        for id in paths.listeners(audience) {
            let body = paths.body(id)
            body?(path)
        }
    }

    private func notify(
        _ target: WatchedTarget, _ value: TargetReachability, _ audience: WatchList<TargetReachability>.Audience
    ) {
        for id in targets[target]?.listeners(audience) ?? [] {
            let body = targets[target]?.body(id)
            body?(value)
        }
    }
}
