internal import RunLoop
internal import Synchronization

/// One app's line to ringwaked. What the app does with it, the objects do that are made from it.
///
///     let client = try RingwakeClient(.init(app: "com.example.phone"))
///     let registry = PushRegistry(client: client)
///     let provider = CallProvider(client: client)
///     registry.onEvent { event in
///         if case .incomingPush(let push) = event { Task { try await provider.report(push.call) } }
///     }
///
/// It is the app's handler from the moment that it is connected: pushes come here, and nothing is started for them. It
/// has one thread, which sleeps until something happens, and keeps its connection: when the daemon goes away, it
/// connects again as soon as it is back, and takes up the calls of this process where they stand.
public final class RingwakeClient: Sendable {
    let hub = ClientHub()
    let port: ClientPort
    /// Nil once somebody has seen to its end.
    private let thread: Mutex<WorkerThread?>

    /// Returns at once; ``connection`` tells how it goes on. A daemon that is not there is no error: it is waited for.
    ///
    /// - Throws: `system`: the kernel refuses a descriptor or a thread. `invalidRequest`: the app's name is empty, or the
    ///   socket's path cannot be one.
    public convenience init(_ configuration: Configuration) throws(RingwakeKitError) {
        try UnixTransport.check(configuration.socketPath)
        try self.init(configuration, transport: nil)
    }

    /// - Parameter transport: Makes the way to the daemon: of the client's own thread, which it is called before.
    package convenience init(
        _ configuration: Configuration,
        transport: @escaping @Sendable (ClientPort) throws(RingwakeKitError) -> any ControlTransport
    ) throws(RingwakeKitError) {
        try self.init(configuration, transport: .some(transport))
    }

    private init(
        _ configuration: Configuration,
        transport: (@Sendable (ClientPort) throws(RingwakeKitError) -> any ControlTransport)?
    ) throws(RingwakeKitError) {
        guard !configuration.app.isEmpty else {
            throw RingwakeKitError(.invalidRequest, "the app has no name; give its bundle id: com.example.phone")
        }
        do throws(RunLoopError) {
            port = try ClientPort(app: configuration.app, requestTimeout: configuration.requestTimeout)
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
        let side = try ClientSide(configuration, port: port, hub: hub, transport: transport)
        thread = Mutex(try Self.start(side))
    }

    private static func start(_ side: sending ClientSide) throws(RingwakeKitError) -> WorkerThread {
        do throws(RunLoopError) {
            return try WorkerThread(name: "ringwake") { side.run() }
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
    }

    deinit {
        port.close()
        // Not joined: who lets go of the last reference may hold a lock that a running callback waits for, or may be
        // that callback.
        takeThread()?.detach()
    }

    /// How the client stands with the daemon.
    public var connection: ConnectionState { hub.connection.value ?? .connecting }

    /// How it stands now, and each change. A reader that is slow gets the newest. It ends with the client, which lives
    /// as long as it is read.
    public var connectionUpdates: AsyncStream<ConnectionState> {
        hub.connection.stream(holding: self) { tellNewObservers() }
    }

    /// Calls `body` with how it stands now and with each change, on the client's thread. It must not wait there.
    public func onConnectionUpdate(_ body: @escaping @Sendable (ConnectionState) -> Void) {
        if hub.connection.add(.init(body: body)) != nil { tellNewObservers() }
    }

    private func tellNewObservers() {
        port.post { [hub] _ in hub.connection.tellNew() }
    }

    /// Ends the connection, and with it this process's being a handler: calls that it has are lost by it, as if it had
    /// exited. Every stream ends, requests that wait fail with `closed`. Returns when the thread has ended.
    ///
    /// Never needed: a client that nobody refers to ends by itself, a moment later. Do not call it while you hold a lock
    /// that a callback takes. Called from a callback, or while another thread is in it, it does not wait. Idempotent.
    public func close() {
        port.close()
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
