internal import ControlProtocol
internal import DeviceLink
internal import PushGateway
internal import PushJournal
internal import RingwakeCore

/// Answers senders that ask what became of a push: of this machine's apps by the journal, of linked devices by what these
/// have said.
final class PushReceipts {
    private unowned let daemon: Daemon

    init(daemon: Daemon) {
        self.daemon = daemon
    }

    /// - Parameter answer: called once, with JSON; nil if nobody knows the push, or if it was another sender's.
    func find(_ asked: ReceiptRequest, _ answer: @escaping ([UInt8]?) -> Void) {
        switch asked.destination {
        case .local: findLocal(asked, answer)
        case .device(let device, let slot):
            let key = ReceiptKey(slot: slot, sender: asked.sender, id: asked.pushID)
            answer(daemon.links?.receipt(key, of: device).map { controlJSON(PushReceiptMessage($0, asked.pushID)) })
        }
    }

    /// A push of a linked device, by its id, for the gateway's operator.
    func find(id: String) -> [PushReceiptMessage] {
        daemon.links?.receipts(id: id).map { PushReceiptMessage($0, id) } ?? []
    }

    private func findLocal(_ asked: ReceiptRequest, _ answer: @escaping ([UInt8]?) -> Void) {
        daemon.journal.pushes(PushQuery(app: asked.app, pushID: asked.pushID)) { [daemon] result in
            let pushes = (try? result.get()) ?? []
            guard let push = pushes.first(where: { $0.push.provenance.sender == asked.sender }) else {
                return answer(nil)
            }
            let record = push.call.flatMap { daemon.calls.coordinator.call($0.record.key)?.record } ?? push.call?.record
            let received = UTCTime(milliseconds: push.receivedWallClock).description
            let message = PushMessage(
                push.push, durableAt: push.journaledAt, receivedAt: received, call: record)
            answer(
                controlJSON(
                    PushReceiptMessage(
                        pushId: asked.pushID, state: message.state, reason: message.reason, attempt: message.attempt,
                        receivedAt: received, timeline: message.timeline)))
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
