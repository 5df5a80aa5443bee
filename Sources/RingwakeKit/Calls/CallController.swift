internal import ControlProtocol

/// Controls calls for the user: CallKit's `CXCallController` and `CXCallObserver`.
///
///     let controller = CallController(client: client)
///     try await controller.request(CallTransaction(.hold("c1"), .answer("c2")))
///
/// Only the daemon's user and root may use it, for example for a phone's own interface or a headset's button. The
/// daemon refuses a handler that runs as another user, or in a systemd unit that the daemon started; such a handler
/// uses ``CallProvider/actions``. Every app may ``start(to:name:hasVideo:id:app:others:)`` calls of its own.
public final class CallController: Sendable {
    private let client: RingwakeClient

    public init(client: RingwakeClient) {
        self.client = client
    }

    /// Begins a call; CallKit's `CXStartCallAction`. The daemon first holds or ends other calls, and then asks the app for a
    /// ``CallAction/Kind/start``. It returns when the daemon has the call in its journal, whatever comes of it:
    /// ``CallProvider/events`` and ``calls()`` show that.
    ///
    /// - Parameters:
    ///   - to: who is called: a SIP URI, a number, any handle that the app uses; 1 to 256 bytes.
    ///   - name: the name to show.
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
        let target = RequestTarget("calls", query: [("limit", "1")])
        let message: CallListMessage = try await client.requests.user("GET", target)
        return message.calls.map { Call($0) }.filter { $0.state != .ended }
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
        let target = { (verb: CallVerb) in
            RequestTarget("calls", step.call.rawValue, verb.rawValue, query: [("app", step.app ?? requests.app)])
        }
        return switch step.request {
        case .answer(let others): try await requests.user("POST", target(.answer), CallAnswer(others: others?.rawValue))
        case .unhold(let others): try await requests.user("POST", target(.unhold), CallAnswer(others: others?.rawValue))
        case .dtmf(let digits): try await requests.user("POST", target(.dtmf), CallDigits(digits: digits))
        case .decline: try await requests.user("POST", target(.decline))
        case .end: try await requests.user("POST", target(.end))
        case .hold: try await requests.user("POST", target(.hold))
        case .mute: try await requests.user("POST", target(.mute))
        case .unmute: try await requests.user("POST", target(.unmute))
        }
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
