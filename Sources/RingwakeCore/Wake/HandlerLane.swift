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
/// | transition | function |
/// |---|---|
/// | no handler -> starting | ``begin(_:with:at:)`` |
/// | starting -> serving | ``started(_:pid:)`` |
/// | serving -> idle | ``ended(_:of:at:)`` |
/// | idle -> serving | ``take(_:by:at:)`` |
/// | any -> stopping | ``stop(_:at:)`` |
/// | any -> no handler | ``gone(_:at:)`` |
///
/// What holds: with `instances = app` there is at most one handler; a waiting call belongs to no handler; a call that
/// belongs to one does not wait.
package struct HandlerLane: Hashable, Sendable, Codable {
    /// One start of a handler.
    package struct Handler: Hashable, Sendable, Codable {
        /// Its process; nil until it runs.
        package var pid: Int32?
        /// The calls that it has and that have not ended.
        package var calls: [CallKey]
        /// It was asked to end: nothing is handed to it any more.
        package var isStopping = false
        /// Since when it has no call.
        package var idleSince: BootInstant?
    }

    /// How many handlers the app may have.
    package private(set) var instances: HandlerInstances
    /// The handlers that have been started and have not ended.
    package private(set) var handlers: [WakeID: Handler] = [:]
    /// The calls that no handler has, in the order of their arrival.
    package private(set) var waiting: [CallKey] = []
    /// How long a handler without a call may leave those that wait.
    private var patience: Duration
    /// Since when calls wait although the handler has nothing to do.
    private var neglectedSince: BootInstant?

    init(policy: AppPolicy) {
        instances = policy.instances
        patience = policy.deadlines.report
    }

    /// Whether nothing is left to keep in mind.
    var isEmpty: Bool { handlers.isEmpty && waiting.isEmpty }

    /// When ``neglectful(at:)`` has something to say.
    var nextDeadline: BootInstant? { neglectedSince?.advanced(by: patience) }

    /// Whether a new call may have a handler of its own now; else it has to wait.
    func hasPlace(under policy: AppPolicy) -> Bool {
        policy.instances == .call || handlers.isEmpty
    }

    /// The handler that a waiting call can be fetched by: of several, as there are after a change of `instances`, the
    /// one that was started first.
    var taker: WakeID? {
        guard instances == .app else { return nil }
        return handlers.lazy.filter { !$0.value.isStopping }.map(\.key).min()
    }

    /// The app's configuration counts from the next call on.
    mutating func adopt(_ policy: AppPolicy, at now: BootInstant) {
        instances = policy.instances
        patience = policy.deadlines.report
        noteNeglect(at: now)
    }

    /// A handler is being started for `call`.
    mutating func begin(_ wake: WakeID, with call: CallKey, at now: BootInstant) {
        waiting.removeAll { $0 == call }
        handlers[wake] = Handler(calls: [call])
        noteNeglect(at: now)
    }

    /// The handler's process runs.
    mutating func started(_ wake: WakeID, pid: Int32) {
        handlers[wake]?.pid = pid
    }

    /// `call` waits until a handler fetches it or there is a place for one.
    mutating func wait(_ call: CallKey, at now: BootInstant) {
        waiting.append(call)
        noteNeglect(at: now)
    }

    /// The handler fetched a waiting call. True when it had no call before.
    mutating func take(_ call: CallKey, by wake: WakeID, at now: BootInstant) -> Bool {
        waiting.removeAll { $0 == call }
        let wasIdle = handlers[wake]?.idleSince != nil
        handlers[wake]?.calls.append(call)
        handlers[wake]?.idleSince = nil
        noteNeglect(at: now)
        return wasIdle
    }

    /// A call is over: it no longer waits, and its handler no longer has it. True when that was the handler's last.
    mutating func ended(_ call: CallKey, of wake: WakeID?, at now: BootInstant) -> Bool {
        waiting.removeAll { $0 == call }
        defer { noteNeglect(at: now) }
        guard let wake, handlers[wake] != nil else { return false }
        handlers[wake]?.calls.removeAll { $0 == call }
        guard handlers[wake]?.calls.isEmpty == true else { return false }
        handlers[wake]?.idleSince = now
        return true
    }

    /// The handler is to end. False when it was asked before, or has ended.
    mutating func stop(_ wake: WakeID, at now: BootInstant) -> Bool {
        guard handlers[wake]?.isStopping == false else { return false }
        handlers[wake]?.isStopping = true
        // The next one in line has its own time.
        neglectedSince = nil
        noteNeglect(at: now)
        return true
    }

    /// The handler is gone, or never came.
    ///
    /// - Returns: the calls that it had.
    mutating func gone(_ wake: WakeID, at now: BootInstant) -> [CallKey] {
        if taker == wake { neglectedSince = nil }
        let calls = handlers.removeValue(forKey: wake)?.calls ?? []
        noteNeglect(at: now)
        return calls
    }

    /// The handler that has nothing to do and leaves calls waiting, once it is time to replace it.
    func neglectful(at now: BootInstant) -> WakeID? {
        guard let deadline = nextDeadline, deadline <= now else { return nil }
        return taker
    }

    /// To be called after every change: a time that outlived its reason would make ``nextDeadline`` lie in the past.
    private mutating func noteNeglect(at now: BootInstant) {
        guard !waiting.isEmpty, let taker, handlers[taker]?.idleSince != nil else {
            neglectedSince = nil
            return
        }
        neglectedSince = neglectedSince ?? now
    }
}
