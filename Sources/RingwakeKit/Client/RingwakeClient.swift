internal import RunLoop
internal import Synchronization

/// One app's connection to ringwaked. ``PushRegistry``, ``CallProvider``, ``CallController`` and ``CallDirectory`` use it.
///
///     let client = try RingwakeClient(.init(app: "com.example.phone"))
///     let registry = PushRegistry(client: client)
///     let provider = CallProvider(client: client)
///     registry.observeEvents { event in
///         if case .incomingPush(let push) = event { Task { try await provider.reportIncomingCall(with: push.call) } }
///     }
///
/// While it is connected it is the app's handler: pushes come here, and the daemon starts no other process for them. It has
/// one thread, which sleeps until something happens. When the daemon is restarted, it connects again and continues the
/// calls of this process.
public final class RingwakeClient: Sendable {
    let state = ClientState()
    let queue: ClientQueue
    /// Nil once it was joined or detached.
    private let thread: Mutex<WorkerThread?>

    /// Returns at once; ``connection`` has the progress. It waits for a daemon that is not running: that is no error.
    ///
    /// - Throws: `system`: the kernel refuses a descriptor or a thread. `invalidRequest`: the app's name is empty, or the
    ///   socket's path is too long.
    public convenience init(_ configuration: Configuration) throws(RingwakeKitError) {
        try UnixTransport.check(configuration.socketPath)
        try self.init(configuration, transport: nil)
    }

    /// - Parameter transport: makes the connection to the daemon. Called before the client's thread starts, which uses it.
    package convenience init(
        _ configuration: Configuration,
        transport: @escaping @Sendable (ClientQueue) throws(RingwakeKitError) -> any ControlTransport
    ) throws(RingwakeKitError) {
        try self.init(configuration, transport: .some(transport))
    }

    private init(
        _ configuration: Configuration,
        transport: (@Sendable (ClientQueue) throws(RingwakeKitError) -> any ControlTransport)?
    ) throws(RingwakeKitError) {
        guard !configuration.app.isEmpty else {
            throw RingwakeKitError(.invalidRequest, "the app has no name; give its bundle id: com.example.phone")
        }
        do throws(RunLoopError) {
            queue = try ClientQueue(app: configuration.app)
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
        let worker = try ClientWorker(configuration, queue: queue, state: state, transport: transport)
        thread = Mutex(try Self.start(worker))
    }

    private static func start(_ worker: sending ClientWorker) throws(RingwakeKitError) -> WorkerThread {
        do throws(RunLoopError) {
            return try WorkerThread(name: "ringwake") { worker.run() }
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
    }

    deinit {
        queue.close()
        // Not joined: the owner of the last reference may hold a lock that a running callback waits for, or be that
        // callback.
        takeThread()?.detach()
    }

    var requests: DaemonRequests { DaemonRequests(queue: queue) }

    /// The state of the connection to the daemon.
    public var connection: ConnectionState { state.connection.value ?? .connecting }

    /// The state now, and each change. A slow reader gets only the newest. The stream ends with the client, which lives as
    /// long as the stream is read.
    public var connectionUpdates: AsyncStream<ConnectionState> {
        state.connection.stream(holding: self) { notifyNewObservers() }
    }

    /// Calls `body` with the state now and with each change, on the client's thread. It must not block.
    @discardableResult
    public func observeConnection(_ body: @escaping @Sendable (ConnectionState) -> Void) -> Observation {
        let number = state.connection.add(.init(body: body))
        if number != nil { notifyNewObservers() }
        return Observation { [state] in if let number { state.connection.remove(number) } }
    }

    private func notifyNewObservers() {
        queue.post { [state] _ in state.connection.tellNew() }
    }

    /// Ends the connection. This process is no handler any more: it loses its calls, as if it had exited. Every stream ends,
    /// and requests that wait fail with `closed`. Returns when the thread has ended.
    ///
    /// Optional: a client without references ends by itself, a moment later. Don't call it while you hold a lock that a
    /// callback takes. Called from a callback, or while another thread closes the client, it does not wait. Idempotent.
    public func close() {
        queue.close()
        guard let thread = takeThread() else { return }
        if thread.isCurrent { thread.detach() } else { thread.join() }
    }

    private func takeThread() -> WorkerThread? {
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
    }
}
