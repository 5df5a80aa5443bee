internal import ControlProtocol
public import RingwakeCore
internal import RunLoop

/// Reports the app's calls to the daemon, and delivers the user's requests: CallKit's `CXProvider`.
///
///     let provider = CallProvider(client: client)
///     try await provider.reportIncomingCall(with: push.call, update: .init(caller: "sip:alice@example.org"))
///     for await action in provider.actions where action.kind == .answer {
///         try await phone.accept(action.call)
///         try await action.fulfill()
///     }
///
/// While the daemon does not run, for example during its restart, requests wait for it, at most for
/// ``RingwakeClient/Configuration/requestTimeout``. Cancelling the task does not cancel a request: it waits for the answer.
public final class CallProvider: Sendable {
    private let client: RingwakeClient
    private let requests: CallRequests

    /// All providers of a client get the same actions and events.
    public init(client: RingwakeClient) {
        self.client = client
        requests = CallRequests(requests: client.requests)
    }

    /// Reports that the call is real, and what is known about it. Returns when the call rings. Without `ringing` it returns
    /// when the call is reported, and the call rings after ``startRinging(_:)``, for example when the INVITE has arrived.
    ///
    /// - Throws: `filtered`, `busy`, `alreadyEnded`, `unknownCall`; `wrongState`: it is already reported; `notOwned`,
    ///   `noAnswer`.
    public func reportIncomingCall(
        with id: Call.ID, update: CallUpdate = .init(), ringing: Bool = true
    ) async throws(CallError) {
        try await requests.report(id, update, ringing: ringing)
    }

    /// Reports what has become known about a call, or has changed: who it is with, since it was transferred for example,
    /// video, what the app can do in it; CallKit's `reportCall(with:updated:)`. In every state until the call ends. A new
    /// caller without a name has none. An empty update does nothing, as in CallKit: nothing is sent, so it never fails.
    ///
    /// - Throws: `alreadyEnded`, `unknownCall`, `notOwned`, `noAnswer`.
    public func reportCall(with id: Call.ID, updated update: CallUpdate) async throws(CallError) {
        try await requests.update(id, update)
    }

    /// Confirms the reported call. Returns when it rings.
    ///
    /// - Throws: As ``reportIncomingCall(with:update:ringing:)``.
    public func startRinging(_ call: Call.ID) async throws(CallError) {
        try await requests.ring(call)
    }

    /// Configures the call's audio, before you fulfil the answer or later. The default is `playAndRecord` with
    /// `voiceChat`, or with `videoChat` for a call with video. This does not activate the audio: the daemon does that
    /// when you fulfil the answer, and sends an event.
    ///
    /// - Throws: `unknownCall`, `notOwned`, `alreadyEnded`, `noAnswer`.
    public func configureAudio(
        _ configuration: AudioSessionConfiguration, for call: Call.ID
    ) async throws(CallError) {
        try await requests.configureAudio(call, configuration)
    }

    /// Takes over a call that has lost its process. The user's open requests arrive as ``actions``.
    ///
    /// After a restart of the daemon the client claims the calls of this process by itself.
    /// - Throws: `wrongState`: it has a handler; `alreadyEnded`, `unknownCall`, `noAnswer`.
    public func claim(_ call: Call.ID) async throws(CallError) {
        try await requests.claim(call)
    }

    /// Reports that the other side of an outgoing call is being reached, for example that it rings; CallKit's
    /// `reportOutgoingCall(with:startedConnectingAt:)`. Fulfils the ``CallAction/Kind/start`` too, if that has not been done.
    ///
    /// - Throws: `wrongState`: it is no outgoing call; `unknownCall`, `notOwned`, `alreadyEnded`, `noAnswer`.
    public func reportOutgoingCallConnecting(with id: Call.ID) async throws(CallError) {
        try await requests.reportOutgoing(id, .connecting)
    }

    /// Reports that the other side of an outgoing call has answered; CallKit's `reportOutgoingCall(with:connectedAt:)`.
    ///
    /// - Throws: As ``reportOutgoingCallConnecting(with:)``.
    public func reportOutgoingCallConnected(with id: Call.ID) async throws(CallError) {
        try await requests.reportOutgoing(id, .connected)
    }

    /// Reports that the other party, or the network, ended the call, for a reason that
    /// ``CallEndReason/isReportable``, or ``CallEndReason/isReportableOfOutgoing`` of an outgoing call. It is not an error if
    /// the call has already ended.
    ///
    /// - Throws: `refused` for another reason; `unknownCall`, `notOwned`, `noAnswer`.
    public func reportCall(with id: Call.ID, endReason: CallEndReason = .remoteEnded) async throws(CallError) {
        try await requests.reportEnd(id, endReason)
    }

    /// The user's requests from now on, and earlier ones that no reader has taken yet. Each action arrives once, also over
    /// restarts of the daemon.
    ///
    /// While its call is in progress, an action waits for the first reader, and in each stream: none is dropped. If more
    /// than 1,024 entries wait, the client drops those that no longer matter: the actions of ended calls, and an action
    /// whose deadline had passed when the same action was requested again. The stream ends with the client, which lives as
    /// long as the stream is read.
    public var actions: AsyncStream<CallAction> {
        client.state.actions.stream(holding: client, on: client.queue)
    }

    /// Calls `body` with each of the ``actions``, on the client's thread. It must not block.
    @discardableResult
    public func observeActions(_ body: @escaping @Sendable (CallAction) -> Void) -> Observation {
        client.state.actions.observe(on: client.queue, body)
    }

    /// Events of the app's calls. Events wait as ``actions`` do. If more than 1,024 wait, the client drops an event if a
    /// later one of its kind and call waits too, or if its call has ended.
    public var events: AsyncStream<CallEvent> { client.state.events.stream(holding: client, on: client.queue) }

    /// Calls `body` with each of the ``events``, on the client's thread. It must not block.
    @discardableResult
    public func observeEvents(_ body: @escaping @Sendable (CallEvent) -> Void) -> Observation {
        client.state.events.observe(on: client.queue, body)
    }

    /// The app's calls that have not ended, as last reported by the daemon, the oldest first.
    public var calls: [Call] { client.state.calls }

    /// The ``calls`` now, and after each change: CallKit's `CXCallObserver`. A slow reader gets only the newest. The stream
    /// ends with the client, which lives as long as the stream is read.
    public var callListUpdates: AsyncStream<[Call]> {
        client.state.callList.stream(holding: client) { [client] in
            client.queue.post { [state = client.state] _ in state.callList.notifyNew() }
        }
    }
}
