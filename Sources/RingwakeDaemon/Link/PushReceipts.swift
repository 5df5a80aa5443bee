internal import ControlProtocol
internal import Cryptography
internal import DeviceLink
internal import PushGateway
internal import PushJournal
internal import RingwakeCore

/// Names a push to those who ask what became of it.
nonisolated enum PushName: Hashable, Sendable {
    /// Of this machine's app; `id` is the `apns-id` as it is compared.
    case local(AppID, sender: String, id: String)
    case linked(DeviceID, ReceiptKey)

    /// The sender's team.
    var sender: String {
        switch self {
        case .local(_, let sender, _): sender
        case .linked(_, let key): key.sender
        }
    }
}

/// Finds what became of a push, for its sender: of this machine's apps in the journal, of linked devices in what these have
/// said.
final class PushReceipts {
    /// What is known of a push.
    enum Finding {
        case receipt(PushReceiptMessage)
        case unknown
        /// The journal does not answer.
        case unavailable
    }

    private unowned let daemon: Daemon

    init(daemon: Daemon) {
        self.daemon = daemon
    }

    /// - Parameter answer: called once, with JSON; nil if nobody knows the push, or if it was another sender's.
    func find(_ asked: ReceiptRequest, _ answer: @escaping ([UInt8]?) -> Void) {
        find(PushName(asked)) { finding in
            guard case .receipt(var message) = finding else { return answer(nil) }
            // As it was asked for; the token was a part of the question.
            (message.pushId, message.tokenHash) = (asked.pushID, nil)
            answer(controlJSON(message))
        }
    }

    /// - Parameter answer: called once, at once or later.
    func find(_ name: PushName, _ answer: @escaping (Finding) -> Void) {
        switch name {
        case .local(let app, let sender, let id): findLocal(app, sender, id, answer)
        case .linked(let device, let key):
            guard let entry = daemon.links?.receipt(key, of: device) else { return answer(.unknown) }
            var message = PushReceiptMessage(entry, key.id)
            let registrations = daemon.links?.machine.directory[device]?.registrations
            message.tokenHash = registrations?.first { $0.slot == key.slot }?.token
            answer(.receipt(message))
        }
    }

    /// Pushes of linked devices, by their id or its first characters, for the gateway's operator. A whole id wins.
    func find(id: String) -> [PushReceiptMessage] {
        guard let links = daemon.links else { return [] }
        let exact = links.receipts(id: id).map { PushReceiptMessage($0, id) }
        guard exact.isEmpty, id.utf8.count >= Self.shortestStart else { return exact }
        return links.receipts(beginningWith: id).map { PushReceiptMessage($0.entry, $0.id) }
    }

    /// Characters of the shortest beginning of an id, so that a typing mistake seldom means something.
    private static let shortestStart = 4

    private func findLocal(
        _ app: AppID, _ sender: String, _ id: String, _ answer: @escaping (Finding) -> Void
    ) {
        daemon.journal.pushes(PushQuery(app: app, pushID: id)) { [daemon] result in
            guard let pushes = try? result.get() else { return answer(.unavailable) }
            guard let push = pushes.first(where: { $0.push.provenance.sender == sender }) else {
                return answer(.unknown)
            }
            let record = push.call.flatMap { daemon.calls.coordinator.call($0.record.key)?.record } ?? push.call?.record
            let received = UTCTime(milliseconds: push.receivedWallClock).description
            let message = PushMessage(
                push.push, durableAt: push.journaledAt, receivedAt: received, call: record)
            var receipt = PushReceiptMessage(
                pushId: id, state: message.state, reason: message.reason, attempt: message.attempt,
                receivedAt: received, timeline: message.timeline)
            receipt.tokenHash = push.push.provenance.environment
                .flatMap { daemon.tokens.tokens(of: app)[$0] }.map { TokenHash($0).hex }
            answer(.receipt(receipt))
        }
    }
}

nonisolated extension PushName {
    init(_ asked: ReceiptRequest) {
        self =
            switch asked.destination {
            case .local: .local(asked.app, sender: asked.sender, id: asked.pushID.canonicalPushID)
            case .device(let device, let slot):
                .linked(device, ReceiptKey(slot: slot, sender: asked.sender, id: asked.pushID))
            }
    }
}

extension PushReceiptMessage {
    fileprivate init(_ entry: ReceiptBook.Entry, _ pushID: String) {
        switch entry {
        case .fate(let fate, let time):
            let received = UTCTime(milliseconds: time).description
            switch fate {
            case .forwarded: self.init(pushId: pushID, state: "forwarded", receivedAt: received)
            case .queued: self.init(pushId: pushID, state: "queued", receivedAt: received)
            case .dropped(let why):
                self.init(pushId: pushID, state: "dropped", reason: why.rawValue, receivedAt: received)
            }
        case .receipt(let receipt):
            self.init(
                pushId: pushID, state: receipt.state, reason: receipt.reason, attempt: receipt.attempt,
                receivedAt: UTCTime(milliseconds: receipt.at).description,
                timeline: receipt.stages.map { Hop(stage: $0.stage, atUs: $0.atUs) })
        }
    }
}
