internal import ControlProtocol
internal import RingwakeCore

/// One line of the stream.
enum StreamLine: Sendable {
    /// The event `wake`, with its push.
    case wake(IncomingPush)
    case event(EventMessage)

    /// - Throws: `badAnswer`: this version doesn't understand the line.
    init(_ bytes: [UInt8]) throws(RingwakeKitError) {
        let push = JSONSlice.member("push", of: bytes)
        let rest = push.map { Array(bytes[..<$0.lowerBound] + Array("{}".utf8) + bytes[$0.upperBound...]) } ?? bytes
        let message: EventMessage = try JSONText.read(rest, "an event")
        if let push, case .wake = message {
            self = .wake(try IncomingPush(json: Array(bytes[push])))
        } else {
            self = .event(message)
        }
    }
}

/// The state of a call, from the stream or from an answer.
struct CallStatus: Sendable, Equatable {
    var call: Call.ID
    var number: Int64?
    var isOutgoing = false
    var state: CallState
    var endReason: CallEndReason?
    var caller: String?
    var callerName: String?
    var hasVideo: Bool?
    var identifiedAs: String?
    var isMuted = false
    var supportsHolding = true
    var supportsDTMF = true
    var supportsMerging = false
    var conference: Int64?
    var claimWithin: Duration?

    init(_ event: EventMessage.CallChange) {
        call = Call.ID(rawValue: event.call)
        number = event.number
        isOutgoing = event.outgoing ?? false
        state = CallState(rawValue: event.state)
        endReason = event.endReason.map { CallEndReason(rawValue: $0) }
        caller = event.caller
        callerName = event.callerName
        hasVideo = event.video
        identifiedAs = event.identifiedAs
        isMuted = event.muted
        supportsHolding = event.supportsHold ?? true
        supportsDTMF = event.supportsDTMF ?? true
        supportsMerging = event.supportsMerge ?? false
        conference = event.conference
        claimWithin = event.claimMs.map { .milliseconds(max(0, $0)) }
    }

    init(_ message: CallMessage) {
        call = Call.ID(rawValue: message.call)
        isOutgoing = message.outgoing ?? false
        state = message.callState
        endReason = message.reason.map { CallEndReason(rawValue: $0) }
        caller = message.caller
        callerName = message.callerName
        hasVideo = message.video
        identifiedAs = message.identifiedAs
    }

    /// A call that the daemon does not know any more.
    init(forgotten call: Call.ID) {
        self.call = call
        state = .ended
        endReason = .failed
    }
}

extension Call {
    init(_ status: CallStatus, app: String) {
        self.init(id: status.call, app: app, isOutgoing: status.isOutgoing, state: status.state)
    }
}

extension CallEvent {
    /// The event for an app; nil if it is not about the app or its calls.
    init?(_ message: EventMessage) {
        switch message {
        case .restricted(let event):
            self = .filtered(
                call: Call.ID(rawValue: event.call), by: CallFilter(rawValue: event.restriction.kind),
                detail: event.restriction.detail)
        case .path(let event):
            guard let call = event.call else { return nil }
            self = .networkChanged(call: Call.ID(rawValue: call), CallPath(event.path))
        case .cellular(let event): self = .cellular(isActive: event.active)
        case .connection(let event):
            guard event.app != nil else { return nil }
            self = .reachability(
                AppReachability(
                    status: AppReachability.Status(rawValue: event.connection), reason: event.connectionReason))
        default: return nil
        }
    }
}

extension CallPath {
    init(_ path: PathMessage) {
        self.init(
            isSatisfied: path.status == "satisfied", interface: path.interface,
            interfaceType: path.interfaceType.map { InterfaceType(rawValue: $0) }, sources: path.sources,
            gateways: path.gateways, isExpensive: path.isExpensive, isConstrained: path.isConstrained,
            supportsIPv4: path.supportsIPv4, supportsIPv6: path.supportsIPv6, supportsDNS: path.supportsDNS)
    }
}

extension AudioRoute {
    init(_ message: AudioRouteMessage) {
        self.init(
            inputs: message.inputs.map { AudioPort($0) }, outputs: message.outputs.map { AudioPort($0) },
            isInputAvailable: message.isInputAvailable ?? true)
    }
}

extension AudioPort {
    fileprivate init(_ message: AudioPortMessage) {
        self.init(
            kind: Kind(rawValue: message.kind) ?? .other, device: message.device ?? "", port: message.port,
            name: message.name ?? message.device ?? message.kind)
    }
}
