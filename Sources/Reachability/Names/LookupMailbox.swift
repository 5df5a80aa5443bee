internal import RunLoop
internal import Synchronization

/// What the loop and the threads that look up names share: the names that wait, and the answers.
///
/// A thread holds only this, so that one whose look-up hangs keeps nothing else alive.
final class LookupMailbox: Sendable {
    /// Look-ups that may wait for an answer at the same time. More than one, so that a name whose servers are silent
    /// (30 s and more) does not hold up the others.
    static let maximumThreads = 4

    private struct State {
        var names: [String] = []
        var answers: [(host: String, resolution: Resolution)] = []
        /// Threads that have not decided to end.
        var threads = 0
        /// Those of them that are in a look-up.
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

    /// The descriptor that is readable when answers are there.
    var descriptor: Int32 { bell.number }

    /// Look-ups begun since the beginning.
    var lookups: UInt64 { state.withLock { $0.lookups } }

    /// Whether no thread has taken the name yet: what is asked now is answered by the look-up to come.
    func isWaiting(_ host: String) -> Bool { state.withLock { $0.names.contains(host) } }

    /// Has the name looked up. A thread is started unless one is about to look for work: it inherits the network and
    /// mount namespaces of the caller.
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
            // Another thread will come for the names that wait.
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

    /// Names that wait are forgotten; threads end after the look-up that they are in, and its answer is dropped.
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
            // Nobody waits for its end: it may be in a look-up that takes minutes.
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
