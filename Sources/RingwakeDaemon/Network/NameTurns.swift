internal import Reachability
internal import RunLoop

/// Limits how many host names of strangers are looked up at the same time, and how often.
///
/// The monitor looks names up on four threads. A name whose servers are silent keeps a thread busy until the resolver
/// times out. Without this limit any local user could queue a thousand such names before the apps' targets.
final class NameTurns {
    /// Maximum concurrent lookups. One thread is left for names of the apps and of the owner.
    static let maximumNames = 3

    private struct Waiting {
        let asker: ObjectIdentifier
        let target: ReachabilityTarget
        let begin: () -> Void
    }

    /// Names in lookup. Each is watched until its result is known, even if no client waits for it any more.
    private var current: [ReachabilityTarget: NetworkMonitor.Watch] = [:]
    private var waiting: [Waiting] = []
    private let pace: Pace
    private var hasToken = false
    private var isPaced = false

    init(runLoop: RunLoop) {
        pace = Pace(runLoop: runLoop, perSecond: 2, burst: 16)
    }

    /// Calls `begin` when `target` (a host name) may be looked up: now or later, unless the asker leaves first.
    func take(
        _ target: ReachabilityTarget, of asker: AnyObject, on monitor: NetworkMonitor, begin: @escaping () -> Void
    ) {
        waiting.append(Waiting(asker: ObjectIdentifier(asker), target: target, begin: begin))
        advance(on: monitor)
    }

    /// Removes the asker's queued lookups.
    func leave(_ asker: AnyObject) {
        waiting.removeAll { $0.asker == ObjectIdentifier(asker) }
    }

    /// Cancels all lookups.
    func close() {
        waiting = []
        current = [:]
    }

    /// Starts the next queued lookups.
    private func advance(on monitor: NetworkMonitor) {
        for entry in waiting where current[entry.target] == nil && current.count < NameTurns.maximumNames {
            guard takeToken(on: monitor) else { break }
            current[entry.target] = turn(of: entry.target, on: monitor)
        }
        let begun = waiting.filter { current[$0.target] != nil }
        waiting.removeAll { current[$0.target] != nil }
        for entry in begun { entry.begin() }
    }

    /// Returns false if the next lookup has to wait. It is started then when it may be.
    private func takeToken(on monitor: NetworkMonitor) -> Bool {
        if hasToken || pace.take() {
            hasToken = false
            return true
        }
        guard !isPaced else { return false }
        isPaced = true
        pace.whenThere { [weak self, weak monitor] in
            guard let self, let monitor else { return }
            (isPaced, hasToken) = (false, true)
            advance(on: monitor)
        }
        return false
    }

    /// - Returns: nil if the monitor has no room. The query then reports the name as unknown at its timeout.
    private func turn(of target: ReachabilityTarget, on monitor: NetworkMonitor) -> NetworkMonitor.Watch? {
        try? monitor.watch(target) { [weak self, weak monitor] _ in
            guard let self else { return }
            // Queries for this name have their own watches, which report the result.
            current[target] = nil
            if let monitor { advance(on: monitor) }
        }
    }
}
