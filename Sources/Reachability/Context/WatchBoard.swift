internal import RunLoop
internal import Synchronization

/// What the monitors of one context want watched: written on any thread, read on the loop's. Also what the loop's
/// thread tells all of them.
///
/// It holds what is wanted, not a list of orders, so however often a monitor comes and goes while the loop is busy, it
/// does not grow beyond the monitors that there are.
final class WatchBoard: Sendable {
    /// Monitors of one context at most.
    static let maximumMonitors = 4_096

    /// What one monitor wants.
    enum Wish: Sendable {
        case path(Observers<NetworkPath>)
        case target(ReachabilityTarget, Observers<TargetReachability>)
    }

    /// What the loop's thread does next; the ended ones first, so that their places are free.
    struct Changes: Sendable {
        var ended: Set<UInt64> = []
        /// The wishes that are new, or that have new observers, in the order of the monitors' making.
        var wishes: [(number: UInt64, wish: Wish)] = []
    }

    fileprivate struct State {
        var wishes: [UInt64: Wish] = [:]
        /// How many monitors want each target: what the loop's monitor limits.
        var targets: [ReachabilityTarget: Int] = [:]
        /// Wishes that the loop has not seen as they are now.
        var changed: Set<UInt64> = []
        /// Wishes that the loop has seen at least once.
        var known: Set<UInt64> = []
        var ended: Set<UInt64> = []
        var nextNumber: UInt64 = 0
        var isClosed = false
    }

    private struct Published {
        var path: NetworkPath
        var status = MonitorStatus()
    }

    private let state = Mutex(State())
    private let published: Mutex<Published>
    private let bell: EventDescriptor

    init(path: NetworkPath) throws(RunLoopError) {
        published = Mutex(Published(path: path))
        bell = try EventDescriptor(nonblocking: true)
    }

    /// Readable when there are changes.
    var descriptor: Int32 { bell.number }

    /// The path as it was told last.
    var path: NetworkPath { published.withLock { $0.path } }
    /// How the loop's monitor was doing at the end of its last turn.
    var status: MonitorStatus { published.withLock { $0.status } }
    /// Nothing is watched any more.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: - The monitors' side

    /// - Returns: The number that ends it.
    /// - Throws: `closed`, or `limit`.
    func add(_ wish: Wish) throws(ReachabilityError) -> UInt64 {
        let result = state.withLock { state -> Result<UInt64, ReachabilityError> in
            if state.isClosed { return .failure(ReachabilityError(.closed, "the reachability context was closed")) }
            guard state.wishes.count < Self.maximumMonitors else { return .failure(Self.limit("monitors")) }
            if case .target(let target, _) = wish {
                guard state.targets[target] != nil || state.targets.count < NetworkMonitor.maximumTargets else {
                    return .failure(Self.limit("targets"))
                }
                state.targets[target, default: 0] += 1
            }
            state.nextNumber += 1
            state.wishes[state.nextNumber] = wish
            state.changed.insert(state.nextNumber)
            return .success(state.nextNumber)
        }
        bell.ring()
        return try result.get()
    }

    private static func limit(_ what: String) -> ReachabilityError {
        ReachabilityError(.limit, "there are too many \(what); cancel some that you no longer need")
    }

    /// It has new observers.
    func touch(_ number: UInt64) {
        state.withLock { state in
            if state.wishes[number] != nil { state.changed.insert(number) }
        }
        bell.ring()
    }

    /// Takes the wish back. Idempotent.
    func remove(_ number: UInt64) {
        // What the wish holds goes when the lock is free again: its deinit may call anything here.
        let wish = state.withLock { $0.take(number) }
        if wish != nil { bell.ring() }
    }

    /// Asks the loop's thread to end everything.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
    }

    // MARK: - The loop's side

    /// What has changed since this was asked last.
    func takeChanges() -> Changes {
        bell.hear()
        return state.withLock { state in
            let wishes = state.changed.sorted().compactMap { number in
                state.wishes[number].map { (number: number, wish: $0) }
            }
            state.known.formUnion(state.changed)
            let changes = Changes(ended: state.ended, wishes: wishes)
            state.changed = []
            state.ended = []
            return changes
        }
    }

    /// All of the wishes, which are taken off.
    func takeAll() -> [Wish] {
        state.withLock { state in
            state.isClosed = true
            defer { state = State(isClosed: true) }
            return Array(state.wishes.values)
        }
    }

    /// - Returns: False if the path is the one published last.
    func publish(_ path: NetworkPath) -> Bool {
        published.withLock { published in
            defer { published.path = path }
            return published.path != path
        }
    }

    func publish(_ status: MonitorStatus) {
        published.withLock { $0.status = status }
    }
}

extension WatchBoard.State {
    fileprivate mutating func take(_ number: UInt64) -> WatchBoard.Wish? {
        guard let wish = wishes.removeValue(forKey: number) else { return nil }
        changed.remove(number)
        if known.remove(number) != nil { ended.insert(number) }
        if case .target(let target, _) = wish, let count = targets[target] {
            targets[target] = count > 1 ? count - 1 : nil
        }
        return wish
    }
}
