internal import RunLoop
internal import Synchronization

/// Where other threads hand something to a client's thread.
package final class ClientPort: Sendable {
    typealias Job = @Sendable (ClientCore) -> Void

    private struct State {
        var jobs: [Job] = []
        /// Requests that have no answer yet.
        var requests = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let bell: EventDescriptor
    /// How long a request may take.
    let requestTimeout: Duration
    let app: String

    init(app: String, requestTimeout: Duration) throws(RunLoopError) {
        bell = try EventDescriptor(nonblocking: true)
        self.app = app
        self.requestTimeout = requestTimeout
    }

    /// Tells the client what a transport has to say. From any thread; what is told first is taken first.
    package func tell(_ event: TransportEvent) {
        post { $0.take(event) }
    }

    /// Runs `job` on the client's thread, in order.
    /// - Returns: False when the client is closed: then it does not run.
    @discardableResult
    func post(_ job: @escaping Job) -> Bool {
        let isTaken = state.withLock { state in
            guard !state.isClosed else { return false }
            state.jobs.append(job)
            return true
        }
        if isTaken { bell.ring() }
        return isTaken
    }

    /// A request is to be made.
    /// - Returns: False when as many wait as may.
    func beginRequest() -> Bool {
        state.withLock { state in
            guard state.requests < TransportLimits.requests else { return false }
            state.requests += 1
            return true
        }
    }

    func endRequest() {
        state.withLock { $0.requests -= 1 }
    }

    /// Takes no job any more, and wakes the thread, which ends. Idempotent.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: - The thread's side

    /// Readable when there are jobs, or the client was closed.
    var descriptor: Int32 { bell.number }

    func takeJobs() -> [Job] {
        bell.hear()
        return state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
    }
}
