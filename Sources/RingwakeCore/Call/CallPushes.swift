/// The pushes of one call: those that no handler has received yet, and those whose repeats are known.
package struct CallPushes: Hashable, Sendable {
    /// A push that no handler has received.
    package struct Unread: Hashable, Sendable {
        package let kind: WakeRequest.Kind
        /// Identifies the push among those of its call; 0 is the push that started the call.
        package let ordinal: Int
        package let receivedAt: BootInstant
        package let payload: [UInt8]

        init(_ kind: WakeRequest.Kind, ordinal: Int, receivedAt: BootInstant, payload: [UInt8]) {
            self.kind = kind
            self.ordinal = ordinal
            self.receivedAt = receivedAt
            self.payload = payload
        }
    }

    /// A push that took effect. Its repeats have no effect.
    private struct Known: Hashable, Sendable {
        /// In lower case: a UUID is the same in either case (RFC 9562 section 4).
        let id: String
        let outcome: PushOutcome
    }

    /// The maximum number of unread pushes: the first, which started the call, and the newest ones.
    static let maximumUnread = 8
    /// The maximum number of pushes whose repeats are known.
    static let maximumKnown = 8

    /// The pushes that no handler has received, in the order of arrival.
    package private(set) var unread: [Unread]
    /// How many of the unread pushes the handler has fetched without reporting the call yet.
    private(set) var fetched = 0
    /// The push that started the call: a handler that claims the call may not have it. Nil once the call has ended.
    private var first: Unread?
    private var nextOrdinal = 1
    /// The push that started the call, and the newest ones.
    private var known: [Known]

    /// The pushes of a new call; `outcome` is the outcome of its push.
    init(first push: VerifiedPush, _ outcome: PushOutcome) {
        let first = Unread(.call, ordinal: 0, receivedAt: push.receivedAt, payload: push.payload)
        self.first = first
        unread = [first]
        known = [Known(id: push.pushID.canonicalPushID, outcome: outcome)]
    }

    // MARK: - Arrival

    /// The earlier outcome of a repeated push; nil if the push is new. A push that cancels the call is no repeat of one
    /// that doesn't, even with the same id.
    func outcome(ofRepeated push: VerifiedPush, isCancel: Bool) -> PushOutcome? {
        let id = push.pushID.canonicalPushID
        return known.first { $0.id == id && ($0.outcome == .cancelled) == isCancel }?.outcome
    }

    /// Records the outcome of a further push.
    mutating func note(_ push: VerifiedPush, _ outcome: PushOutcome) {
        if known.count >= Self.maximumKnown { known.remove(at: 1) }
        known.append(Known(id: push.pushID.canonicalPushID, outcome: outcome))
    }

    /// Keeps a further push for the handler. If there are too many, drops the oldest after the first.
    mutating func keep(_ push: VerifiedPush, _ outcome: PushOutcome) {
        note(push, outcome)
        if unread.count >= Self.maximumUnread {
            unread.remove(at: 1)
            if fetched > 1 { fetched -= 1 }
        }
        unread.append(Unread(.update, ordinal: nextOrdinal, receivedAt: push.receivedAt, payload: push.payload))
        nextOrdinal += 1
    }

    /// The outcome of the push that started the call.
    var firstOutcome: PushOutcome? { known.first?.outcome }

    /// Whether the call's push arrived when its app's handler was no longer started.
    var wasWithheld: Bool { firstOutcome == .withheld }

    // MARK: - Transfer to a handler

    /// Whether there is a push that no handler has fetched.
    package var hasUnfetched: Bool { unread.count > fetched }

    /// The push for a handler that is to claim the call; its payload is `{}` if the push is no longer known.
    func claim(receivedAt: BootInstant) -> Unread {
        Unread(.claim, ordinal: 0, receivedAt: receivedAt, payload: first?.payload ?? Array("{}".utf8))
    }

    /// The handler has fetched the first `count` unread pushes. They are kept until it reports the call.
    mutating func noteFetched(_ count: Int) { fetched = max(fetched, count) }

    /// The handler has received the first `count` unread pushes.
    mutating func drop(_ count: Int) {
        let dropped = min(count, unread.count)
        unread.removeFirst(dropped)
        fetched = max(0, fetched - dropped)
    }

    /// Nobody knows any more whether the handler received its pushes.
    mutating func forgetFetched() { fetched = 0 }

    /// The handler reported the call, so it has the pushes that it fetched.
    mutating func dropFetched() { drop(fetched) }

    /// The call lost its handler. The next one gets all updates again, and the first push with the claim.
    mutating func keepForClaim() {
        fetched = 0
        unread.removeAll { $0.kind == .call }
    }

    /// The call waits for a handler that doesn't know it, so the first push becomes unread again.
    mutating func restoreFirst() {
        fetched = 0
        if let first, unread.first?.kind != .call { unread.insert(first, at: 0) }
    }

    /// The call is over, so no handler gets its pushes any more.
    mutating func dropAll() {
        unread = []
        fetched = 0
        first = nil
    }
}

// MARK: - In the journal

extension CallPushes {
    /// All payloads that the journal has to store.
    package var payloads: [CallPayload] {
        let first = self.first.map { [CallPayload(push: 0, bytes: $0.payload)] } ?? []
        return first + unread.filter { $0.ordinal > 0 }.map { CallPayload(push: $0.ordinal, bytes: $0.payload) }
    }

    /// The payload of the newest push that was kept.
    var newestPayload: [CallPayload] {
        unread.last.map { [CallPayload(push: $0.ordinal, bytes: $0.payload)] } ?? []
    }

    /// The journal's data besides the payloads. Offsets are nanoseconds after the call's arrival.
    struct Record: Hashable, Sendable, Decodable {
        struct Unread: Hashable, Sendable, Decodable {
            let push: Int
            let received: Int64
        }

        struct Known: Hashable, Sendable, Decodable {
            let id: String
            let outcome: PushOutcome
        }

        let unread: [Unread]
        let fetched: Int
        let next: Int
        let known: [Known]

        enum CodingKeys: String, CodingKey {
            case unread, fetched, next, known
        }

        /// Writes the keys.
        func write(_ row: inout JSONWriter) {
            row.add("fetched", fetched)
            row.add("known", array: known) { push, row in
                row.object { row in
                    row.add("id", push.id)
                    row.add("outcome", push.outcome)
                }
            }
            row.add("next", next)
            row.add("unread", array: unread) { push, row in
                row.object { row in
                    row.add("push", push.push)
                    row.add("received", push.received)
                }
            }
        }

        /// Whether ``CallPushes`` can have written it.
        var isSound: Bool {
            unread.count <= CallPushes.maximumUnread && (0...unread.count).contains(fetched) && !known.isEmpty
                && known.count <= CallPushes.maximumKnown && (1...Int(Int32.max)).contains(next)
                && unread.allSatisfy { (0..<next).contains($0.push) }
        }
    }

    func record(from arrival: BootInstant) -> Record {
        Record(
            unread: unread.map { .init(push: $0.ordinal, received: $0.receivedAt.offset(from: arrival)) },
            fetched: fetched, next: nextOrdinal, known: known.map { .init(id: $0.id, outcome: $0.outcome) })
    }

    /// Restores the pushes of a call from the journal.
    ///
    /// - Parameter record: nil if the journal has only the push that started the call.
    init(_ record: Record?, startedBy id: String, at arrival: BootInstant, payloads: [CallPayload]) {
        let bytes = Dictionary(payloads.map { ($0.push, $0.bytes) }) { first, _ in first }
        first = bytes[0].map { Unread(.call, ordinal: 0, receivedAt: arrival, payload: $0) }
        guard let record else {
            unread = first.map { [$0] } ?? []
            known = [Known(id: id.canonicalPushID, outcome: .started)]
            return
        }
        unread = record.unread.compactMap { entry in
            bytes[entry.push].map { payload in
                Unread(
                    entry.push == 0 ? .call : .update, ordinal: entry.push,
                    receivedAt: arrival.advanced(byOffset: entry.received), payload: payload)
            }
        }
        fetched = min(record.fetched, unread.count)
        nextOrdinal = record.next
        known = record.known.map { Known(id: $0.id, outcome: $0.outcome) }
    }
}

/// The payload of one push of a call. The journal stores it once, apart from the call's record.
package struct CallPayload: Hashable, Sendable {
    /// The push's ordinal within its call; 0 is the push that started it.
    package let push: Int
    package let bytes: [UInt8]

    package init(push: Int, bytes: [UInt8]) {
        self.push = push
        self.bytes = bytes
    }
}
