public import RingwakeCore

/// Tells the system of the app's calls, and is told what the user wants of them: CallKit's `CXProvider`.
///
///     let provider = CallProvider(client: client)
///     try await provider.report(push.call, .init(caller: "sip:alice@example.org"))
///     for await action in provider.actions where action.kind == .answer {
///         try await phone.accept(action.call)
///         try await action.fulfill()
///     }
///
/// What is said while the daemon is away, as over a restart of it, waits until it is back, within
/// ``RingwakeClient/Configuration/requestTimeout``. A task that is cancelled waits for its answer all the same: what was
/// said was said.
public final class CallProvider: Sendable {
    private let client: RingwakeClient

    /// Several providers of a client are told the same.
    public init(client: RingwakeClient) {
        self.client = client
    }

    /// The call is real, and this is known of it. Returns once it rings, or, without `ring`, once it is reported: then it
    /// rings once ``ring(_:)`` says so, as when the caller's side has confirmed it.
    ///
    /// - Throws: `filtered`, `busy`, `alreadyEnded`, `unknownCall`; `wrongState`: it was reported before; `notOwned`,
    ///   `noAnswer`.
    public func report(_ call: String, _ update: CallUpdate = .init(), ring: Bool = true) async throws(CallError) {
        try await client.port.report(call, update, ring: ring)
    }

    /// The reported call is confirmed. Returns once it rings.
    ///
    /// - Throws: As ``report(_:_:ring:)``.
    public func ring(_ call: String) async throws(CallError) {
        try await client.port.ring(call)
    }

    /// What the call's audio is to be: before its answer is fulfilled, or later. Without it a call by voice has
    /// `playAndRecord` and `voiceChat`, one with video `videoChat`. It is not activated by this: the daemon does that when
    /// the answer is fulfilled, and says so in ``events``.
    ///
    /// - Throws: `unknownCall`, `notOwned`, `alreadyEnded`, `noAnswer`.
    public func configureAudio(_ call: String, _ configuration: AudioSessionConfiguration) async throws(CallError) {
        try await client.port.configureAudio(call, configuration)
    }

    /// Takes over a call that has lost the process that had it. What is owed to the user is told in ``actions``.
    ///
    /// The calls that this process had itself before the daemon was restarted need none: they are claimed for it.
    /// - Throws: `wrongState`: it has a handler; `alreadyEnded`, `unknownCall`, `noAnswer`.
    public func claim(_ call: String) async throws(CallError) {
        try await client.port.claim(call)
    }

    /// The other side, or the network, ended the call, for a reason that ``CallEndReason/isReportable``. A call that is
    /// over already is no error.
    ///
    /// - Throws: `refused` for another reason; `unknownCall`, `notOwned`, `noAnswer`.
    public func reportEnded(_ call: String, reason: CallEndReason = .remoteEnded) async throws(CallError) {
        try await client.port.reportEnded(call, reason)
    }

    /// What the user wants, from now on, and what nobody has taken yet. Each is told once, over restarts of the daemon.
    ///
    /// Up to 1,024 actions wait for the first reader, and as many in each stream; of more the oldest are dropped. The
    /// stream ends with the client, which lives as long as it is read.
    public var actions: AsyncStream<CallAction> { client.hub.actions.stream(holding: client, on: client.port) }

    /// Calls `body` with what ``actions`` gives, on the client's thread. It must not wait there.
    public func onAction(_ body: @escaping @Sendable (CallAction) -> Void) {
        client.hub.actions.add(body, on: client.port)
    }

    /// What happens to the app's calls. It waits for its readers as ``actions`` does.
    public var events: AsyncStream<CallEvent> { client.hub.calls.stream(holding: client, on: client.port) }

    /// Calls `body` with what ``events`` gives, on the client's thread. It must not wait there.
    public func onEvent(_ body: @escaping @Sendable (CallEvent) -> Void) {
        client.hub.calls.add(body, on: client.port)
    }

    /// The app's calls that are not over, as far as the daemon has told, the oldest first.
    public var calls: [CallInfo] { client.hub.activeCalls }
}
