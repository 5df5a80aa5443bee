public import FoundationEssentials
internal import RunLoop

/// One app's connection to ringwaked. ``PushRegistry``, ``CallProvider``, ``CallController`` and ``CallDirectory``
/// use it.
///
///     let client = try RingwakeClient(.init(app: "com.example.phone"))
///     let registry = PushRegistry(client: client)
///     let provider = CallProvider(client: client)
///     registry.observeEvents { event in
///         if case .incomingPush(let push) = event { Task { try await provider.reportIncomingCall(with: push.call) } }
///     }
///
/// While the client is connected it is the app's handler: pushes arrive here, and the daemon starts no other process
/// for them. It has one thread, which sleeps until something happens. When the daemon restarts, the client connects
/// again and continues the calls of this process.
public final class RingwakeClient: Sendable {
    let state = ClientState()
    let queue: ClientQueue
    private let thread: WorkerThread

    /// Returns immediately; ``connection`` shows the progress. It is not an error if no daemon runs: the client waits
    /// for it.
    ///
    /// - Throws: `system`: the kernel refuses a descriptor or a thread. `invalidRequest`: the app's name is empty, or
    ///   the socket's path is too long.
    public convenience init(_ configuration: Configuration) throws(RingwakeKitError) {
        try UnixTransport.check(configuration.socketPath)
        try self.init(configuration, transport: nil)
    }

    /// - Parameter transport: creates the transport; nil: the daemon's unix socket. Called before the client's thread
    ///   starts, which then uses the transport.
    package init(
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
        thread = try Self.start(worker)
    }

    private static func start(_ worker: sending ClientWorker) throws(RingwakeKitError) -> WorkerThread {
        do throws(RunLoopError) {
            return try WorkerThread(name: "ringwake") { worker.run() }
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
    }

    // The thread is not joined: the owner of the last reference may hold a lock that a running callback waits for, or
    // be that callback.
    deinit { queue.close() }

    var requests: DaemonRequests { DaemonRequests(queue: queue) }

    /// The state of the connection to the daemon.
    public var connection: ConnectionState { state.connection.value ?? .connecting }

    /// The version of the daemon that this client is connected to, or was last; nil before the first connection.
    public var daemon: DaemonVersion? { state.daemon }

    /// What the vendor of the app knows this device by: UIKit's `UIDevice.identifierForVendor`.
    ///
    /// It is the same in all apps of one vendor on this device, and random: two vendors cannot tell from theirs that they
    /// know the same device. It stays while one app of the vendor is installed, and is another one after all were removed,
    /// after a restore on another device, and when the user resets it. The vendor is the app's team; an app without one
    /// shares it with those whose bundle ids begin with the same two parts (`com.example`).
    ///
    /// Nil until the client has connected, and while the daemon doesn't know it: read it again later. It is known by the
    /// first ``PushRegistryEvent/credentialsUpdated(_:)``, and a change comes with the next one.
    public var vendorIdentifier: UUID? { state.vendorIdentifier }

    /// The current state, and each change. A slow reader gets only the newest. The stream ends with the client, which
    /// lives as long as the stream is read.
    public var connectionUpdates: AsyncStream<ConnectionState> {
        state.connection.stream(holding: self) { notifyNewObservers() }
    }

    /// Calls `body` with the current state and with each change, on the client's thread. It must not block.
    @discardableResult
    public func observeConnection(_ body: @escaping @Sendable (ConnectionState) -> Void) -> Observation {
        let number = state.connection.add(.init(body: body))
        if number != nil { notifyNewObservers() }
        return Observation { [state] in if let number { state.connection.remove(number) } }
    }

    private func notifyNewObservers() {
        queue.post { [state] _ in state.connection.notifyNew() }
    }

    /// Ends the connection. This process is no longer a handler: its calls lose it, as if it had exited. Every stream
    /// ends, and waiting requests fail with `closed`. Returns when the thread has ended.
    ///
    /// Optional: a client without references ends by itself, a moment later. Don't call it while you hold a lock that a
    /// callback takes. Called from a callback, or while another thread closes the client, it does not wait. Idempotent.
    public func close() {
        queue.close()
        thread.join()
    }
}
