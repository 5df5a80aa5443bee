internal import DeviceLink
internal import PushGateway
internal import PushJournal
internal import RingwakeCore

/// Notes for webhooks what becomes of the pushes to this machine's own apps.
final class LocalReceipts {
    private unowned let daemon: Daemon

    /// Pushes in one reading of the journal.
    private static let page = 100

    init(daemon: Daemon) {
        self.daemon = daemon
    }

    private var webhooks: Webhooks { daemon.webhooks }

    /// The answer to a push, noted when it is accepted.
    func noting(_ push: VerifiedPush, _ answer: @escaping (DeliveryOutcome) -> Void) -> (DeliveryOutcome) -> Void {
        guard webhooks.isOn(for: push.provenance.sender) else { return answer }
        let name = PushName(push.app, push.provenance, push.pushID)
        return { [webhooks] outcome in
            if case .accepted = outcome { webhooks.note(name) }
            answer(outcome)
        }
    }

    /// Calls have changed. What the journal doesn't have yet changes again.
    func changed(_ calls: Set<CallKey>) {
        guard !webhooks.isOff else { return }
        for key in calls {
            guard let call = daemon.calls.coordinator.call(key), call.isJournaled, !call.machine.isOutgoing else {
                continue
            }
            webhooks.note(PushName(key.app, call.provenance, call.pushID))
        }
    }

    /// After a start: all of the last day, since nobody knows what was posted.
    func tellAll() {
        guard !webhooks.isOff else { return }
        read(before: nil, since: unixMilliseconds() - ReceiptBook.retention.milliseconds)
    }

    private func read(before: Int64?, since: Int64) {
        daemon.journal.pushes(PushQuery(limit: Self.page, before: before)) { [weak self] result in
            guard let self, let pushes = try? result.get() else { return }
            for push in pushes where push.receivedWallClock >= since {
                webhooks.note(PushName(push.push.app, push.push.provenance, push.push.pushID))
            }
            guard let last = pushes.last, pushes.count == Self.page, last.receivedWallClock >= since else { return }
            read(before: last.sequence, since: since)
        }
    }
}

nonisolated extension PushName {
    fileprivate init(_ app: AppID, _ provenance: Provenance, _ id: String) {
        self = .local(app, sender: provenance.sender, id: id.canonicalPushID)
    }
}
