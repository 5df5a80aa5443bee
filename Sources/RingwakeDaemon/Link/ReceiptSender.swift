internal import ControlProtocol
internal import DeviceLink
internal import PushGateway
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// Tells the gateway what became of its pushes. The journal is the source: after a start, of this daemon or of the gateway,
/// all of the last day is told again; in between, what has changed.
final class ReceiptSender {
    /// Sends a message. False: not now; ``linkIsReady()`` is called when it is.
    var send: ([LinkReceipt]) -> Bool = { _ in false }

    private let calls: CallDriver
    private let journal: PushJournal
    private let tokens: TokenStore
    private let runLoop: RunLoop
    private var pending = PendingReceipts()
    /// Calls that have changed. What they are is asked for when it is told.
    private var changed: Set<CallKey> = []
    private var inFlight: [LinkReceipt] = []
    private var timer: Timer?
    private var isReading = false

    /// What changes within this time is told together.
    private static let delay = Duration.milliseconds(500)
    private static let page = 100
    private static let retention: Int64 = 24 * 3600 * 1000

    init(calls: CallDriver, journal: PushJournal, tokens: TokenStore, runLoop: RunLoop) {
        self.calls = calls
        self.journal = journal
        self.tokens = tokens
        self.runLoop = runLoop
    }

    /// A push of the gateway was journaled.
    func accepted(_ push: VerifiedPush, slot: LinkSlot, outcome: PushOutcome) {
        // A push that started its call has the call's receipt, which is noted when that changes.
        guard outcome != .started, let wall = push.receivedWallClock else { return }
        // It may repeat one, whose receipt stays. The journal knows.
        guard outcome != .duplicate else { return tell(PushQuery(app: push.app, pushID: push.pushID)) }
        add(
            LinkReceipt(
                slot: slot, id: push.pushID, sender: push.provenance.sender,
                state: PushMessage.State(of: outcome, nil).rawValue, reason: nil, attempt: 0, at: wall,
                stages: [.init(stage: TimelineEntry.Stage.received.rawValue, atUs: 0)]))
    }

    /// Calls have changed.
    func changed(_ keys: Set<CallKey>) {
        guard changed.count < PendingReceipts.maximum else { return }
        changed.formUnion(keys)
        sendLater()
    }

    /// What is not durable yet is told the next time: nothing that the journal might lose.
    private func gather() {
        let keys = changed
        changed = []
        for key in keys {
            guard let call = calls.coordinator.call(key), !call.machine.isOutgoing else { continue }
            guard call.isJournaled else {
                changed.insert(key)
                continue
            }
            let age = max(0, call.receivedAt.duration(to: calls.now).milliseconds)
            let wall = call.receivedWallClock ?? unixMilliseconds() - age
            add(
                PushMessage(
                    PushRecord(starterOf: call), durableAt: nil, receivedAt: "", call: call.record),
                provenance: call.provenance, app: key.app, wall: wall)
        }
    }

    private func add(_ message: PushMessage, provenance: Provenance, app: AppID, wall: Int64) {
        guard let environment = provenance.environment, let slot = tokens.slot(of: app, in: environment) else { return }
        add(
            LinkReceipt(
                slot: slot, id: message.pushId, sender: provenance.sender, state: message.state, reason: message.reason,
                attempt: message.attempt, at: wall,
                stages: message.timeline.map { .init(stage: $0.stage, atUs: $0.atUs) }))
    }

    private func add(_ receipt: LinkReceipt) {
        pending.add(receipt)
        sendLater()
    }

    private func sendLater() {
        guard timer == nil, inFlight.isEmpty, !pending.isEmpty || !changed.isEmpty else { return }
        timer = runLoop.schedule(
            at: runLoop.now.advanced(by: Self.delay), tolerance: Self.delay, wakingFromSuspend: false
        ) { [weak self] in
            self?.timer = nil
            self?.gather()
            self?.sendSome()
        }
    }

    private func sendSome() {
        guard inFlight.isEmpty, !pending.isEmpty else { return }
        let some = pending.first(LinkReceipt.maximumInMessage)
        guard send(some) else { return }
        inFlight = some
        pending.removeFirst(some.count)
    }

    /// The gateway has taken the last message, or has refused it: the rest follows.
    func published() {
        inFlight = []
        sendSome()
        sendLater()
    }

    /// A message can be sent.
    func linkIsReady() { sendSome() }

    /// The link has gone; what the gateway has not acknowledged is told again.
    func linkIsGone() {
        pending.putBack(inFlight)
        inFlight = []
        if let timer { runLoop.cancel(timer) }
        timer = nil
    }

    private func add(_ push: JournaledPush) {
        let record = push.call.flatMap { calls.coordinator.call($0.record.key)?.record } ?? push.call?.record
        add(
            PushMessage(push.push, durableAt: push.journaledAt, receivedAt: "", call: record),
            provenance: push.push.provenance, app: push.push.app, wall: push.receivedWallClock)
    }

    /// Tells what the journal knows of some pushes.
    private func tell(_ query: PushQuery) {
        journal.pushes(query) { [weak self] result in
            // Without an answer the next start tells it.
            for push in (try? result.get()) ?? [] { self?.add(push) }
        }
    }

    // MARK: - After a start

    /// The gateway has started anew, or this daemon has: tells all of the last day.
    func tellAll() {
        guard !isReading else { return }
        isReading = true
        read(before: nil, since: unixMilliseconds() - Self.retention)
    }

    private func read(before: Int64?, since: Int64) {
        journal.pushes(PushQuery(limit: Self.page, before: before)) { [weak self] result in
            guard let self else { return }
            let pushes = (try? result.get()) ?? []
            for push in pushes where push.receivedWallClock >= since { add(push) }
            guard let last = pushes.last, pushes.count == Self.page, last.receivedWallClock >= since,
                !pending.isFull
            else {
                isReading = false
                return
            }
            read(before: last.sequence, since: since)
        }
    }
}

extension PushRecord {
    /// The push that started a call.
    fileprivate init(starterOf call: Call) {
        self.init(
            pushID: call.pushID, app: call.key.app, provenance: call.provenance, priority: .immediate, collapseID: nil,
            receivedAt: call.receivedAt, call: call.key.id, outcome: .started)
    }
}
