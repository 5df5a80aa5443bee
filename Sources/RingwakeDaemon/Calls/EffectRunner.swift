internal import ControlProtocol
internal import HandlerActivation
internal import Logging
internal import PushGateway
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// Drives the coordinator: gives it events with the time, runs its effects in order, keeps its one timer.
///
/// An event that comes up while effects run waits until they are done: whoever listens hears of one event's changes
/// before those that follow from them.
final class EffectRunner {
    /// All calls. Read freely; changed by ``submit(_:)`` and what stands beside it alone.
    private(set) var coordinator: CoordinatorStateMachine
    /// The settings in force, and the apps whose handlers can be started.
    var configuration: Configuration
    /// What handlers did not do, by app, since the start.
    var strikes: [AppID: UInt64] = [:]
    /// Told after each event, and what followed from it, of what has changed.
    var onChanges: [(Changes) -> Void] = []
    /// Told of each push that was taken, when its handler is being woken.
    var onArrival: (() -> Void)?
    /// Told of a call that ended and that nobody took or refused.
    var onMissed: ((Call) -> Void)?

    let journal: PushJournal
    let handlers: HandlerLeases
    let events: EventStreams
    let screen: CallScreen
    let logger: Logger
    private let runLoop: RunLoop
    private let wallClock: () -> Int64
    private var timer: (token: Timer, deadline: BootInstant)?
    /// What is to be told of calls when the disk has what happened to them.
    var heldBack: [CallKey: HeldBack] = [:]
    let reader: JournalReader
    /// What the network offered when it last changed.
    var path: PathMessage?
    /// Who waits to hear what became of what was asked of a call.
    private var waiters: [CallKey: [(Result<Call, EventRefusal>) -> Void]] = [:]

    private var isRunning = false
    /// Events that came up while effects ran.
    private var queue: [Submission] = []
    private var changes = Changes()

    /// What one event and its consequences changed.
    struct Changes {
        var calls: Set<CallKey> = []
        var apps: Set<AppID> = []
        /// Whether anything was done at all that the coordinator's views may show.
        var isEmpty: Bool { calls.isEmpty && apps.isEmpty }
    }

    /// A call's deadline may be met this much later, so that deadlines that lie together cost one wakeup.
    private static let deadlineTolerance = Duration.milliseconds(200)

    init(
        configuration: Configuration, runLoop: RunLoop, journal: PushJournal, handlers: HandlerLeases,
        events: EventStreams, screen: CallScreen, logger: Logger,
        wallClock: @escaping () -> Int64 = { unixMilliseconds() }
    ) {
        coordinator = CoordinatorStateMachine()
        self.configuration = configuration
        self.runLoop = runLoop
        self.journal = journal
        reader = JournalReader(journal: journal, runLoop: runLoop)
        self.handlers = handlers
        self.events = events
        self.screen = screen
        self.logger = logger
        self.wallClock = wallClock
    }

    /// The present time, as the coordinator counts it.
    var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    /// The calls with this id, running or among the last that ended: at most one of each app.
    func calls(named id: CallID) -> [Call] {
        let running = coordinator.active.values.filter { $0.key.id == id }
        return running + coordinator.finished.filter { $0.key.id == id }
    }

    /// The rules of an app that is configured.
    func policy(of app: AppID) -> AppPolicy? { configuration.apps[app]?.policy }

    /// Begins with a coordinator that has numbers above those of the last run.
    ///
    /// - Parameter lastWake: the highest number that a handler of the last run has.
    func begin(after contents: JournalContents, lastWake: UInt64) {
        coordinator = CoordinatorStateMachine(
            firstCallNumber: contents.nextCallNumber, firstWakeNumber: lastWake + 1)
        coordinator.remember(contents.recent)
    }

    /// What the journal has of a call that only a late repeat brought to mind.
    func correct(_ record: CallRecord) { coordinator.correct(record) }

    /// Takes a push over, wakes its handler, and answers when the journal has it: `accepted`, or why not.
    func receive(_ push: VerifiedPush, answer: @escaping (DeliveryOutcome) -> Void) {
        guard let app = configuration.apps[push.app], journal.hasRoom else {
            logger.warning(
                "push cannot be taken now",
                metadata: [
                    "app": "\(push.app)", "apns-id": "\(push.apnsID)",
                    "why": "\(configuration.apps[push.app] == nil ? "its app is gone" : journal.complaint)",
                ])
            return answer(.refused(.serviceUnavailable))
        }
        let read = app.mapping.facts(
            in: push.payload, receivedAt: push.receivedAt, wallClock: wallClock())
        var facts = read.facts
        for problem in read.problems {
            logger.notice(
                "payload is not what the app's [payload] says",
                metadata: ["app": "\(push.app)", "apns-id": "\(push.apnsID)", "problem": "\(problem)"])
        }
        let key = coordinator.key(of: push, facts)
        let isKnown = facts.cancel != nil || coordinator.call(key) != nil
        let restriction = isKnown ? nil : screen.restriction(of: key, &facts, app, at: now)
        defer { onArrival?() }
        let event = Event.pushReceived(push, facts, app.policy, restriction)
        if submit(event, answer: answer) != nil {
            answer(.refused(.tooManyRequests))
        }
    }

    /// What keeps a call out that its handler is about to report; nil also where it is none to be reported.
    func restriction(ofReport update: inout CallUpdate, of key: CallKey) -> Restriction? {
        guard let call = coordinator.active[key], let app = configuration.apps[key.app] else { return nil }
        switch call.machine.state {
        case .queued, .woken: return screen.restriction(ofReport: &update, of: call, app, at: now)
        default: return nil
        }
    }

    /// What waits for a handler, which has it from now on.
    func fetchPushes(by wake: WakeID) throws(EventRefusal) -> [WakeRequest] {
        var requests: [WakeRequest] = []
        if let refusal = submit(.pushesFetched(wake), handOver: { requests = $0 }) { throw refusal }
        return requests
    }

    /// Calls `body` when it is settled what became of what was asked of the call: at once, unless the journal is being
    /// asked whether it rings, or other calls are being held for it.
    func whenSettled(_ key: CallKey, _ body: @escaping (Result<Call, EventRefusal>) -> Void) {
        guard let call = coordinator.call(key) else { return body(.failure(.unknownCall(key))) }
        guard isUnsettled(call) else { return body(.success(call)) }
        waiters[key, default: []].append(body)
    }

    /// Those who wait for this call are told why it could not be done.
    func unsettle(_ key: CallKey, _ refusal: EventRefusal) {
        for body in waiters.removeValue(forKey: key) ?? [] { body(.failure(refusal)) }
    }

    private func isUnsettled(_ call: Call) -> Bool {
        if case .confirmed = call.machine.state { return true }
        return coordinator.waitsForOthers(call.key)
    }

    /// An event and who waits for what comes of it.
    private struct Submission {
        let event: Event
        /// For a push: called when the journal has it.
        var answer: ((DeliveryOutcome) -> Void)?
        /// For a fetch: called with what is fetched.
        var handOver: (([WakeRequest]) -> Void)?
        /// For a handler that connects by itself: called with which one it is.
        var connected: ((WakeID) -> Void)?
    }

    /// Applies one event, and those that running its effects leads to. Returns why the event was refused, if it was;
    /// then it changed nothing. An event that comes up while effects run waits for its turn, and those who wait for what
    /// comes of it hear of that then; a push that is refused then is answered so.
    @discardableResult
    func submit(
        _ event: Event, answer: ((DeliveryOutcome) -> Void)? = nil, handOver: (([WakeRequest]) -> Void)? = nil,
        connected: ((WakeID) -> Void)? = nil
    ) -> EventRefusal? {
        let submission = Submission(event: event, answer: answer, handOver: handOver, connected: connected)
        guard !isRunning else {
            queue.append(submission)
            return nil
        }
        isRunning = true
        let refusal = apply(submission)
        var next = 0
        while next < queue.count {
            if apply(queue[next]) != nil { queue[next].answer?(.refused(.tooManyRequests)) }
            next += 1
        }
        queue = []
        isRunning = false
        tellOfChanges()
        return refusal
    }

    private func apply(_ submission: Submission) -> EventRefusal? {
        var refusal: EventRefusal?
        // A call that came too late is over when the journal gets it: it need not be written once more.
        var appended: Int64?
        for effect in coordinator.handle(submission.event, at: now) {
            switch effect {
            case .refused(let why): refusal = refusal ?? why
            case .handOver(let requests): submission.handOver?(requests)
            case .connected(let wake): submission.connected?(wake)
            case .journalPush(let push, let payloads, let call):
                if push.outcome == .expired { appended = call?.number }
                append(push, payloads, call, submission.answer)
            case .callChanged(let call):
                changes.calls.insert(call.key)
                changed(call, isAppended: appended == call.number)
            case .callNoted(let call):
                changes.calls.insert(call.key)
                note(call)
            default: run(effect)
            }
        }
        armTimer()
        return refusal
    }

    /// An app's handlers or strikes are not what they were.
    func noteChange(of app: AppID) { changes.apps.insert(app) }

    private func tellOfChanges() {
        if !changes.isEmpty {
            let told = changes
            changes = Changes()
            for observer in onChanges { observer(told) }
        }
        for key in waiters.keys {
            guard let call = coordinator.call(key) else { continue }
            if !isUnsettled(call) {
                for body in waiters.removeValue(forKey: key) ?? [] { body(.success(call)) }
            }
        }
    }

    private func armTimer() {
        let deadline = coordinator.nextDeadline
        guard deadline != timer?.deadline else { return }
        if let timer {
            runLoop.cancel(timer.token)
        }
        timer = deadline.map { deadline in
            let token = runLoop.schedule(
                at: BootClock.Instant(nanoseconds: deadline.nanoseconds), tolerance: EffectRunner.deadlineTolerance
            ) { [weak self] in
                self?.timer = nil
                self?.submit(.deadlineReached)
            }
            return (token, deadline)
        }
    }
}
