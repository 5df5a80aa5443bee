internal import RunLoop
internal import Synchronization

/// The requests of the monitors of one context. Any thread writes them, and the loop's thread reads them. The loop's
/// thread also publishes the path and the status here.
///
/// It stores the current requests, not a list of changes. So it never has more entries than there are monitors,
/// however often monitors come and go while the loop is busy.
final class WatchBoard: Sendable {
    /// Maximum monitors of one context.
    static let maximumMonitors = 4_096

    /// The request of one monitor.
    enum Wish: Sendable {
        case path(Observers<NetworkPath>)
        case target(ReachabilityTarget, Observers<TargetReachability>)
    }

    /// The changes for the loop's thread. It handles the ended wishes first, to free their places.
    struct Changes: Sendable {
        var ended: Set<UInt64> = []
        /// The wishes that are new, or that have new observers, in the order of the monitors' making.
        var wishes: [(number: UInt64, wish: Wish)] = []
    }

    fileprivate struct State {
        var wishes: [UInt64: Wish] = [:]
        /// Number of monitors for each target. The loop's monitor limits the targets.
        var targets: [ReachabilityTarget: Int] = [:]
        /// Wishes that changed since the loop read them.
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

    /// The path published last.
    var path: NetworkPath { published.withLock { $0.path } }
    /// The monitor's status at the end of the loop's last turn.
    var status: MonitorStatus { published.withLock { $0.status } }
    /// Whether the context was closed.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: - The monitors' side

    /// - Returns: The number of the wish, for ``remove(_:)``.
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

    /// Reports that a wish has new observers.
    func touch(_ number: UInt64) {
        state.withLock { state in
            if state.wishes[number] != nil { state.changed.insert(number) }
        }
        bell.ring()
    }

    /// Removes a wish. Idempotent.
    func remove(_ number: UInt64) {
        // Release the wish outside the lock: the deinit of its observers may call this board.
        let wish = state.withLock { $0.take(number) }
        if wish != nil { bell.ring() }
    }

    /// Asks the loop's thread to end everything.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
    }

    // MARK: - The loop's side

    /// The changes since the last call.
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

    /// Closes the board, and removes and returns all wishes.
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
