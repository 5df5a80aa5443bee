/// All calls of this device: the one place that decides what a push, a handler and a user bring about.
///
///     pushReceived --its call is known--> updated, cancelled, duplicate or too late
///          |
///          +--expired----------> a Call that has ended: missed
///          +--restricted-------> a Call that has ended: kept out
///          +--too many calls---> refused
///          |
///          +--> a new Call in `active` --a handler keeps a connection--> delivered to it
///                    |         |   --its app's handler runs already--> waits, until fetched or the handler exits
///                    |         |                                               |
///                    |         +--struck out--> rung by the daemon, or missed  |
///                    +------------------- wake <-------------------------------+
///                    |  every other event goes to its call's CallStateMachine, its app's HandlerLane
///                    v
///               `finished`, the last ones, so that a repeated push starts no second ring
///
/// | event | function, in the file |
/// |---|---|
/// | pushReceived | ``receive(_:_:_:at:)``, `+Pushes` |
/// | pushJournaled, ringJournaled, ringNotJournaled | `+Journal` |
/// | restored, handlersRestored | `+Restoring` |
/// | handlerStarted, handlerNotStarted, handlerExited, pushesFetched | `+Handlers` |
/// | handlerConnected, handlerDisconnected, claimed | `+Connections` |
/// | strikesRestored, strikesCleared | `+Strikes` |
/// | answerRequested, holdRequested, cellularChanged | `+Others` |
/// | networkChanged | `+Calls` |
/// | all else that concerns one call | ``settle(_:at:by:noting:updating:restricting:isCharged:_:)``, `+Calls` |
///
/// What holds after every event:
/// - a call id of an app is in `active` or in `finished`, never in both;
/// - each call in `active` has not ended and has a deadline; each in `finished` has ended;
/// - each call in `active` either waits in its app's lane, or belongs to one of the lane's handlers, or is made to ring
///   by the daemon without one;
/// - at most one call waits for others to be held or ended for it;
/// - a push that is not refused is handed to the journal exactly once;
/// - `active` and `finished` are bounded by ``Limits``, strikes by ``StrikeRecord/maximum``.
///
/// A value without clock and I/O: the driver says what time it is, runs the effects in order, and keeps one timer
/// at ``nextDeadline``.
package struct CoordinatorStateMachine: Hashable, Sendable {
    /// How much is kept.
    package struct Limits: Hashable, Sendable {
        /// Calls of one app that run at a time, and handlers of it.
        package var activeCallsOfAnApp = 512
        /// Calls of all apps that run at a time, and handlers.
        package var activeCalls = 1024
        /// Calls that are remembered after their end.
        package var finishedCalls = 1024

        package init() {}
    }

    /// The calls that run.
    package internal(set) var active: [CallKey: Call] = [:] {
        didSet { isDeadlineStale = true }
    }
    /// The handlers of each app that has any, and the calls that wait for one.
    package internal(set) var lanes: [AppID: HandlerLane] = [:] {
        didSet { isDeadlineStale = true }
    }
    /// When ``Event/deadlineReached`` is due; nil while no call runs.
    package private(set) var nextDeadline: BootInstant?
    /// The calls that ended last, the oldest first.
    package private(set) var finished: [Call] = []
    /// The strikes of each app that has any.
    var strikeRecords: [AppID: StrikeRecord] = [:]
    /// The call that waits for others to be held or ended.
    var waiter: Waiter?
    /// The number of the next call.
    package internal(set) var nextCallNumber: Int64
    /// The number of the next start of a handler.
    package internal(set) var nextWakeNumber: UInt64

    private var finishedIndex: [CallKey: Int] = [:]
    private var finishedDropped = 0
    /// Whether something changed since `nextDeadline` was found: a repeated push must not cost a look at every call.
    private var isDeadlineStale = false
    let limits: Limits
    /// Whether a cellular call of the device goes on.
    package internal(set) var isCellularActive = false
    /// Apps whose handlers or strikes the event at hand has changed; empty between two events.
    var changedApps: [AppID] = []
    /// Apps that the event at hand has struck out, whose waiting calls have to be told; empty between two events.
    var newlyStruckOut: [AppID] = []

    /// - Parameters:
    ///   - firstCallNumber: higher than that of every call that the journal knows.
    ///   - firstWakeNumber: higher than that of every handler that may run still.
    package init(firstCallNumber: Int64 = 1, firstWakeNumber: UInt64 = 1, limits: Limits = Limits()) {
        nextCallNumber = firstCallNumber
        nextWakeNumber = firstWakeNumber
        self.limits = limits
    }

    /// The call of this name, running or among the last that ended.
    package func call(_ key: CallKey) -> Call? {
        active[key] ?? finishedIndex[key].map { finished[$0 - finishedDropped] }
    }

    /// The process of the handler that has this call; nil when there is none, or none any more.
    package func process(of call: Call) -> Int32? {
        call.handler.flatMap { lanes[call.key.app]?.handlers[$0]?.pid }
    }

    /// Applies one event at `now` and says what to do, in order. What was due before is done first.
    package mutating func handle(_ event: Event, at now: BootInstant) -> [Effect] {
        var effects = advance(to: now)
        if !effects.isEmpty { effects += followUp(at: now) }
        effects += apply(event, at: now)
        effects += followUp(at: now)
        for app in changedApps { effects.append(.appChanged(app)) }
        changedApps = []
        if isDeadlineStale { findDeadline() }
        return effects
    }

    /// What an event brings about for calls that it does not concern by itself.
    private mutating func followUp(at now: BootInstant) -> [Effect] {
        var effects: [Effect] = []
        if !newlyStruckOut.isEmpty { effects = withholdWaiting(at: now) }
        if waiter != nil { effects += proceed(at: now) }
        return effects
    }

    /// The app's handlers or strikes have changed, which the driver is told once.
    mutating func noteChange(of app: AppID) {
        if !changedApps.contains(app) { changedApps.append(app) }
    }

    private mutating func findDeadline() {
        let calls = active.values.compactMap(\.machine.nextDeadline).min()
        let handlers = lanes.values.compactMap(\.nextDeadline).min()
        nextDeadline = [calls, handlers].compactMap(\.self).min()
        isDeadlineStale = false
    }

    private mutating func advance(to now: BootInstant) -> [Effect] {
        guard let due = nextDeadline, due <= now else { return [] }
        let late = active.values.filter { ($0.machine.nextDeadline ?? now) <= now }
            .sorted {
                ($0.machine.nextDeadline ?? now, $0.number) < ($1.machine.nextDeadline ?? now, $1.number)
            }
        var effects = late.flatMap { call in
            let fallback = fallback(for: call)
            return settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in
                machine.advance(to: now, fallback: fallback)
            }
        }
        for app in lanes.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if let wake = lanes[app]?.neglectful(at: now) {
                effects += stopHandler(wake, of: app, at: now)
            }
            if lanes[app]?.isUnattended(at: now) == true { effects += fallBackUnattended(app, at: now) }
        }
        return effects
    }

    private mutating func apply(_ event: Event, at now: BootInstant) -> [Effect] {
        switch event {
        case .pushReceived(let push, let facts, let policy, let restriction):
            return receive(push, facts, policy, restriction, at: now)
        case .pushJournaled(let key, let number, let isKnown):
            return pushJournaled(key, number: number, isKnown: isKnown, at: now)
        case .ringJournaled(let key, let number, let isKnown):
            return ringJournaled(key, number: number, isKnown: isKnown, at: now)
        case .ringNotJournaled(let key, let number):
            return ringNotJournaled(key, number: number, at: now)
        case .restored(let call, let policy):
            return restore(call, policy, at: now)
        case .handlersRestored(let app, let handlers, let alive, let policy):
            return restoreHandlers(handlers, of: app, alive: alive, policy, at: now)
        case .strikesRestored(let app, let strikes, let isStruckOut):
            return restoreStrikes(strikes, of: app, isStruckOut: isStruckOut)
        case .strikesCleared(let app):
            return clearStrikes(of: app, at: now)
        case .handlerConnected(let app, let wake, let pid, let policy):
            return handlerConnected(app, wake, pid: pid, policy, at: now)
        case .handlerDisconnected(let wake):
            return handlerDisconnected(wake, at: now)
        case .claimed(let key, let wake):
            return claim(key, by: wake, at: now)
        case .cellularChanged(let isActive):
            return cellularChanged(isActive, at: now)
        case .handlerStarted(let wake, let pid):
            return handlerStarted(wake, pid: pid, at: now)
        case .handlerNotStarted(let wake, let why):
            return handlerGone(wake, .didNotStart, why, at: now)
        case .handlerExited(let wake, let exit):
            return handlerGone(wake, .exited, "the handler \(exit)", inGoodOrder: exit.isInGoodOrder, at: now)
        case .pushesFetched(let wake):
            return fetch(by: wake, at: now)
        case .networkChanged:
            return networkChanged()
        default:
            return applyToCall(event, at: now)
        }
    }

    /// Puts a call where it belongs: among those that run, or among those that ended.
    mutating func file(_ call: Call) {
        guard call.machine.hasEnded else {
            active[call.key] = call
            return
        }
        if active[call.key] != nil { active[call.key] = nil }
        if let index = finishedIndex[call.key] {
            finished[index - finishedDropped] = call
            return
        }
        finishedIndex[call.key] = finishedDropped + finished.count
        finished.append(call)
        // Dropped in batches: taking the first element of an array moves all the others.
        guard finished.count >= limits.finishedCalls * 2 else { return }
        let surplus = finished.count - limits.finishedCalls
        for call in finished.prefix(surplus) {
            finishedIndex[call.key] = nil
        }
        finished.removeFirst(surplus)
        finishedDropped += surplus
    }
}
