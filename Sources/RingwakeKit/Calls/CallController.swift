internal import ControlProtocol

/// Controls calls for the user: CallKit's `CXCallController` and `CXCallObserver`.
///
///     let controller = CallController(client: client)
///     try await controller.request(CallTransaction(.hold("c1"), .answer("c2")))
///
/// Every app may use it for its own calls: those that its client has, and those that it begins with
/// ``start(to:name:hasVideo:id:app:others:)``. The daemon asks for each step in ``CallProvider/actions``, as when the user
/// does it, and notes that the app did. With `self_answer = false` the app may not answer: only the user may. Calls of
/// other apps are for the daemon's user, root and members of the socket's group, for example a phone's own interface
/// or a headset's button.
public final class CallController: Sendable {
    private let client: RingwakeClient

    public init(client: RingwakeClient) {
        self.client = client
    }

    /// Begins a call; CallKit's `CXStartCallAction`. The daemon first holds or ends other calls, and then asks the app for a
    /// ``CallAction/Kind/start``. It returns when the daemon has the call in its journal, whatever comes of it:
    /// ``CallProvider/events`` and ``calls()`` show that. A daemon that can't write its journal makes the call all the same.
    ///
    /// - Parameters:
    ///   - to: who is called: a SIP URI, a number, any handle that the app uses; 1 to 256 bytes.
    ///   - name: the name to show.
    ///   - hasVideo: whether the call has video.
    ///   - id: the call's id within its app; nil: a new UUID.
    ///   - app: the app that makes the call; nil: the client's own. Only the daemon's user and root may name another one.
    ///   - others: what happens to other calls; nil: as the app's policy says.
    /// - Throws: `refused`: the device is in a cellular call, another call can't be held, the id is taken, and so on;
    ///   `noAnswer`: it may have begun.
    @discardableResult
    public func start(
        to: String, name: String? = nil, hasVideo: Bool = false, id: Call.ID? = nil, app: String? = nil,
        others: OtherCalls? = nil
    ) async throws(CallError) -> Call {
        let isOwn = app == nil || app == client.requests.app
        let body = CallStart(
            app: app ?? client.requests.app, to: to, name: name, video: hasVideo ? true : nil, call: id?.rawValue,
            others: others?.rawValue)
        return try await CallRequests(requests: client.requests).start(body, by: isOwn ? .handler : .user)
    }

    /// Requests each step in order, and stops at the first that fails. A step is done when the daemon has accepted it;
    /// ``CallProvider/events`` and ``calls()`` show when the call's handler has done its part.
    ///
    /// - Throws: The step that failed, why, and the steps before it.
    public func request(_ transaction: CallTransaction) async throws(CallTransactionError) {
        var done: [CallTransaction.Step] = []
        for step in transaction.steps {
            do throws(CallError) {
                try await perform(step)
            } catch {
                throw CallTransactionError(failed: step, error: error, done: done)
            }
            done.append(step)
        }
    }

    /// Requests one step.
    public func request(_ step: CallTransaction.Step) async throws(CallTransactionError) {
        try await request(CallTransaction(step))
    }

    /// The device's calls that have not ended, the newest first: of every app if this user may see them.
    ///
    /// - Throws: `notPermitted`, `daemonNotRunning`, `timedOut`.
    public func calls() async throws(RingwakeKitError) -> [Call] {
        let message: CallListMessage = try await client.requests.answer(to: CallListDriver.request)
        return message.active
    }

    /// The ``calls()`` now, and after each change: CallKit's `CXCallObserver` for a phone's own interface, which shows
    /// the calls of every app. An app that shows its own calls reads ``CallProvider/callListUpdates``.
    ///
    /// A list is always complete; a process in the unit of a handler gets the calls of its own app. While the daemon is
    /// away, no list comes; when it is back, the list as it is then, if it differs. A slow reader gets only the newest.
    /// The client follows all calls only while a stream is read. Each stream ends with the client, which lives as long
    /// as one is read.
    ///
    /// The iteration throws a ``RingwakeKitError`` with the code `notPermitted` if this process is neither the daemon's
    /// user nor root nor in the group of the socket. Every other failure is retried.
    public var callListUpdates: AsyncThrowingStream<[Call], any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: [Call].self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let reader = CallListDriver.Reader(continuation)
        let id = ObjectIdentifier(reader)
        // Called when the stream ends or its last reader is gone. It keeps the client until then.
        continuation.onTermination = { [client] _ in client.queue.post { $0.callList.remove(id) } }
        if !client.queue.post({ $0.callList.add(reader) }) { continuation.finish() }
        return stream
    }

    private func perform(_ step: CallTransaction.Step) async throws(CallError) {
        let message: CallMessage
        do throws(RingwakeKitError) {
            message = try await send(step)
        } catch {
            throw await cause(of: error, step)
        }
        let isEnd = step.request == .end || step.request == .decline
        if !isEnd, let error = message.endError { throw error }
    }

    private func send(_ step: CallTransaction.Step) async throws(RingwakeKitError) -> CallMessage {
        let requests = client.requests
        let (verb, body): (CallVerb, [UInt8]) =
            switch step.request {
            case .answer(let others): (.answer, controlJSON(CallAnswer(others: others?.rawValue)))
            case .unhold(let others): (.unhold, controlJSON(CallAnswer(others: others?.rawValue)))
            case .dtmf(let digits): (.dtmf, controlJSON(CallDigits(digits: digits)))
            case .merge(let other): (.merge, controlJSON(CallMerge(with: other.rawValue)))
            case .decline: (.decline, [])
            case .end: (.end, [])
            case .hold: (.hold, [])
            case .mute: (.mute, [])
            case .unmute: (.unmute, [])
            }
        let target = RequestTarget(
            "calls", step.call.rawValue, verb.rawValue, query: [("app", step.app ?? requests.app)])
        return try await requests.answer(to: RequestQueue.Request(sender(of: step), "POST", target, body: body))
    }

    /// For a call of its own an app needs no other right than that it has the call.
    private func sender(of step: CallTransaction.Step) -> ControlRequest.Sender {
        let isOwn = step.app == nil || step.app == client.requests.app
        return isOwn && client.state.calls.contains { $0.id == step.call && $0.isOwn } ? .handler : .user
    }

    /// Why the daemon refused a step. If the call has ended, returns that. Otherwise keeps the daemon's message: it
    /// names causes that the call's state doesn't show, such as another call that could not be held, or an action in
    /// progress.
    private func cause(of error: RingwakeKitError, _ step: CallTransaction.Step) async -> CallError {
        guard error.code == .conflict else { return CallError(error) }
        let target = RequestTarget("calls", step.call.rawValue, query: [("app", step.app ?? client.requests.app)])
        do throws(RingwakeKitError) {
            let message: CallMessage = try await client.requests.user("GET", target)
            return message.endError ?? CallError(error)
        } catch {
            return CallError(error)
        }
    }
}
