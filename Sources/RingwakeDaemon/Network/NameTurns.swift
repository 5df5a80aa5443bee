internal import Reachability

/// Lets the host names of other users be looked up a few at a time, whoever asks and however soon they leave again.
///
/// The monitor looks names up on four threads, and a name whose servers are silent keeps one of them for as long as the
/// resolver is patient. Without turns any local user could put a thousand such names before those that apps have to
/// reach.
final class NameTurns {
    /// Names that are looked up at the same time: one thread is left for the apps' names and the owner's.
    static let maximumNames = 3

    private struct Waiting {
        let asker: ObjectIdentifier
        let target: ReachabilityTarget
        let begin: () -> Void
    }

    /// The names that have their turn. They are watched until they are known, also when nobody waits for them any more.
    private var current: [ReachabilityTarget: NetworkMonitor.Watch] = [:]
    private var waiting: [Waiting] = []

    /// Calls `begin` when it is the turn of `target`, a host name: now or later, unless the asker leaves before.
    func take(
        _ target: ReachabilityTarget, of asker: AnyObject, on monitor: NetworkMonitor, begin: @escaping () -> Void
    ) {
        waiting.append(Waiting(asker: ObjectIdentifier(asker), target: target, begin: begin))
        advance(on: monitor)
    }

    /// Forgets what this one waits for.
    func leave(_ asker: AnyObject) {
        waiting.removeAll { $0.asker == ObjectIdentifier(asker) }
    }

    /// Ends all turns.
    func close() {
        waiting = []
        current = [:]
    }

    /// Starts the next queued lookups.
    private func advance(on monitor: NetworkMonitor) {
        for entry in waiting where current[entry.target] != nil || current.count < NameTurns.maximumNames {
            current[entry.target] = current[entry.target] ?? turn(of: entry.target, on: monitor)
        }
        let begun = waiting.filter { current[$0.target] != nil }
        waiting.removeAll { current[$0.target] != nil }
        for entry in begun { entry.begin() }
    }

    /// - Returns: Nil when the monitor takes no more; then the name is reported as unknown at the timeout.
    private func turn(of target: ReachabilityTarget, on monitor: NetworkMonitor) -> NetworkMonitor.Watch? {
        try? monitor.watch(target) { [weak self, weak monitor] _ in
            guard let self else { return }
            // What waits for it has been told in this round too, or is so next: it has watches of its own.
            current[target] = nil
            if let monitor { advance(on: monitor) }
        }
    }
}
