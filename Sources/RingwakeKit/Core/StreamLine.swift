internal import ControlProtocol

/// One line of the stream, as far as the client needs it.
enum StreamLine: Sendable {
    case hello(secret: String?)
    case wake(IncomingPush)
    case call(CallLine)
    case audio(AudioLine)
    case action(call: String, CallAction.Kind, within: Duration)
    case pushesWait
    case event(CallEvent)
    case credentials(areValid: Bool)
    /// What this version does not know, or what is none of an app's business.
    case other

    /// Where a call stands.
    struct CallLine: Sendable, Equatable {
        var call: String
        var number: Int64?
        var state: CallState
        var reason: CallEndReason?
        var caller: String?
        var identifiedAs: String?
        var isMuted = false
        var claimWithin: Duration?
    }

    /// - Throws: `badAnswer`: it is no line of a ringwaked of this version.
    init(_ bytes: [UInt8]) throws(RingwakeKitError) {
        let push = JSONSlice.member("push", of: bytes)
        let rest = push.map { Array(bytes[..<$0.lowerBound] + Array("{}".utf8) + bytes[$0.upperBound...]) } ?? bytes
        let message: EventMessage = try JSONText.read(rest, "an event")
        guard message.schema == ControlAPI.schema else {
            throw RingwakeKitError(
                .badAnswer,
                "the daemon speaks schema \(message.schema) of the control API, this library \(ControlAPI.schema); "
                    + "use the same version of both")
        }
        if message.event == "wake" {
            guard let push else { throw RingwakeKitError(.badAnswer, "a wake without its push") }
            self = .wake(try IncomingPush(json: Array(bytes[push])))
        } else {
            self = StreamLine(message)
        }
    }

    private init(_ message: EventMessage) {
        switch message.event {
        case "handler": self = .hello(secret: message.secret)
        case "audio": self = AudioLine(message).map { .audio($0) } ?? .other
        case "call": self = CallLine(message).map { .call($0) } ?? .other
        case "action": self = StreamLine(action: message)
        case "push" where message.reason == "waiting": self = .pushesWait
        case "credentials": self = .credentials(areValid: message.active ?? false)
        default: self = CallEvent(message).map { .event($0) } ?? .other
        }
    }

    private init(action message: EventMessage) {
        guard let call = message.call, let name = message.action,
            let kind = CallAction.Kind(name: name, digits: message.digits)
        else {
            self = .other
            return
        }
        self = .action(call: call, kind, within: .milliseconds(max(0, message.deadlineMs ?? 0)))
    }
}

extension StreamLine.CallLine {
    init?(_ message: EventMessage) {
        guard let call = message.call, let state = message.state.flatMap(CallState.init(rawValue:)) else { return nil }
        self.init(
            call: call, number: message.number, state: state,
            reason: message.reason.flatMap(CallEndReason.init(rawValue:)), caller: message.caller,
            identifiedAs: message.identifiedAs, isMuted: message.muted ?? false,
            claimWithin: message.claimMs.map { .milliseconds(max(0, $0)) })
    }
}

extension CallAction.Kind {
    init?(name: String, digits: String?) {
        switch name {
        case "answer": self = .answer
        case "end": self = .end
        case "hold": self = .hold
        case "unhold": self = .unhold
        case "mute": self = .mute
        case "unmute": self = .unmute
        case "dtmf": self = .dtmf(digits ?? "")
        default: return nil
        }
    }
}

extension CallEvent {
    fileprivate init?(_ message: EventMessage) {
        switch message.event {
        case "restricted":
            guard let call = message.call, let filter = message.reason.flatMap(CallFilter.init(rawValue:)) else {
                return nil
            }
            self = .filtered(call: call, by: filter, detail: message.detail ?? "")
        case "path":
            guard let call = message.call, let path = message.path else { return nil }
            self = .networkChanged(call: call, CallPath(path))
        case "cellular":
            self = .cellular(isActive: message.active ?? false)
        case "connection":
            guard message.app != nil,
                let status = message.connection.flatMap(AppReachability.Status.init(rawValue:))
            else { return nil }
            self = .reachability(AppReachability(status: status, reason: message.reason))
        default: return nil
        }
    }
}

extension CallPath {
    init(_ path: PathMessage) {
        self.init(
            isSatisfied: path.status == "satisfied", interface: path.interface, interfaceType: path.interfaceType,
            sources: path.sources, gateways: path.gateways, isExpensive: path.isExpensive,
            isConstrained: path.isConstrained, supportsIPv4: path.supportsIPv4, supportsIPv6: path.supportsIPv6,
            supportsDNS: path.supportsDNS)
    }
}
