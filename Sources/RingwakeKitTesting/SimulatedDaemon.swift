internal import RingwakeCore
public import RingwakeKit
internal import Synchronization

/// A ringwaked in the tests of an app: no process, no socket, and a clock that the test sets.
///
///     let daemon = try SimulatedDaemon(app: "com.example.phone")
///     let client = try RingwakeClient(daemon)
///     // ... the app, on this client
///     daemon.push("c1", caller: "sip:alice@example.org")
///     try await daemon.call("c1", reaches: .ringing)
///     try daemon.user(.answer, "c1")
///     try await daemon.call("c1", reaches: .connected)
///
/// It decides with the daemon's own state machines and speaks with the daemon's own messages, so that it says what a
/// daemon says. What it does not have is listed in <doc:RingwakeKitTesting>.
///
/// Nothing happens by itself: ``advance(by:)`` moves the clock, and deadlines are met at their time without waiting. The
/// client runs on a thread of its own, as always; ``call(_:reaches:)`` waits until it has done its part.
public final class SimulatedDaemon: Sendable {
    private struct Guarded {
        var state: DaemonState
        /// Somebody is telling what is in the outbox: in order, so nobody else may.
        var isTelling = false
    }

    private let guarded: Mutex<Guarded>
    /// The app's bundle id.
    public let app: String

    /// The team that its pushes come from.
    static let team = "SIMTEAM000"
    /// What stands for the path of its control socket.
    static let socketPath = "/simulated/control.sock"

    /// - Parameters:
    ///   - app: the bundle id of the app under test.
    ///   - settings: what its file, and the daemon's, would say.
    /// - Throws: `invalidRequest`: that is none.
    public init(app: String, settings: Settings = Settings()) throws(RingwakeKitError) {
        guard let id = AppID(app) else { throw RingwakeKitError(.invalidRequest, "'\(app)' is not a bundle id") }
        self.app = app
        var state = DaemonState(app: id, settings: settings)
        state.renewTokens()
        guarded = Mutex(Guarded(state: state))
    }

    /// Does something to the state, and then tells what came of it.
    func with<Result: Sendable>(_ body: (inout DaemonState) -> Result) -> Result {
        let result = guarded.withLock { body(&$0.state) }
        tell()
        return result
    }

    private func read<Result: Sendable>(_ body: (DaemonState) -> Result) -> Result {
        guarded.withLock { body($0.state) }
    }

    /// Runs what waits in the outbox, outside of the lock, one thread at a time.
    private func tell() {
        while true {
            let next = guarded.withLock { guarded -> [DaemonState.Delivery]? in
                guard !guarded.isTelling, !guarded.state.outbox.isEmpty else { return nil }
                guarded.isTelling = true
                defer { guarded.state.outbox = [] }
                return guarded.state.outbox
            }
            guard let next else { return }
            for deliver in next { deliver() }
            guarded.withLock { $0.isTelling = false }
        }
    }

    // MARK: - The sender's side

    /// A push for a call comes in. With the id of a call that is known it says more of that one.
    ///
    /// - Parameters:
    ///   - call: the call's id; nil: what `payload` says by the settings' preset, else the push's own id.
    ///   - caller: who calls; nil: what `payload` says by the preset.
    ///   - callerName: the name to show; nil likewise.
    ///   - hasVideo: whether it has video; nil likewise.
    ///   - payload: one JSON object, as the sender sends it.
    ///   - expiresAfter: when the call is no longer worth ringing for (`apns-expiration`); nil: when its ring time is over.
    ///   - ringTime: how long it rings; nil: as the settings say.
    /// - Returns: False when the daemon refuses it: as many calls run as may, or it is stopped.
    @discardableResult
    public func push(
        _ call: String? = nil, caller: String? = nil, callerName: String? = nil, hasVideo: Bool? = nil,
        payload: String = "{}", expiresAfter: Duration? = nil, ringTime: Duration? = nil
    ) -> Bool {
        let push = SimulatedPush(
            call: call, caller: caller, callerName: callerName, hasVideo: hasVideo, payload: payload,
            expiresAfter: expiresAfter, ringTime: ringTime)
        return with { $0.receive(push) }
    }

    /// The sender takes a call back: the caller gave up, or it was answered or declined on another device. The reason is
    /// `cancelled`, `answeredElsewhere` or `declinedElsewhere`; others count as `cancelled`.
    @discardableResult
    public func cancel(_ call: String, reason: RingwakeKit.CallEndReason = .cancelled) -> Bool {
        let known = RingwakeCore.CallEndReason(rawValue: reason.rawValue).flatMap {
            RingwakeCore.CallEndReason.ofPushes.contains($0) ? $0 : nil
        }
        return with { $0.receive(SimulatedPush(call: call, cancel: known ?? .cancelled)) }
    }

    // MARK: - The user's side

    /// The user does something to a call, with the phone's own buttons or `ringwake call`.
    ///
    /// Returns when it has been asked for; that the app has done its part is seen by ``call(_:reaches:)``.
    /// - Throws: The daemon refuses it, in its own words.
    public func user(_ request: UserRequest, _ call: String) throws(SimulatedRefusal) {
        let refusal = with { state -> EventRefusal? in
            guard state.isRunning else { return nil }
            return state.submit(request.event(state.key(call))).refusal
        }
        if let refusal { throw SimulatedRefusal(refusal, of: request) }
    }

    // MARK: - Time

    /// Moves the clock. Each deadline on the way is met at its time: of reports, of actions, of the ring, of claims.
    ///
    /// The client's own retries are not on this clock; they are too short to be waited for.
    public func advance(by duration: Duration) {
        with { $0.advance(by: duration) }
    }

    // MARK: - Calls

    /// All calls that run, and those that have ended, the oldest first.
    public var calls: [SimulatedCall] {
        read { state in
            let known = Array(state.coordinator.active.values) + state.coordinator.finished
            return known.sorted { $0.number < $1.number }.map { SimulatedCall($0, rings: state.rings[$0.key] ?? 0) }
        }
    }

    /// One call; nil when there is none of that name.
    public func call(_ call: String) -> SimulatedCall? {
        read { state in
            let key = state.key(call)
            return state.coordinator.call(key).map { SimulatedCall($0, rings: state.rings[key] ?? 0) }
        }
    }

    // MARK: - The daemon's life

    /// Every connection breaks, and the daemon goes on: as of a client that did not read. A handler that came by itself
    /// has lost its calls by that, until it claims them.
    public func disconnect() {
        with { state in
            for number in state.streams.keys.sorted() {
                guard let stream = state.streams[number] else { continue }
                state.outbox.append(stream.sink.end)
                state.closeStream(number)
            }
        }
    }

    /// The daemon is gone, as by `kill -9`: connections break, requests are not answered, the clock goes on.
    public func stop() {
        with { $0.stop() }
    }

    /// The daemon is back, and has taken up its calls.
    public func start() {
        with { $0.start() }
    }

    /// The daemon ends and is back at once.
    public func restart() {
        with { state in
            state.stop()
            state.start()
        }
    }
}

extension RingwakeClient {
    /// A client of a simulated daemon, as a handler that came by itself.
    ///
    /// - Throws: `system`: the kernel refuses a descriptor or a thread.
    public convenience init(_ daemon: SimulatedDaemon) throws(RingwakeKitError) {
        try self.init(.init(simulated: daemon.app), transport: SimulatedTransport.maker(daemon))
    }

    /// A client in the part of the handler that the daemon has started.
    ///
    /// - Throws: `system`: the kernel refuses a descriptor or a thread.
    public convenience init(_ daemon: SimulatedDaemon, started start: SimulatedStart) throws(RingwakeKitError) {
        var configuration = Configuration(simulated: daemon.app)
        configuration.secret = start.secret
        configuration.initialPush = try IncomingPush(json: start.input)
        try self.init(configuration, transport: SimulatedTransport.maker(daemon))
    }
}

extension RingwakeClient.Configuration {
    fileprivate init(simulated app: String) {
        self.init(app: app, socketPath: SimulatedDaemon.socketPath)
        // A restart of a simulated daemon takes no time.
        firstRetry = .milliseconds(1)
        lastRetry = .milliseconds(20)
    }
}
