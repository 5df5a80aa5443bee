internal import Logging
internal import PushGateway
internal import PushJournal
internal import RingwakeCore

// What has to be durable.
extension EffectRunner {
    func append(
        _ push: PushRecord, _ payloads: [CallPayload], _ call: CallRecord?, _ answer: ((DeliveryOutcome) -> Void)?
    ) {
        journal.append(push, payloads: payloads, call: call) { [weak self] result in
            switch result {
            case .success(let verdict):
                answer?(.accepted)
                if let call {
                    self?.submit(.pushJournaled(call.key, number: call.number, isKnown: verdict == .callKnown))
                    if verdict == .callKnown { self?.recall(call) }
                }
            case .failure(let error):
                self?.logger.debug(
                    "push is not durable",
                    metadata: ["app": "\(push.app)", "apns-id": "\(push.apnsID)", "why": "\(error.message)"])
                answer?(.refused(.serviceUnavailable))
            }
        }
    }

    func journalRing(_ call: CallRecord) {
        journal.appendRing(call) { [weak self] result in
            switch result {
            case .success(let verdict):
                self?.submit(.ringJournaled(call.key, number: call.number, isKnown: verdict == .callKnown))
                if verdict == .callKnown { self?.recall(call) }
            case .failure(let error):
                self?.logger.warning(
                    "call cannot ring yet, for the journal cannot record it",
                    metadata: ["app": "\(call.key.app)", "call": "\(call.key.id)", "why": "\(error.message)"])
                self?.submit(.ringNotJournaled(call.key, number: call.number))
            }
        }
    }

    /// The journal knows the call of a late repeat from long before: what it has is what there is to show of it, and
    /// the next repeat wakes nobody.
    private func recall(_ repeated: CallRecord) {
        journal.calls(CallQuery(app: repeated.key.app, id: repeated.key.id, limit: 8)) { [weak self] result in
            switch result {
            case .success(let found):
                guard let known = found.first(where: { $0.record.team == repeated.team }) else { return }
                self?.correct(known.record)
            case .failure(let error):
                self?.logger.debug(
                    "call of a late repeat not read",
                    metadata: ["call": "\(repeated.key.id)", "why": "\(error.message)"])
            }
        }
    }
}
