package import RingwakeCore

/// The state of a call's audio session.
package struct CallAudioMessage: Codable, Equatable, Sendable {
    /// `inactive`, `active` (the handler may play and record) or `failed` (the call continues without audio).
    package var state: String
    /// Increases with each activation, even across restarts of the daemon; 0 before the first.
    package var activation: Int
    /// Route of an active session.
    package var route: AudioRouteMessage?
    /// With `failed`: the name of the error's code, and what happened.
    package var code: String?
    package var why: String?
}

extension CallAudioMessage {
    package init(_ audio: CallAudioState) {
        switch audio.phase {
        case .inactive: self.init(state: "inactive", activation: audio.activation)
        case .active(let route):
            self.init(state: "active", activation: audio.activation, route: AudioRouteMessage(route))
        case .failed(let error):
            self.init(
                state: "failed", activation: audio.activation, code: error.code.rawValue, why: error.message)
        }
    }
}
