public import RingwakeCore

/// Reports the app's calls to the system, and delivers what the user wants of them: CallKit's `CXProvider`.
///
///     let provider = CallProvider(client: client)
///     try await provider.reportIncomingCall(with: push.call, update: .init(caller: "sip:alice@example.org"))
///     for await action in provider.actions where action.kind == .answer {
///         try await phone.accept(action.call)
///         try await action.fulfill()
///     }
///
/// Requests that are made while the daemon is away, as over its restart, wait for it within
/// ``RingwakeClient/Configuration/requestTimeout``. Cancelling the task does not cancel a request: it waits for the answer.
public final class CallProvider: Sendable {
    private let client: RingwakeClient
    private let requests: CallRequests

    /// All providers of a client get the same actions and events.
    public init(client: RingwakeClient) {
        self.client = client
        requests = CallRequests(requests: client.requests)
    }

    /// Reports that the call is real, and what is known of it. Returns once the call rings, or, without `ringing`, once it
    /// is reported. It then rings after ``startRinging(_:)``, for example when the INVITE has come.
    ///
    /// - Throws: `filtered`, `busy`, `alreadyEnded`, `unknownCall`; `wrongState`: it was reported before; `notOwned`,
    ///   `noAnswer`.
    public func reportIncomingCall(
        with id: Call.ID, update: CallUpdate = .init(), ringing: Bool = true
    ) async throws(CallError) {
        try await requests.report(id, update, ringing: ringing)
    }

    /// Confirms the reported call. Returns once it rings.
    ///
    /// - Throws: As ``reportIncomingCall(with:update:ringing:)``.
    public func startRinging(_ call: Call.ID) async throws(CallError) {
        try await requests.ring(call)
    }

    /// Configures the call's audio, before its answer is fulfilled or later. The default is `playAndRecord` with
    /// `voiceChat`, or with `videoChat` for a call with video. This does not activate it: the daemon does that when the
    /// answer is fulfilled, and sends an event.
    ///
    /// - Throws: `unknownCall`, `notOwned`, `alreadyEnded`, `noAnswer`.
    public func configureAudio(
        _ configuration: AudioSessionConfiguration, for call: Call.ID
    ) async throws(CallError) {
        try await requests.configureAudio(call, configuration)
    }

    /// Takes over a call that was lost by the process that had it. The user's open requests come as ``actions``.
    ///
    /// Calls that this process had before the daemon was restarted are claimed for it.
    /// - Throws: `wrongState`: it has a handler; `alreadyEnded`, `unknownCall`, `noAnswer`.
    public func claim(_ call: Call.ID) async throws(CallError) {
        try await requests.claim(call)
    }

    /// Reports that the other party, or the network, ended the call, for a reason that
    /// ``CallEndReason/isReportable``. It is no error if the call has ended already.
    ///
    /// - Throws: `refused` for another reason; `unknownCall`, `notOwned`, `noAnswer`.
    public func reportCall(with id: Call.ID, endReason: CallEndReason = .remoteEnded) async throws(CallError) {
        try await requests.reportEnd(id, endReason)
    }

    /// What the user wants, from now on, and what no reader has taken yet. Each action comes once, over restarts of the
    /// daemon.
    ///
    /// An action waits for the first reader, and in each stream, as long as its call is in progress: none is dropped. When
    /// more than 1,024 entries wait, those that do not matter any more go: the actions of calls that have ended, and an
    /// action whose time was over when the same was asked for again. The stream ends with the client, which lives as long
    /// as the stream is read.
    public var actions: AsyncStream<CallAction> {
        client.state.actions.stream(holding: client, on: client.queue)
    }

    /// Calls `body` with each of the ``actions``, on the client's thread. It must not block.
    @discardableResult
    public func observeActions(_ body: @escaping @Sendable (CallAction) -> Void) -> Observation {
        client.state.actions.observe(on: client.queue, body)
    }

    /// What happens to the app's calls. Events wait as ``actions`` do. When more than 1,024 wait, an event goes if a later
    /// one of its kind and call waits too, or if its call has ended.
    public var events: AsyncStream<CallEvent> { client.state.events.stream(holding: client, on: client.queue) }

    /// Calls `body` with each of the ``events``, on the client's thread. It must not block.
    @discardableResult
    public func observeEvents(_ body: @escaping @Sendable (CallEvent) -> Void) -> Observation {
        client.state.events.observe(on: client.queue, body)
    }

    /// The app's calls that have not ended, as far as the daemon has reported them, the oldest first.
    public var calls: [Call] { client.state.calls }
}
