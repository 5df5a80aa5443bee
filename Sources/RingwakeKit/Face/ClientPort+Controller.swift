internal import ControlProtocol

// What a user does.
extension ClientPort {
    func perform(_ step: CallTransaction.Step) async throws(CallError) {
        let target = { (verb: CallVerb) in
            RequestTarget("calls", step.call, verb.rawValue, query: [("app", step.app ?? self.app)])
        }
        do throws(RingwakeKitError) {
            let message: CallMessage =
                switch step.deed {
                case .answer(let others):
                    try await ask("POST", target(.answer), CallAnswer(others: others?.rawValue))
                case .unhold(let others):
                    try await ask("POST", target(.unhold), CallAnswer(others: others?.rawValue))
                case .dtmf(let digits): try await ask("POST", target(.dtmf), CallDigits(digits: digits))
                case .decline: try await ask("POST", target(.decline))
                case .end: try await ask("POST", target(.end))
                case .hold: try await ask("POST", target(.hold))
                case .mute: try await ask("POST", target(.mute))
                case .unmute: try await ask("POST", target(.unmute))
                }
            guard !step.deed.isEnding, let error = message.whyOver else { return }
            throw RingwakeKitError(.conflict, error.description)
        } catch {
            throw try await refusal(error, of: step)
        }
    }

    /// Says by where the call stands why a step was refused.
    private func refusal(_ error: RingwakeKitError, of step: CallTransaction.Step) async throws(CallError) -> CallError
    {
        guard error.code == .conflict else { return CallError(error) }
        let target = RequestTarget("calls", step.call, query: [("app", step.app ?? app)])
        let message: CallMessage
        do throws(RingwakeKitError) {
            message = try await ask("GET", target)
        } catch {
            return CallError(error)
        }
        // The message says what the state does not: another call that could not be held, an action that is under way.
        return message.whyOver ?? .refused(error)
    }

    func deviceCalls() async throws(RingwakeKitError) -> [CallInfo] {
        let message: CallListMessage = try await ask("GET", RequestTarget("calls", query: [("limit", "1")]))
        return message.calls.compactMap { CallInfo($0) }.filter { $0.state != .ended }
    }
}

extension CallTransaction.Step.Deed {
    fileprivate var isEnding: Bool { self == .end || self == .decline }
}
