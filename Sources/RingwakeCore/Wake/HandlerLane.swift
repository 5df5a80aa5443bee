/// One app's handlers, and the calls that wait for one: single-flight.
///
///     no handler --admit--> starting --started--> serving <--take, admit-- idle
///        ^                     |                    |  |                    ^ |
///        |                     |                    |  +--- last call ends -+ | waiting calls, and not fetched
///        |                     v                    v                         v within the report deadline
///        +------ exited ---- (its calls fail) <-- stopping <------------------+
///        |
///        +--> another one at once, if calls wait
///
///     connected: serving or idle; calls are delivered to it; it is never neglectful, and never released
///
/// | transition | function |
/// |---|---|
/// | no handler -> starting | ``begin(_:with:at:)`` |
/// | no handler -> idle, connected | ``join(_:pid:at:)`` |
/// | starting -> serving | ``started(_:pid:)`` |
/// | serving -> idle | ``ended(_:of:at:)`` |
/// | idle -> serving | ``take(_:by:at:)`` |
/// | any -> connected, and back | ``setConnected(_:_:pid:at:)`` |
/// | any -> stopping | ``stop(_:at:)`` |
/// | any -> no handler | ``gone(_:at:)`` |
///
/// What holds: with `instances = app` at most one handler is started at a time; a waiting call belongs to no handler; a
/// call that belongs to one does not wait.
package struct HandlerLane: Hashable, Sendable {
    /// One start of a handler, or one handler that connected by itself.
    package struct Handler: Hashable, Sendable {
        /// Its process; nil until it runs, or if unknown.
        package var pid: Int32?
        /// The call that it was started for; nil for a self-connected handler.
        package var origin: CallKey?
        /// Its calls that have not ended.
        package var calls: [CallKey]
        /// Whether it is connected to the daemon.
        package var isConnected: Bool
        /// Whether it connected by itself: the daemon didn't start it.
        package var cameByItself: Bool
        /// Whether it was asked to exit: it gets no more calls.
        package var isStopping: Bool
        /// Since when it has no call; nil if it has one.
        package var idleSince: BootInstant?

        package init(
            pid: Int32? = nil, origin: CallKey? = nil, calls: [CallKey] = [], isConnected: Bool = false,
            cameByItself: Bool = false, isStopping: Bool = false, idleSince: BootInstant? = nil
        ) {
            self.pid = pid
            self.origin = origin
            self.calls = calls
            self.isConnected = isConnected
            self.cameByItself = cameByItself
            self.isStopping = isStopping
            self.idleSince = idleSince
        }

        /// Whether it was notified that it may exit.
        package var isReleased: Bool { idleSince != nil && !isConnected && !isStopping }
    }

    /// The number of handlers that the app may have.
    package private(set) var instances: HandlerInstances
    /// The handlers that were started or connected, and have not ended.
    package private(set) var handlers: [WakeID: Handler] = [:]
    /// The calls without a handler: first those that lost theirs, then new ones in the order of arrival.
    package private(set) var waiting: [CallKey] = []
    /// How long calls may wait for an idle handler to fetch them, or for a handler to connect by itself.
    private var timeout: Duration
    /// Since when calls wait although the handler is idle, or although none is there and none is started.
    private var neglectedSince: BootInstant?

    /// Whether the daemon starts a handler if there is none.
    private var isStarted: Bool

    init(policy: AppPolicy) {
        instances = policy.instances
        isStarted = policy.isStarted
        timeout = policy.deadlines.report
    }

    /// Whether it has neither handlers nor waiting calls.
    var isEmpty: Bool { handlers.isEmpty && waiting.isEmpty }

    /// When to ask ``neglectful(at:)`` and ``isUnattended(at:)``.
    var nextDeadline: BootInstant? { neglectedSince?.advanced(by: timeout) }

    /// Until when calls wait for a handler that connects by itself; nil: they wait for another one, or none waits.
    var unattendedDeadline: BootInstant? { isStarted || taker != nil ? nil : nextDeadline }

    /// Whether a handler may be started for another call; if not, the call has to wait.
    var hasPlace: Bool { isStarted && (instances == .call || handlers.isEmpty) }

    /// Whether there is another handler for a call whose handler left: the daemon starts one, or one is connected.
    var findsAnother: Bool { isStarted || receiver != nil }

    /// The handler that calls are delivered to: the newest connected one.
    package var receiver: WakeID? {
        handlers.lazy.filter { $0.value.isConnected && !$0.value.isStopping }.map(\.key).max()
    }

    /// - Parameter preferred: gets calls if it is connected.
    func receiver(preferring preferred: WakeID?) -> WakeID? {
        guard let preferred, let handler = handlers[preferred], handler.isConnected, !handler.isStopping else {
            return receiver
        }
        return preferred
    }

    /// The number of self-connected handlers.
    var guests: Int { handlers.values.count { $0.cameByItself } }

    /// The handler that can fetch waiting calls: the receiver, otherwise the one that was started first. There may be
    /// several after a change of `instances`.
    var taker: WakeID? {
        if let receiver { return receiver }
        guard instances == .app else { return nil }
        return handlers.lazy.filter { !$0.value.isStopping }.map(\.key).min()
    }

    /// Applies the app's configuration to handlers that are started from now on.
    mutating func adopt(_ policy: AppPolicy, at now: BootInstant) {
        instances = policy.instances
        isStarted = policy.isStarted
        timeout = policy.deadlines.report
        noteNeglect(at: now)
    }

    /// A handler is being started for `call`.
    mutating func begin(_ wake: WakeID, with call: CallKey, at now: BootInstant) {
        waiting.removeAll { $0 == call }
        handlers[wake] = Handler(origin: call, calls: [call])
        noteNeglect(at: now)
    }

    /// A handler has connected by itself.
    mutating func join(_ wake: WakeID, pid: Int32?, at now: BootInstant) {
        handlers[wake] = Handler(pid: pid, isConnected: true, cameByItself: true, idleSince: now)
        noteNeglect(at: now)
    }

    /// Restores a handler of the daemon's last run that still runs.
    mutating func resume(_ wake: WakeID, _ handler: Handler, at now: BootInstant) {
        handlers[wake] = handler
        noteNeglect(at: now)
    }

    /// The handler's process runs.
    mutating func started(_ wake: WakeID, pid: Int32?) {
        handlers[wake]?.pid = pid
    }

    /// The handler has connected or disconnected.
    mutating func setConnected(_ wake: WakeID, _ isConnected: Bool, pid: Int32? = nil, at now: BootInstant) {
        handlers[wake]?.isConnected = isConnected
        if let pid { handlers[wake]?.pid = pid }
        noteNeglect(at: now)
    }

    /// Queues `call` until a handler fetches it or there is room for another handler.
    ///
    /// - Parameter position: the number of calls that stay before it; nil: all.
    mutating func wait(_ call: CallKey, position: Int? = nil, at now: BootInstant) {
        waiting.insert(call, at: min(position ?? waiting.count, waiting.count))
        noteNeglect(at: now)
    }

    /// The handler got a waiting call. Returns whether the handler had been released before.
    mutating func take(_ call: CallKey, by wake: WakeID, at now: BootInstant) -> Bool {
        waiting.removeAll { $0 == call }
        let wasReleased = handlers[wake]?.isReleased ?? false
        handlers[wake]?.calls.append(call)
        handlers[wake]?.idleSince = nil
        noteNeglect(at: now)
        return wasReleased
    }

    /// A call has ended or lost its handler: it no longer waits, and its handler no longer has it. Returns whether that
    /// was the handler's last call, so that the handler is to be released.
    mutating func ended(_ call: CallKey, of wake: WakeID?, at now: BootInstant) -> Bool {
        waiting.removeAll { $0 == call }
        defer { noteNeglect(at: now) }
        guard let wake, let handler = handlers[wake], handler.calls.contains(call) else { return false }
        handlers[wake]?.calls.removeAll { $0 == call }
        guard handlers[wake]?.calls.isEmpty == true else { return false }
        handlers[wake]?.idleSince = now
        return !handler.isConnected
    }

    /// Marks the handler as stopping. Returns false if it was marked already, or has ended.
    mutating func stop(_ wake: WakeID, at now: BootInstant) -> Bool {
        guard handlers[wake]?.isStopping == false else { return false }
        handlers[wake]?.isStopping = true
        // The next handler gets its own timeout.
        neglectedSince = nil
        noteNeglect(at: now)
        return true
    }

    /// The handler is gone, or did not start.
    ///
    /// - Returns: its calls.
    mutating func gone(_ wake: WakeID, at now: BootInstant) -> [CallKey] {
        if taker == wake { neglectedSince = nil }
        let calls = handlers.removeValue(forKey: wake)?.calls ?? []
        noteNeglect(at: now)
        return calls
    }

    /// Whether calls have waited long enough for a handler to connect by itself, if none is started. If so, the timeout
    /// starts again.
    mutating func isUnattended(at now: BootInstant) -> Bool {
        guard let deadline = unattendedDeadline, deadline <= now else { return false }
        neglectedSince = now
        return true
    }

    /// The idle handler that leaves calls waiting, once it is time to replace it.
    func neglectful(at now: BootInstant) -> WakeID? {
        guard let deadline = nextDeadline, deadline <= now else { return nil }
        return taker
    }

    /// Call it after every change: an outdated start time would leave ``nextDeadline`` in the past.
    private mutating func noteNeglect(at now: BootInstant) {
        neglectedSince = isNeglected ? neglectedSince ?? now : nil
    }

    private var isNeglected: Bool {
        guard !waiting.isEmpty else { return false }
        guard let taker else { return !isStarted }
        return handlers[taker].map { $0.idleSince != nil && !$0.isConnected } ?? false
    }
}
