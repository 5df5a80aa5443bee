internal import CallService
internal import ControlProtocol
internal import RingwakeCore
internal import RingwakeKit
internal import RunLoop

/// The state of a simulated daemon: the daemon's call service, a clock that is set by hand, a disk that never fails,
/// and clients in the place of processes.
///
/// It puts deliveries to clients and tests into ``outbox``. The owner runs them after it has released its lock.
struct DaemonState: Sendable {
    typealias Delivery = @Sendable () -> Void

    let app: AppID
    private var settings: SimulatedDaemon.Settings
    private(set) var service = CallServiceStateMachine()
    private var audio = SimulatedAudio()
    /// The current time. Only ``advance(by:)`` moves it.
    private(set) var now = BootInstant(nanoseconds: 3_600_000_000_000)
    private var lists = CallerLists()
    private var registration = SimulatedRegistration()
    private var modems: [TelephonyMessage.Modem] = []
    private var exchanges: [RequestID: SimulatedExchange] = [:]
    private var lastRequest: UInt64 = 0
    private var lastClient: Int32 = 0
    private var pushesSent = 0
    /// Handlers that were started and have not exited.
    private var processes: Set<WakeID> = []
    /// Starts of a handler that no test has taken.
    var starts: [SimulatedStart] = []
    /// How often each call began to ring.
    private(set) var rings: [CallKey: Int] = [:]
    /// Calls that ring, by number.
    private var ringing: Set<Int64> = []
    /// False between ``stop()`` and ``start()``.
    private(set) var isRunning = true
    private var waits = Waits()
    var outbox: [Delivery] = []
    private var queue = EventQueue<ServiceEvent>()
    /// Whether the push in progress was refused.
    private var isPushRefused = false

    init(app: AppID, settings: SimulatedDaemon.Settings) {
        self.app = app
        self.settings = settings
        service = CallServiceStateMachine(settings.configuration(of: app))
        register { $0.renewTokens() }
    }

    var coordinator: CoordinatorStateMachine { service.coordinator }

    // MARK: - Events and effects

    /// Applies an event, and those that follow from it.
    private mutating func submit(_ event: ServiceEvent) {
        guard queue.begin(event) else { return }
        var next: ServiceEvent? = event
        while let event = next {
            for effect in service.handle(event, at: now, asking: host) { run(effect) }
            updateAudio()
            next = queue.next()
        }
        resumeWaits()
    }

    private mutating func run(_ effect: ServiceEffect) {
        switch effect {
        case .respond(let id, let status, let json): respond(id, ControlAnswer(status: status, body: json))
        case .refuseForNow(let id, _, let json): respond(id, ControlAnswer(status: 429, body: json))
        case .respondBytes(let id, let bytes): respond(id, ControlAnswer(status: 200, body: bytes))
        case .begin(let id): deliver(.opened, to: id)
        case .send(let id, let lines, _):
            for line in lines.split(separator: UInt8(ascii: "\n")) { deliver(.line(Array(line)), to: id) }
        case .end(let id): end(id, .ended)
        case .forward(let request): forward(request)
        case .start(let request, let secret): start(request, secret)
        case .stop(let wake): exited(wake, .signalled(15))
        case .release, .retain, .payloadProblem, .senderClock, .write, .storeRestoration, .dropState: break
        case .note(.callChanged(let call)): countRings(of: call)
        case .note: break
        case .refuse: isPushRefused = true
        case .append(_, _, let call, _, _, _):
            if let call { submit(.calls(.pushJournaled(call.key, number: call.number, isKnown: false))) }
        case .appendRing(let call): submit(.calls(.ringJournaled(call.key, number: call.number, isKnown: false)))
        case .barrier(let then): submit(.resumed(then))
        case .readCalls(_, let then): submit(then(.success([])))
        case .readPushes(_, let then): submit(then(.success([])))
        case .lists(let command, let then): submit(then(lists.run(command)))
        case .storeState(_, _, let then): submit(then(.success(())))
        case .storeDoNotDisturb(_, let then): submit(then(.success(())))
        }
    }

    /// A client stands for a process, and its secrets needn't be secret.
    private var host: HostQueries {
        HostQueries(
            wallMilliseconds: { [moment] in moment.wallMilliseconds }, moment: { [moment] in moment },
            verdict: { [lists] in lists.verdict(on: $0) },
            makeSecret: { encodeHex((0..<32).map { _ in UInt8.random(in: .min ... .max) }) },
            hash: { Array($0.utf8) },
            telephony: { [modems] in modems.isEmpty ? [] : [.telephony(.init(modems: modems))] })
    }

    private mutating func countRings(of call: RingwakeCore.Call) {
        guard case .ringing = call.machine.state else {
            ringing.remove(call.number)
            return
        }
        // A ringing call may change again. Only the first change is a ring.
        if ringing.insert(call.number).inserted { rings[call.key, default: 0] += 1 }
    }

    private mutating func updateAudio() {
        let coordinator = coordinator
        changeAudio { $0.follow(coordinator, at: $1) }
    }

    /// Changes the audio, and reports what that means for calls.
    mutating func changeAudio(_ change: (inout SimulatedAudio, BootInstant) -> [SimulatedAudio.Change]) {
        for (call, change) in change(&audio, now) { submit(.calls(.audioChanged(call, change))) }
    }

    // MARK: - Clients

    /// The number that stands for the PID of a new client.
    mutating func addClient() -> Int32 {
        lastClient += 1
        return lastClient
    }

    /// A client sends a request. Nil: the daemon is stopped.
    mutating func open(
        _ request: ControlRequest, of client: Int32, _ exchange: @escaping SimulatedExchange
    ) -> RequestID? {
        guard isRunning else { return nil }
        lastRequest += 1
        let id = RequestID(number: lastRequest)
        exchanges[id] = exchange
        submit(
            .request(
                ServiceRequest(
                    id, request.method, request.target, body: request.body ?? [],
                    authorization: request.secret.map { "Bearer \($0)" }, userAgent: ControlRequest.userAgent,
                    peer: ControlPeer(
                        settings.isOwner ? .owner : .stranger, pid: client,
                        process: ProcessIdentity(pid: client, startTime: 0)))))
        return id
    }

    /// A client closes its connection.
    mutating func leave(_ id: RequestID) {
        guard exchanges.removeValue(forKey: id) != nil, isRunning else { return }
        submit(.left(id))
    }

    /// A request of the device's user.
    /// - Returns: Why the daemon refused it at once; nil if it didn't.
    mutating func user(_ method: String, _ target: String, _ body: [UInt8]) -> ErrorMessage? {
        guard isRunning else { return nil }
        lastRequest += 1
        let id = RequestID(number: lastRequest)
        userRequest = id
        defer { (userRequest, userRefusal) = (nil, nil) }
        submit(
            .request(
                ServiceRequest(id, method, target, body: body, authorization: nil, peer: ControlPeer(.owner))))
        return userRefusal
    }

    private var userRequest: RequestID?
    private var userRefusal: ErrorMessage?

    private mutating func deliver(_ event: SimulatedExchangeEvent, to id: RequestID) {
        guard let exchange = exchanges[id] else { return }
        outbox.append { exchange(event) }
    }

    private mutating func end(_ id: RequestID, _ event: SimulatedExchangeEvent) {
        deliver(event, to: id)
        exchanges[id] = nil
    }

    private mutating func respond(_ id: RequestID, _ answer: ControlAnswer) {
        if id == userRequest, answer.status != 200 {
            userRefusal = try? ControlBody.decode(ErrorMessage.self, from: answer.body, empty: nil)
        }
        end(id, .answered(answer))
    }

    /// Closes every connection, as a daemon does with clients that don't read.
    mutating func disconnect() {
        for id in exchanges.keys.sorted(by: { $0.number < $1.number }) {
            deliver(.ended, to: id)
            leave(id)
        }
    }

    private mutating func forward(_ request: ServiceRequest) {
        let message: any Encodable
        var status = 200
        if request.parts.first == "apps", request.parts.last == "credentials" {
            message = registration.message(of: app)
        } else if request.parts == ["telephony"] {
            message = TelephonyMessage(modems: modems)
        } else {
            let code = RingwakeError.Code.notFound
            status = code.httpStatus
            message = ErrorMessage(
                error: code.slug, message: "there is nothing at \(request.target) of a simulated daemon")
        }
        respond(request.id, ControlAnswer(status: status, body: controlJSON(message)))
    }

    // MARK: - Handlers

    private mutating func start(_ request: WakeRequest, _ secret: String) {
        processes.insert(request.wake)
        starts.append(
            SimulatedStart(
                wake: request.wake, call: .init(rawValue: request.call.rawValue), secret: secret,
                input: HandlerInput.bytes(of: request, at: now)))
        submit(.calls(.handlerStarted(request.wake, pid: nil)))
    }

    /// The process of a started handler ended.
    mutating func exited(_ wake: WakeID, _ exit: HandlerExit) {
        guard processes.remove(wake) != nil, isRunning else { return }
        submit(.calls(.handlerExited(wake, exit)))
    }

    // MARK: - The daemon's own life

    /// The daemon ends, as by `kill -9`: every connection breaks, and no request is answered.
    mutating func stop() {
        guard isRunning else { return }
        isRunning = false
        audio.stop()
        for id in exchanges.keys.sorted(by: { $0.number < $1.number }) { end(id, .dropped) }
    }

    /// The daemon starts again within the same boot, and restores the calls of the last run.
    mutating func start() {
        guard !isRunning else { return }
        isRunning = true
        let last = service
        service = CallServiceStateMachine(settings.configuration(of: app))
        submit(
            .restored(
                RestoredState(
                    recent: last.coordinator.finished.map(\.record), doNotDisturb: last.screening.rules.doNotDisturb,
                    states: last.states.stored, nextCallNumber: last.coordinator.nextCallNumber,
                    nextWakeNumber: last.coordinator.nextWakeNumber)))
        let (strikes, isOut) = (last.coordinator.strikes(of: app), last.coordinator.isStruckOut(app))
        submit(.calls(.strikesRestored(app, strikes, isStruckOut: isOut)))
        for call in last.coordinator.active.values.sorted(by: { $0.number < $1.number }) {
            let stored = StoredCall(call.journalRecord, payloads: call.pushes.payloads, .thisBoot)
            submit(.calls(.restored(stored, settings.policy)))
        }
        if last.protectedData != .available { submit(.protectedDataChanged(.unavailable)) }
        restoreHandlers(of: last)
    }

    private mutating func restoreHandlers(of last: CallServiceStateMachine) {
        var former: [WakeID: RestoredHandler] = [:]
        for (wake, state) in last.coordinator.lanes[app]?.handlers ?? [:] {
            guard let handler = last.handlers[wake] else { continue }
            former[wake] = RestoredHandler(secretHash: handler.secretHash, process: handler.process, state: state)
        }
        former = service.restorable(former)
        // Self-connected handlers are clients, which outlive the daemon.
        let alive = former.filter { $0.value.state.cameByItself || processes.contains($0.key) }
        submit(.handlersRestored(app, former, alive: Set(alive.keys)))
    }

    // MARK: - Pushes

    /// - Returns: whether the daemon answers 200 to the sender.
    mutating func receive(_ sent: SimulatedPush) -> Bool {
        guard isRunning else { return false }
        pushesSent += 1
        lastRequest += 1
        isPushRefused = false
        let id = String(pushesSent)
        let name = "00000000-0000-4000-8000-" + String(repeating: "0", count: max(0, 12 - id.count)) + id
        let push = VerifiedPush(
            pushID: name, app: app,
            provenance: Provenance(sender: SimulatedDaemon.team, door: .apns(.production, .voip(of: app))),
            priority: .immediate, expiration: sent.expiresAfter.map { .at(now.advanced(by: $0)) }, collapseID: nil,
            payload: Array(sent.payload.utf8), receivedAt: now, verifiedAt: now)
        submit(.push(push, facts(of: sent, push), RequestID(number: lastRequest)))
        return !isPushRefused
    }

    private func facts(of sent: SimulatedPush, _ push: VerifiedPush) -> PushFacts {
        var facts =
            settings.mapping?.facts(in: push.payload, receivedAt: now, wallClock: moment.wallMilliseconds).facts
            ?? PushFacts()
        facts.call = sent.call.map { CallID($0) } ?? facts.call
        facts.update.caller = sent.caller ?? facts.update.caller
        facts.update.callerName = sent.callerName ?? facts.update.callerName
        facts.update.hasVideo = sent.hasVideo ?? facts.update.hasVideo
        facts.ringTime = sent.ringTime ?? facts.ringTime
        facts.cancel = sent.cancel ?? facts.cancel
        return facts
    }

    /// Changes what the app registers with its server, and says so.
    mutating func register(_ change: (inout SimulatedRegistration) -> Void) {
        change(&registration)
        submit(.published(EventMessage(credentialsOf: app, areValid: !registration.isEmpty), .app(app)))
    }

    // MARK: - The device

    mutating func reconfigure(_ change: (inout SimulatedDaemon.Settings) -> Void) {
        change(&settings)
        if isRunning { submit(.configured(settings.configuration(of: app))) }
    }

    /// Moves the clock, and meets each deadline on the way at its time.
    mutating func advance(by duration: Duration) {
        let target = now.advanced(by: max(.zero, duration))
        while isRunning, let due = [service.nextChange, audio.nextDeadline].compactMap(\.self).min(), due <= target {
            now = max(now, due)
            if due == audio.nextDeadline { changeAudio { $0.meetDeadline(at: $1) } }
            guard due == service.nextChange else { continue }
            submit(due == service.protectedDataEnd ? .protectedDataChanged(.unavailable) : .calls(.deadlineReached))
        }
        now = target
    }

    /// The current wall-clock time.
    var moment: LocalMoment { .simulated(at: now) }

    /// The device is in these networks, one for each modem.
    mutating func setNetworks(_ modems: [TelephonyMessage.Modem]) {
        guard modems != self.modems else { return }
        self.modems = modems
        publish(.telephony(.init(modems: modems)))
    }

    mutating func setCellularCall(_ isActive: Bool) {
        guard isActive != coordinator.isCellularActive else { return }
        submit(.cellularChanged(isActive: isActive))
    }

    mutating func lock(after grace: Duration) {
        guard isRunning, service.protectedData == .available else { return }
        submit(
            .protectedDataChanged(
                grace > .zero ? .willBecomeUnavailable(at: now.advanced(by: grace)) : .unavailable))
    }

    mutating func unlock() {
        guard isRunning, service.protectedData != .available else { return }
        submit(.protectedDataChanged(.available))
    }

    /// Tells all streams but those of single calls.
    mutating func publish(_ event: EventMessage) { if isRunning { submit(.published(event, .device)) } }

    mutating func setPath(_ path: PathMessage) { submit(.pathChanged(path)) }

    mutating func block(_ pattern: CallerPattern, label: String?) {
        _ = lists.run(.create("simulated", .block))
        _ = lists.run(.change("simulated", add: [CallerEntry(pattern: pattern, label: label)], remove: []))
    }

    func key(_ call: some RawRepresentable<String>) -> CallKey { CallKey(app: app, id: CallID(call.rawValue)) }

    // MARK: - Waits

    mutating func nextWait() -> UInt64 { waits.next() }

    mutating func wait<Value: Sendable>(
        _ number: UInt64, _ look: @escaping @Sendable (inout DaemonState) -> Value?,
        _ resume: @escaping @Sendable (Value?) -> Void
    ) {
        outbox += waits.add(number, look, resume)
        resumeWaits()
    }

    private mutating func resumeWaits() {
        for (number, look) in waits.all {
            guard let delivery = look(&self) else { continue }
            waits.end(number)
            outbox.append(delivery)
        }
    }

    mutating func cancelWait(_ number: UInt64) { outbox += waits.cancel(number) }
}
