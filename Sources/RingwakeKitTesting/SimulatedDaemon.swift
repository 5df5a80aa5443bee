internal import ControlProtocol
public import RingwakeCore
public import RingwakeKit
internal import Synchronization

/// A ringwaked for the tests of an app: no process, no socket, and a clock that the test moves.
///
///     let daemon = try SimulatedDaemon(app: "com.example.phone")
///     let client = try RingwakeClient(daemon)
///     // ... the app, on this client
///     daemon.push("c1", caller: "sip:alice@example.org")
///     try await daemon.call("c1", reaches: .ringing)
///     try daemon.user(.answer, "c1")
///     try await daemon.call("c1", reaches: .connected)
///
/// It uses the daemon's own state machines and messages, so it behaves as a daemon does. <doc:RingwakeKitTesting>
/// lists what it does not have.
///
/// Nothing happens by itself: ``advance(by:)`` moves the clock and meets deadlines without waiting. The client runs
/// on a thread of its own, as always; ``call(_:reaches:)`` waits until it has done its part.
public final class SimulatedDaemon: Sendable {
    private struct Guarded {
        var state: DaemonState
        /// A thread is delivering the outbox. Other threads leave the outbox to it, so that the order is kept.
        var isDelivering = false
    }

    private let guarded: Mutex<Guarded>
    /// The app's bundle id.
    public let app: String

    /// The team that its pushes come from.
    static let team = "SIMTEAM000"
    /// Where senders would push to: a name that no host has (RFC 2606), as nothing listens.
    static let pushHost = "phone.example"
    static let pushPort: UInt16 = 2197
    /// Stands for the path of the control socket.
    static let socketPath = "/simulated/control.sock"

    /// - Parameters:
    ///   - app: the bundle id of the app under test.
    ///   - settings: the configuration of app and daemon.
    /// - Throws: `invalidRequest`: `app` is not a bundle id.
    public init(app: String, settings: Settings = Settings()) throws(RingwakeKitError) {
        guard let id = AppID(app) else { throw RingwakeKitError(.invalidRequest, "'\(app)' is not a bundle id") }
        self.app = app
        guarded = Mutex(Guarded(state: DaemonState(app: id, settings: settings)))
    }

    /// Changes the state, then delivers the outbox.
    func with<Result: Sendable>(_ body: (inout DaemonState) -> Result) -> Result {
        let result = guarded.withLock { body(&$0.state) }
        deliver()
        return result
    }

    private func read<Result: Sendable>(_ body: (DaemonState) -> Result) -> Result {
        guarded.withLock { body($0.state) }
    }

    /// Runs the deliveries of the outbox, outside the lock, one thread at a time.
    private func deliver() {
        while true {
            let next = guarded.withLock { guarded -> [DaemonState.Delivery]? in
                guard !guarded.isDelivering, !guarded.state.outbox.isEmpty else { return nil }
                guarded.isDelivering = true
                defer { guarded.state.outbox = [] }
                return guarded.state.outbox
            }
            guard let next else { return }
            for deliver in next { deliver() }
            guarded.withLock { $0.isDelivering = false }
        }
    }

    // MARK: - Pushes

    /// Receives a push for a call. With the id of a known call it is an update of that one.
    ///
    /// - Parameters:
    ///   - call: the call's id; nil: from `payload` by the settings' preset, else the push's own id.
    ///   - caller: who calls; nil: from `payload` by the preset.
    ///   - callerName: the name to show; nil: likewise.
    ///   - hasVideo: whether the call has video; nil: likewise.
    ///   - payload: one JSON object, as the sender sends it.
    ///   - expiresAfter: when it is too late to ring (`apns-expiration`); nil: after the ring time.
    ///   - ringTime: how long it rings; nil: as the settings say.
    /// - Returns: False if the daemon refuses it: it has the maximum of calls, or is stopped.
    @discardableResult
    public func push(
        _ call: RingwakeKit.Call.ID? = nil, caller: String? = nil, callerName: String? = nil, hasVideo: Bool? = nil,
        payload: String = "{}", expiresAfter: Duration? = nil, ringTime: Duration? = nil
    ) -> Bool {
        let push = SimulatedPush(
            call: call?.rawValue, caller: caller, callerName: callerName, hasVideo: hasVideo, payload: payload,
            expiresAfter: expiresAfter, ringTime: ringTime)
        return with { $0.receive(push) }
    }

    /// Receives a push that cancels a call: the caller gave up, or it was answered or declined on another device. The
    /// reason is `cancelled`, `answeredElsewhere` or `declinedElsewhere`; others count as `cancelled`.
    @discardableResult
    public func cancel(_ call: RingwakeKit.Call.ID, reason: RingwakeKit.CallEndReason = .cancelled) -> Bool {
        let known = RingwakeCore.CallEndReason(rawValue: reason.rawValue).flatMap {
            RingwakeCore.CallEndReason.ofPushes.contains($0) ? $0 : nil
        }
        return with { $0.receive(SimulatedPush(call: call.rawValue, cancel: known ?? .cancelled)) }
    }

    // MARK: - The user

    /// Makes a user's request about a call, as the phone's own buttons or `ringwake call` do.
    ///
    /// Returns when the daemon has accepted it; ``call(_:reaches:)`` waits until the app has done its part.
    /// - Throws: the daemon's refusal.
    public func user(_ request: UserRequest, _ call: RingwakeKit.Call.ID) throws(SimulatedRefusal) {
        let target = RequestTarget("calls", call.rawValue, request.verb.rawValue, query: [("app", app)]).text
        if let refusal = with({ $0.user("POST", target, request.body) }) {
            throw SimulatedRefusal(code: refusal.error, message: refusal.message)
        }
    }

    /// Begins a call, as the phone's own buttons or `ringwake call start` do. The app gets a `start`.
    ///
    /// - Parameters:
    ///   - call: the call's id.
    ///   - to: who is called.
    ///   - name: the name to show.
    ///   - hasVideo: whether the call has video.
    ///   - others: what happens to other calls; nil: as the app's policy says.
    /// - Throws: the daemon's refusal.
    public func userStarts(
        _ call: RingwakeKit.Call.ID, to: String, name: String? = nil, hasVideo: Bool = false,
        others: RingwakeKit.OtherCalls? = nil
    ) throws(SimulatedRefusal) {
        let body = CallStart(
            app: app, to: to, name: name, video: hasVideo, call: call.rawValue, others: others?.rawValue)
        if let refusal = with({ $0.user("POST", "/v1/calls", controlJSON(body)) }) {
            throw SimulatedRefusal(code: refusal.error, message: refusal.message)
        }
    }

    // MARK: - Time

    /// Moves the clock. Meets each deadline on the way at its time: of reports, actions, the ring, claims.
    ///
    /// The client's own retries do not use this clock; they are too short to matter.
    public func advance(by duration: Duration) {
        with { $0.advance(by: duration) }
    }

    // MARK: - Calls

    /// All calls, also those that have ended, the oldest first.
    public var calls: [SimulatedCall] {
        read { state in
            let known = Array(state.coordinator.active.values) + state.coordinator.finished
            return known.sorted { $0.number < $1.number }.map { SimulatedCall(of: $0, rings: state.rings[$0.key] ?? 0) }
        }
    }

    /// One call; nil if there is none with that id.
    public func call(_ call: RingwakeKit.Call.ID) -> SimulatedCall? {
        read { state in
            let key = state.key(call)
            return state.coordinator.call(key).map { SimulatedCall(of: $0, rings: state.rings[key] ?? 0) }
        }
    }

    // MARK: - Audio

    /// Changes where the sound of calls goes and comes from, as somebody does who plugs something in or pulls it out.
    ///
    /// The app gets `CallEvent.audioRouteChanged` of the call whose audio is active; a call whose audio could not be
    /// activated is tried again. The next activations have the new route. At first there is a built-in speaker with a
    /// built-in microphone. The route outlives ``restart()``.
    ///
    /// - Parameters:
    ///   - route: the whole route. A machine without a microphone has no inputs, and `isInputAvailable` is false.
    ///   - reason: why it changes, as the app is told.
    public func setAudioRoute(_ route: AudioRoute, reason: AudioRouteChangeReason) {
        with { $0.changeAudio { $0.move(to: route, reason, at: $1) } }
    }

    /// Changes what the audio server does. The app gets `CallEvent.audioFailed` of a call that is answered or resumed
    /// while it refuses or is gone, and of one whose audio is active when it goes. When it is back, the call gets its
    /// audio. What the server does outlives ``restart()``.
    ///
    /// A call that was refused is tried again when the route or the call's audio configuration changes, not when the
    /// server stops refusing: no server says that it does.
    ///
    /// - Parameter server: what it does from now on. At first it is `available`.
    public func setAudioServer(_ server: SimulatedAudioServer) {
        with { $0.changeAudio { $0.change(to: server, at: $1) } }
    }

    // MARK: - The daemon's life

    /// Closes every connection, as a daemon does with clients that don't read. A self-connected handler loses its
    /// calls by that, until it claims them.
    public func disconnect() {
        with { $0.disconnect() }
    }

    /// Stops the daemon, as by `kill -9`: connections break, requests get no answer, the clock continues.
    public func stop() {
        with { $0.stop() }
    }

    /// Starts the daemon again, with its calls restored.
    public func start() {
        with { $0.start() }
    }

    /// Stops the daemon and starts it again immediately.
    public func restart() {
        with { state in
            state.stop()
            state.start()
        }
    }
}

extension RingwakeClient {
    /// A client of a simulated daemon, as a self-connected handler.
    ///
    /// - Throws: `system`: the kernel refuses a descriptor or a thread.
    public convenience init(_ daemon: SimulatedDaemon) throws(RingwakeKitError) {
        try self.init(.init(simulated: daemon.app), transport: SimulatedTransport.maker(daemon))
    }

    /// A client in the place of the handler that the daemon has started.
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
