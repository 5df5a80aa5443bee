internal import RunLoop
internal import Synchronization

/// Jobs from other threads for a client's thread.
package final class ClientQueue: Sendable {
    typealias Job = @Sendable (SessionDriver) -> Void

    private struct State {
        var jobs: [Job] = []
        /// Requests without an answer yet.
        var requests = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let bell: EventDescriptor
    let app: String

    init(app: String) throws(RunLoopError) {
        bell = try EventDescriptor(nonblocking: true)
        self.app = app
    }

    /// Passes an event of the transport to the client's thread. Call it from any thread; the order is kept.
    package func deliver(_ event: TransportEvent) {
        post { $0.take(event) }
    }

    /// Runs `job` on the client's thread, in order.
    /// - Returns: False if the client is closed: the job does not run.
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

    /// Counts a request.
    /// - Returns: False if the maximum of requests waits already.
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

    /// Takes no more jobs, and lets the thread end. Idempotent.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: - On the client's thread

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
