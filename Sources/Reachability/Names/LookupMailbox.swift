internal import RunLoop
internal import Synchronization

/// The state that the loop shares with the look-up threads: the waiting names, and the answers.
///
/// A thread refers only to this, so that a look-up that hangs keeps nothing else alive.
final class LookupMailbox: Sendable {
    /// Maximum look-ups at a time. More than one, so that a name whose servers are silent (30 s and more) doesn't
    /// delay the others.
    static let maximumThreads = 4

    private struct State {
        var names: [String] = []
        var answers: [(host: String, resolution: Resolution)] = []
        /// Running threads.
        var threads = 0
        /// Threads in a look-up.
        var busy = 0
        var lookups: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let bell: EventDescriptor
    private let lookUp: @Sendable (String) -> Resolution

    init(lookUp: @escaping @Sendable (String) -> Resolution) throws(RunLoopError) {
        bell = try EventDescriptor(nonblocking: true)
        self.lookUp = lookUp
    }

    // MARK: - The loop's side

    /// Readable when there are answers.
    var descriptor: Int32 { bell.number }

    /// Number of look-ups begun.
    var lookups: UInt64 { state.withLock { $0.lookups } }

    /// Whether the name still waits for a thread: then the coming look-up answers a new call too.
    func isWaiting(_ host: String) -> Bool { state.withLock { $0.names.contains(host) } }

    /// Queues the name. Starts a thread unless one is about to take names: it inherits the network and mount
    /// namespaces of the caller.
    func submit(_ host: String) {
        let isThreadNeeded = state.withLock { state in
            guard !state.isClosed else { return false }
            state.names.append(host)
            guard state.threads < Self.maximumThreads, state.threads - state.busy < state.names.count else {
                return false
            }
            state.threads += 1
            return true
        }
        guard isThreadNeeded, let error = startThread() else { return }
        let isStranded = state.withLock { state in
            state.threads -= 1
            // Another thread will take the waiting names.
            guard state.threads == 0 else { return false }
            let reason = "no thread for the look-up: \(error.reason)"
            state.answers += state.names.map { ($0, .failed(reason)) }
            state.names = []
            return true
        }
        if isStranded { bell.ring() }
    }

    func takeAnswers() -> [(host: String, resolution: Resolution)] {
        bell.hear()
        return state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
    }

    /// Drops the waiting names. Threads end after their current look-up, whose answer is dropped.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.names = []
            state.answers = []
        }
    }

    // MARK: - The threads' side

    /// - Returns: Why no thread could be started; nil if one was.
    private func startThread() -> RunLoopError? {
        do throws(RunLoopError) {
            // Don't wait for its end: it may be in a look-up that takes minutes.
            try WorkerThread(name: "name-lookup") { [self] in work() }.detach()
            return nil
        } catch {
            return error
        }
    }

    /// Looks up names until none waits.
    private func work() {
        while let host = takeName() {
            let resolution = lookUp(host)
            state.withLock { state in
                state.busy -= 1
                if !state.isClosed { state.answers.append((host, resolution)) }
            }
            bell.ring()
        }
    }

    private func takeName() -> String? {
        state.withLock { state in
            guard !state.names.isEmpty else {
                state.threads -= 1
                return nil
            }
            state.busy += 1
            state.lookups &+= 1
            return state.names.removeFirst()
        }
    }
}
