internal import ControlProtocol
internal import RingwakeCore

/// All of a simulated daemon: the coordinator that decides, the clock that is set by hand, and who is connected.
///
/// What is to be told is put into ``outbox``, and told when the lock around this value is free again.
struct DaemonState: Sendable {
    /// Something to be told, in its turn.
    typealias Delivery = @Sendable () -> Void

    let app: AppID
    var settings: SimulatedDaemon.Settings
    var policy: AppPolicy { settings.policy }
    /// All calls. Read freely; changed by ``submit(_:on:)`` alone.
    var coordinator = CoordinatorStateMachine()
    /// Who may be heard: as with a daemon that touches no audio server. Read freely; changed by ``submit(_:on:)`` alone.
    var audio = AudioArbiter(settings: .withoutEngine)
    var audioNeeds = CallAudioNeeds.none
    /// The present, on the clock that only ``advance(by:)`` moves.
    var now = BootInstant(nanoseconds: 3_600_000_000_000)
    var rules = ScreeningRules()
    var lists = CallerLists()
    /// What the network offered when it last changed.
    var path: PathMessage?
    /// The device tokens by environment; empty once they were invalidated.
    var tokens: [PushEnvironment: DeviceToken] = [:]
    var tokensMade: UInt8 = 0
    var handlers: [WakeID: SimulatedHandler] = [:]
    var streams: [UInt64: EventStream] = [:]
    var lastStream: UInt64 = 0
    var clientsMade: UInt64 = 0
    /// Starts of a handler that nobody has looked at.
    var starts: [SimulatedStart] = []
    var waits: [UInt64: Wait] = [:]
    var cancelledWaits: Set<UInt64> = []
    var lastWait: UInt64 = 0
    /// How often each call began to ring.
    var rings: [CallKey: Int] = [:]
    /// False between ``stop()`` and ``start()``.
    var isRunning = true
    var pushesSent = 0
    var outbox: [Delivery] = []

    /// Events that came up while effects ran.
    private var queue: [Event] = []
    private var isSubmitting = false
    /// Requests that wait to hear what became of what they asked for.
    private var unsettled: [CallKey: [Unsettled]] = [:]

    private struct Unsettled {
        /// What to tell, of what became of it.
        let answer: @Sendable (Result<Call, EventRefusal>) -> Delivery
        /// What to tell when the daemon ends before that.
        let dropped: Delivery
    }

    init(app: AppID, settings: SimulatedDaemon.Settings) {
        self.app = app
        self.settings = settings
    }

    // MARK: - Events and effects

    /// What an event brought at once, for whoever caused it.
    struct Outcome {
        var refusal: EventRefusal?
        var handedOver: [WakeRequest] = []
        var journaled = false
    }

    /// Applies one event, and those that follow from it.
    /// - Parameter stream: of a handler that connects by itself: the stream that it keeps.
    @discardableResult
    mutating func submit(_ event: Event, on stream: PendingStream? = nil) -> Outcome {
        guard !isSubmitting else {
            queue.append(event)
            return Outcome()
        }
        isSubmitting = true
        let outcome = apply(event, stream)
        var next = 0
        followAudio()
        while next < queue.count {
            _ = apply(queue[next], nil)
            followAudio()
            next += 1
        }
        queue = []
        isSubmitting = false
        settle()
        tellWaits()
        return outcome
    }

    private mutating func apply(_ event: Event, _ stream: PendingStream?) -> Outcome {
        var outcome = Outcome()
        for effect in coordinator.handle(event, at: now) {
            switch effect {
            case .refused(let why): outcome.refusal = outcome.refusal ?? why
            case .handOver(let requests): outcome.handedOver += requests
            case .connected(let wake): if let stream { join(wake, stream) }
            case .journalPush(_, _, let call):
                outcome.journaled = true
                // The disk of this daemon answers at once, and never fails.
                if let call { queue.append(.pushJournaled(call.key, number: call.number, isKnown: false)) }
            case .journalRing(let call):
                queue.append(.ringJournaled(call.key, number: call.number, isKnown: false))
            case .wake(let request): start(request)
            case .deliver(let request): send(DeliveryMessage.line(request, at: now), to: request.wake)
            case .stopHandler(let wake): stopHandler(wake)
            case .releaseHandler, .retainHandler, .appChanged: break
            default: tell(effect)
            }
        }
        return outcome
    }

    /// What concerns whoever listens.
    private mutating func tell(_ effect: Effect) {
        switch effect {
        case .callChanged(let call):
            if case .ringing = call.machine.state, !wasRinging.contains(call.number) {
                wasRinging.insert(call.number)
                rings[call.key, default: 0] += 1
            } else if call.machine.state.name != .ringing {
                wasRinging.remove(call.number)
            }
            publish(EventMessage(change: call, at: now), of: call.key)
        case .request(let action, let key): publish(EventMessage(action: action, of: key, at: now), of: key)
        case .pushWaits(_, let key, let kind): publish(EventMessage(waiting: key, kind), of: key)
        case .pushIgnored(let push, let key, let outcome):
            publish(EventMessage(ignored: push, key, outcome), of: key)
        case .strike(let key, let failure): publish(EventMessage(strike: key, failure), of: key)
        case .struckOut(let app, let isOut): publish(EventMessage(struckOut: app, isOut), of: nil)
        case .restricted(let key, let restriction): publish(EventMessage(restricted: key, restriction), of: key)
        case .callMissed(let call): publish(EventMessage(missed: call), of: call.key)
        case .tellAudio(let call, let change): publish(EventMessage(audio: change, of: call), of: call.key)
        case .tellPath(let key): if let path { publish(EventMessage(path: path, of: key), of: key) }
        case .othersStayed(let key): unsettle(key, .othersStay(key))
        default: break
        }
    }

    /// Calls, by number, that ring: each change of a ringing call is told, and only the first is a ring.
    private var wasRinging: Set<Int64> = []

    // MARK: - What is asked of a call

    /// Answers once it is settled what became of what was asked of the call.
    mutating func whenSettled(
        _ key: CallKey, dropped: @escaping Delivery,
        _ answer: @escaping @Sendable (Result<Call, EventRefusal>) -> Delivery
    ) {
        guard let call = coordinator.call(key) else { return outbox.append(answer(.failure(.unknownCall(key)))) }
        guard isUnsettled(call) else { return outbox.append(answer(.success(call))) }
        unsettled[key, default: []].append(Unsettled(answer: answer, dropped: dropped))
    }

    private mutating func unsettle(_ key: CallKey, _ refusal: EventRefusal) {
        for waiter in unsettled.removeValue(forKey: key) ?? [] { outbox.append(waiter.answer(.failure(refusal))) }
    }

    private func isUnsettled(_ call: Call) -> Bool {
        if case .confirmed = call.machine.state { return true }
        return coordinator.waitsForOthers(call.key)
    }

    private mutating func settle() {
        for key in unsettled.keys {
            guard let call = coordinator.call(key), !isUnsettled(call) else { continue }
            for waiter in unsettled.removeValue(forKey: key) ?? [] { outbox.append(waiter.answer(.success(call))) }
        }
    }

    /// Whoever waits for an answer gets none: the daemon is gone.
    mutating func dropUnsettled() {
        for waiter in unsettled.values.joined() { outbox.append(waiter.dropped) }
        unsettled = [:]
    }

    // MARK: - Time

    /// Moves the clock, and meets on the way each deadline at its time.
    mutating func advance(by duration: Duration) {
        let target = now.advanced(by: max(.zero, duration))
        while isRunning, let due = coordinator.nextDeadline, due <= target {
            now = max(now, due)
            submit(.deadlineReached)
        }
        now = target
    }

    /// The present by the clock on the wall: a Wednesday at noon when the daemon was made.
    var moment: LocalMoment {
        let passed = now.nanoseconds / 1_000_000 - 3_600_000
        let minute = 12 * 60 + passed / 60_000
        return LocalMoment(
            weekday: Int((2 + minute / 1440) % 7) + 1, minuteOfDay: Int(minute % 1440),
            wallMilliseconds: 1_767_787_200_000 + passed)
    }

    /// When a call's push arrived, as the control API writes times.
    func arrival(of call: Call) -> String {
        let age = call.receivedAt.duration(to: now).milliseconds
        return UTCTime(milliseconds: moment.wallMilliseconds - age).description
    }

    func key(_ call: some RawRepresentable<String>) -> CallKey { key(call.rawValue) }

    func key(_ call: String) -> CallKey { CallKey(app: app, id: CallID(call)) }
}
