package import RingwakeCore

extension EventMessage {
    /// What happened to the audio session of `call`: its handler may play and record, or may not any more.
    package init(audio change: CallAudioChange, of call: Call) {
        self.init(audio: change, of: call.key, activation: call.audio.map(\.activation))
    }

    /// - Parameter activation: which of all activations of the call it is.
    package init(audio change: CallAudioChange, of key: CallKey, activation: Int?) {
        self.init(event: "audio", app: key.app.rawValue, call: key.id.rawValue, activation: activation)
        switch change {
        case .activated(let route):
            audio = "activated"
            self.route = AudioRouteMessage(route)
        case .deactivated:
            audio = "deactivated"
        case .failed(let error):
            audio = "failed"
            code = error.code.rawValue
            codeNumber = error.code.number
            detail = error.message
        case .routeChanged(let reason, let previous, let current):
            audio = "routeChanged"
            self.reason = reason.rawValue
            self.previous = AudioRouteMessage(previous)
            route = AudioRouteMessage(current)
        }
    }

    /// How the audio session of `call` stands, for one who begins to listen; nil where there was none.
    package init?(audioOf call: Call) {
        guard let audio = call.audio, !call.machine.hasEnded else { return nil }
        switch audio.phase {
        case .inactive: self.init(audio: .deactivated, of: call)
        case .active(let route): self.init(audio: .activated(route), of: call)
        case .failed(let error): self.init(audio: .failed(error), of: call)
        }
    }
}
