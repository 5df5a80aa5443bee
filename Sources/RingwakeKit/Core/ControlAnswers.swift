internal import ControlProtocol

extension SessionStateMachine {
    /// `/v1/calls/{call}/{verb}` of the app.
    func target(of call: String, _ verb: CallVerb) -> RequestTarget {
        RequestTarget("calls", call, verb.rawValue, query: [("app", app)])
    }
}

extension RingwakeKitError {
    /// Why the daemon refused, as it says itself.
    init(_ answer: ControlAnswer) {
        do throws(RingwakeKitError) {
            let message: ErrorMessage = try JSONText.read(answer.body, "a refusal")
            self.init(Code(message.error), message.message)
        } catch {
            self.init(.badAnswer, "the daemon answered with status \(answer.status) and no message: \(error.message)")
        }
    }
}

extension PushCredentials {
    /// - Throws: `badAnswer`.
    static func read(_ body: [UInt8]) throws(RingwakeKitError) -> [PushCredentials] {
        let message: CredentialsMessage = try JSONText.read(body, "credentials")
        return message.credentials.compactMap { credential in
            Environment(rawValue: credential.environment).map { environment in
                PushCredentials(
                    token: credential.token, environment: environment, topic: message.topic, teams: message.teams)
            }
        }
    }
}

extension StreamLine.CallLine {
    init?(_ message: CallMessage) {
        guard let state = CallState(rawValue: message.state) else { return nil }
        self.init(
            call: message.call, number: nil, state: state,
            reason: message.reason.flatMap(CallEndReason.init(rawValue:)), caller: message.caller,
            identifiedAs: message.identifiedAs, isMuted: message.muted,
            claimWithin: message.claimMs.map { .milliseconds(max(0, $0)) })
    }
}

extension CallInfo {
    init?(_ message: CallMessage, isOwn: Bool = false) {
        guard let state = CallState(rawValue: message.state) else { return nil }
        self.init(
            call: message.call, app: message.app, state: state,
            endReason: message.reason.flatMap(CallEndReason.init(rawValue:)), caller: message.caller,
            identifiedAs: message.identifiedAs, isMuted: message.muted, isOwn: isOwn)
    }
}
