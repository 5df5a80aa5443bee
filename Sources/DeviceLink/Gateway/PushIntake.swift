import RingwakeCore

/// Takes the pushes of senders: names them, keeps their tickets until they are answered, and limits their rate by device.
struct PushIntake: Sendable {
    enum Outcome: Sendable {
        case taken(LinkPush)
        case refused(PushRefusal)
    }

    private let run: UInt64
    private var tickets: [MailKey: PushTicket] = [:]
    private var rates = LinkRates<DeviceID>(burst: 100, interval: .milliseconds(50))
    private var lastSequence: UInt64 = 0

    init(run: UInt64) {
        self.run = run
    }

    /// - Parameters:
    ///   - record: the device's.
    ///   - wall: the wall clock in ms since 1970.
    mutating func take(
        _ push: VerifiedPush, _ slot: LinkSlot, _ ticket: PushTicket, of record: DeviceRecord?, wall: Int64,
        at now: BootInstant
    ) -> Outcome {
        // The registration may have ended since the token was looked up.
        guard let record, record.registrations.contains(where: { $0.slot == slot }) else {
            return .refused(.unregistered)
        }
        guard rates.take(record.id, at: now) else { return .refused(.mailboxFull) }
        lastSequence += 1
        let key = MailKey(run: run, sequence: lastSequence)
        tickets[key] = ticket
        return .taken(LinkPush(push, key: key, slot: slot, wall: wall))
    }

    /// The ticket of a push that is answered; nil if it was answered before.
    mutating func redeem(_ key: MailKey) -> PushTicket? { tickets.removeValue(forKey: key) }
}
