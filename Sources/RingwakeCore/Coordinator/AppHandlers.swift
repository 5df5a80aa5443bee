/// The handlers of all apps: one ``HandlerLane`` per app that has any, and the strikes against them.
///
/// Notes the apps whose handlers or strikes an event changes, so that they are stored once per event.
struct AppHandlers: Hashable, Sendable {
    /// The handlers of each app that has any, and the calls that wait for one.
    private(set) var lanes: [AppID: HandlerLane] = [:]
    /// The number of the next start of a handler.
    private(set) var nextWakeNumber: UInt64
    private(set) var strikes = StrikeRecords()
    /// Apps whose handlers or strikes the current event has changed.
    private var changed: [AppID] = []
    /// Apps that the current event has struck out.
    private var newlyStruckOut: [AppID] = []

    /// The maximum number of self-connected handlers per app: each needs a connection.
    private static let maximumGuests = 8

    init(firstWakeNumber: UInt64) {
        nextWakeNumber = firstWakeNumber
    }

    var nextDeadline: BootInstant? { lanes.values.lazy.compactMap(\.nextDeadline).min() }

    /// The number of all handlers.
    var count: Int { lanes.values.reduce(0) { $0 + $1.handlers.count } }

    /// The app of a handler that has not ended.
    func app(of wake: WakeID) -> AppID? { lanes.first { $0.value.handlers[wake] != nil }?.key }

    func handler(_ wake: WakeID, of app: AppID) -> HandlerLane.Handler? { lanes[app]?.handlers[wake] }

    /// The app's calls without a handler.
    func waiting(_ app: AppID) -> [CallKey] { lanes[app]?.waiting ?? [] }

    /// Whether a call of the app gets a handler at once: a connected one, or a new one.
    func hasPlace(_ app: AppID) -> Bool { lanes[app].map { $0.receiver != nil || $0.hasPlace } ?? false }

    /// The handler that can fetch the app's waiting calls; nil if the app is struck out.
    func fetcher(of app: AppID) -> WakeID? { strikes.isStruckOut(app) ? nil : lanes[app]?.taker }

    /// The apps that the current event has changed. Call it once after each event.
    mutating func takeChanges() -> [AppID] {
        defer { changed = [] }
        return changed
    }

    /// Apps whose waiting calls no longer get a handler.
    mutating func takeNewlyStruckOut() -> [AppID] {
        defer { newlyStruckOut = [] }
        return newlyStruckOut
    }

    private mutating func noteChange(of app: AppID) {
        if !changed.contains(app) { changed.append(app) }
    }

    private mutating func makeWake() -> WakeID {
        defer { nextWakeNumber += 1 }
        return WakeID(number: nextWakeNumber)
    }

    /// Reserves the number of a handler that was started earlier: new ones get higher numbers.
    mutating func skip(_ wake: WakeID) { skip(to: wake.number + 1) }

    /// The next handler gets this number, or a higher one.
    mutating func skip(to number: UInt64) { nextWakeNumber = max(nextWakeNumber, number) }

    // MARK: - Start and end of handlers

    /// Applies the app's configuration to handlers that are started from now on.
    mutating func adopt(_ policy: AppPolicy, of app: AppID, at now: BootInstant) {
        lanes[app, default: HandlerLane(policy: policy)].adopt(policy, at: now)
    }

    /// A handler is being started for `call`.
    mutating func begin(with call: CallKey, at now: BootInstant) -> WakeID {
        let wake = makeWake()
        lanes[call.app]?.begin(wake, with: call, at: now)
        noteChange(of: call.app)
        return wake
    }

    /// A handler has connected by itself. Nil if the app has the maximum number of these.
    mutating func join(_ app: AppID, pid: Int32?, _ policy: AppPolicy, at now: BootInstant) -> WakeID? {
        guard lanes[app]?.guests ?? 0 < Self.maximumGuests else { return nil }
        let wake = makeWake()
        adopt(policy, of: app, at: now)
        lanes[app]?.join(wake, pid: pid, at: now)
        noteChange(of: app)
        return wake
    }

    /// The handler's process runs.
    mutating func started(_ wake: WakeID, of app: AppID, pid: Int32?) {
        lanes[app]?.started(wake, pid: pid)
        noteChange(of: app)
    }

    /// The handler has connected or disconnected.
    mutating func setConnected(
        _ wake: WakeID, of app: AppID, _ isConnected: Bool, pid: Int32? = nil, at now: BootInstant
    ) {
        lanes[app]?.setConnected(wake, isConnected, pid: pid, at: now)
        noteChange(of: app)
    }

    /// Stops a handler, unless it is stopping already.
    mutating func stop(_ wake: WakeID, of app: AppID, at now: BootInstant) -> [Effect] {
        guard lanes[app]?.stop(wake, at: now) == true else { return [] }
        noteChange(of: app)
        return [.stopHandler(wake)]
    }

    /// Stops all handlers of an app.
    mutating func stopAll(of app: AppID, at now: BootInstant) -> [Effect] {
        (lanes[app]?.handlers.keys.sorted() ?? []).flatMap { stop($0, of: app, at: now) }
    }

    /// Stops the handler that had a call, unless it has other calls.
    mutating func stopIfIdle(_ wake: WakeID?, of app: AppID, at now: BootInstant) -> [Effect] {
        guard let wake, handler(wake, of: app)?.calls.isEmpty == true else { return [] }
        return stop(wake, of: app, at: now)
    }

    /// Stops a handler that was started in vain, unless it has other calls. A connected one continues.
    mutating func dismissIfIdle(_ wake: WakeID?, of app: AppID, at now: BootInstant) -> [Effect] {
        guard let wake, handler(wake, of: app)?.isConnected == false else { return [] }
        return stopIfIdle(wake, of: app, at: now)
    }

    /// The handler is gone, or did not start.
    ///
    /// - Returns: its calls.
    mutating func gone(_ wake: WakeID, of app: AppID, at now: BootInstant) -> [CallKey] {
        noteChange(of: app)
        return lanes[app]?.gone(wake, at: now) ?? []
    }

    /// Restores the handlers of the last run that are alive, with the calls in `calls` that belong to them.
    mutating func restore(
        _ handlers: [WakeID: HandlerLane.Handler], of app: AppID, alive: Set<WakeID>, _ policy: AppPolicy,
        _ calls: [Call], at now: BootInstant
    ) -> [Effect] {
        adopt(policy, of: app, at: now)
        noteChange(of: app)
        var effects: [Effect] = []
        for (wake, former) in handlers.sorted(by: { $0.key < $1.key }) {
            skip(wake)
            guard alive.contains(wake), handler(wake, of: app) == nil else { continue }
            var restored = former
            // A handler that was being stopped had no call, even if a row that was not updated in time says otherwise.
            restored.calls = restored.isStopping ? [] : calls.filter { $0.handler == wake }.map(\.key)
            // Connections ended with the daemon.
            restored.isConnected = false
            restored.idleSince = restored.calls.isEmpty ? now : nil
            lanes[app]?.resume(wake, restored, at: now)
            if restored.isStopping {
                effects.append(.stopHandler(wake))
            } else if restored.calls.isEmpty {
                effects.append(.releaseHandler(wake))
            }
        }
        return effects
    }

    /// Forgets an app without handlers and waiting calls.
    mutating func dropIfEmpty(_ app: AppID) {
        if lanes[app]?.isEmpty == true { lanes[app] = nil }
    }

    // MARK: - Calls

    /// Queues the call for a handler.
    ///
    /// - Parameter position: the number of calls that stay before it; nil: all.
    mutating func wait(_ call: CallKey, _ policy: AppPolicy, position: Int? = nil, at now: BootInstant) {
        lanes[call.app, default: HandlerLane(policy: policy)].wait(call, position: position, at: now)
    }

    /// The handler gets a waiting call. Returns whether the handler had been released before.
    mutating func take(_ call: CallKey, by wake: WakeID, at now: BootInstant) -> Bool {
        lanes[call.app]?.take(call, by: wake, at: now) ?? false
    }

    /// The call has ended or lost its handler: it no longer waits, and `wake` no longer has it. Returns whether that
    /// was the handler's last call, so that the handler is to be released.
    mutating func ended(_ call: CallKey, of wake: WakeID?, at now: BootInstant) -> Bool {
        defer { dropIfEmpty(call.app) }
        return lanes[call.app]?.ended(call, of: wake, at: now) ?? false
    }

    /// Whether the app's calls have waited long enough for a self-connected handler.
    mutating func isUnattended(_ app: AppID, at now: BootInstant) -> Bool {
        lanes[app]?.isUnattended(at: now) ?? false
    }

    // MARK: - Strikes

    /// A handler failed in this call.
    mutating func strike(_ failure: HandlerFailure, in call: Call, at now: BootInstant) -> [Effect] {
        let app = call.key.app
        noteChange(of: app)
        let strike = Strike(at: now, failure: failure, call: call.key.id)
        guard strikes.add(strike, of: app, call.policy.strikes) else { return [.strike(call.key, failure)] }
        newlyStruckOut.append(app)
        return [.strike(call.key, failure), .struckOut(app, true)]
    }

    mutating func restore(_ strikes: [Strike], of app: AppID, isStruckOut: Bool) {
        self.strikes.restore(strikes, of: app, isStruckOut: isStruckOut)
    }

    /// - Returns: nil if the app had no strikes.
    mutating func clearStrikes(of app: AppID) -> [Effect]? {
        guard let wasStruckOut = strikes.clear(app) else { return nil }
        noteChange(of: app)
        return wasStruckOut ? [.struckOut(app, false)] : []
    }
}
