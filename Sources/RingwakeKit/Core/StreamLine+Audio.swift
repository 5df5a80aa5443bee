internal import ControlProtocol
internal import RingwakeCore

extension StreamLine {
    /// What happened to the audio of a call, or how it stands.
    struct AudioLine: Sendable, Equatable {
        var call: String
        /// Which activation of the call it is.
        var activation: Int
        var change: CallAudioChange
    }
}

extension StreamLine.AudioLine {
    init?(_ message: EventMessage) {
        guard let call = message.call, let change = CallAudioChange(message) else { return nil }
        self.init(call: call, activation: message.activation ?? 0, change: change)
    }
}

extension CallAudioChange {
    fileprivate init?(_ message: EventMessage) {
        let route = message.route.map { AudioRoute($0) } ?? AudioRoute()
        switch message.audio {
        case "activated": self = .activated(route)
        case "deactivated": self = .deactivated
        case "failed":
            // A code of a later version.
            let code = message.code.flatMap(AudioSessionError.Code.init(rawValue:)) ?? .unspecified
            self = .failed(AudioSessionError(code, message.detail ?? ""))
        case "routeChanged":
            self = .routeChanged(
                message.reason.flatMap(AudioRouteChangeReason.init(rawValue:)) ?? .unknown,
                previous: message.previous.map { AudioRoute($0) } ?? AudioRoute(), current: route)
        default: return nil
        }
    }
}

extension AudioRoute {
    fileprivate init(_ message: AudioRouteMessage) {
        self.init(inputs: message.inputs.map { AudioPort($0) }, outputs: message.outputs.map { AudioPort($0) })
    }
}

extension AudioPort {
    fileprivate init(_ message: AudioPortMessage) {
        self.init(
            kind: Kind(rawValue: message.kind) ?? .other, device: message.device ?? "", port: message.port,
            name: message.name ?? message.device ?? message.kind)
    }
}
