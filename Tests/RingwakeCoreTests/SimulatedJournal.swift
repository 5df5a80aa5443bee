import RingwakeCore

/// A journal in memory that commits when told to, fails when told to, and tells what it knew already.
struct SimulatedJournal {
    /// What was handed in and is not durable.
    enum Work {
        case push(PushRecord, payloads: [CallPayload], call: CallRecord?, replaced: CallRecord?)
        case ring(CallRecord)
        case write(CallRecord)
    }

    /// What tells a push from others: two senders may use the same id.
    struct PushName: Hashable {
        let sender: String
        let app: AppID
        let pushID: String

        init(_ push: PushRecord) {
            sender = push.provenance.sender
            app = push.app
            pushID = push.pushID.lowercased()
        }
    }

    /// The durable calls.
    private(set) var calls: [Int64: CallRecord] = [:]
    /// The durable pushes: those that were answered with 200.
    private(set) var pushes: [PushName: PushRecord] = [:]
    /// Calls whose senders were told that they are taken back.
    private(set) var takenBack: Set<CallKey> = []
    private(set) var waiting: [Work] = []
    private var payloads: [Int64: [Int: [UInt8]]] = [:]
    private var numbers: [CallKey: Int64] = [:]

    /// Higher than the number of every call that is durable.
    var nextNumber: Int64 { (calls.keys.max() ?? 0) + 1 }

    /// The durable call of this name.
    func call(_ key: CallKey) -> CallRecord? { numbers[key].flatMap { calls[$0] } }

    /// The calls that have not ended, the oldest first.
    func open(_ origin: StoredCall.Origin = .thisBoot) -> [StoredCall] {
        calls.values.filter { $0.state != .ended }.sorted { $0.number < $1.number }.map { record in
            let payloads = (payloads[record.number] ?? [:]).sorted { $0.key < $1.key }
            return StoredCall(record, payloads: payloads.map { CallPayload(push: $0.key, bytes: $0.value) }, origin)
        }
    }

    /// The calls that ended last, the oldest first.
    func recent(_ count: Int) -> [CallRecord] {
        calls.values.filter { $0.state == .ended }.sorted { $0.number < $1.number }.suffix(count)
    }

    mutating func take(_ work: Work) { waiting.append(work) }

    /// Makes the oldest `count` durable in one transaction.
    mutating func commit(_ count: Int) -> [Event] {
        let batch = waiting.prefix(count)
        waiting.removeFirst(batch.count)
        var events: [Event] = []
        for work in batch {
            switch work {
            case .push(let push, let payloads, let call, let replaced):
                pushes[PushName(push)] = pushes[PushName(push)] ?? push
                if push.outcome == .cancelled { takenBack.insert(push.key) }
                if let replaced { _ = store(replaced) }
                guard let call else { continue }
                let isKnown = !store(call)
                if !isKnown, call.state != .ended {
                    for payload in payloads {
                        let known = self.payloads[call.number]?[payload.push]
                        self.payloads[call.number, default: [:]][payload.push] = known ?? payload.bytes
                    }
                }
                events.append(.pushJournaled(call.key, number: call.number, isKnown: isKnown))
            case .ring(let call):
                events.append(.ringJournaled(call.key, number: call.number, isKnown: !store(call)))
            case .write(let call):
                // It comes into the journal with its push, when it rings or when it ends; without a push, at once.
                if call.isAddedByWrite || calls[call.number] != nil { _ = store(call) }
            }
        }
        return events
    }

    /// Fails to make the oldest `count` durable. What is known of calls is written with the next transaction.
    ///
    /// - Returns: what follows, and the pushes that are answered with 503.
    mutating func fail(_ count: Int) -> (events: [Event], refused: [PushRecord]) {
        let batch = waiting.prefix(count)
        waiting.removeFirst(batch.count)
        var kept: [Work] = []
        var (events, refused): ([Event], [PushRecord]) = ([], [])
        for work in batch {
            switch work {
            case .push(let push, _, _, let replaced):
                refused.append(push)
                if let replaced { kept.append(.write(replaced)) }
            case .ring(let call): events.append(.ringNotJournaled(call.key, number: call.number))
            case .write: kept.append(work)
            }
        }
        waiting = kept + waiting
        return (events, refused)
    }

    /// The daemon is killed: what is not durable is gone.
    mutating func crash() { waiting = [] }

    /// False, and nothing stored, when another call has this name.
    private mutating func store(_ call: CallRecord) -> Bool {
        guard numbers[call.key] ?? call.number == call.number else { return false }
        // What has ended stays so.
        if calls[call.number]?.state == .ended, call.state != .ended { return true }
        numbers[call.key] = call.number
        calls[call.number] = call
        if call.state == .ended { payloads[call.number] = nil }
        return true
    }
}
