package import RingwakeCore

/// How the audio session of a call stands.
package struct CallAudioMessage: Codable, Equatable, Sendable {
    /// `inactive`, `active` (its handler may play and record) or `failed` (the call goes on without).
    package var state: String
    /// Rises with each activation, over restarts of the daemon too; 0 before the first.
    package var activation: Int
    /// Of one that is active: where its sound goes and comes from.
    package var route: AudioRouteMessage?
    /// Of one that failed: the name of the error's code, and what happened.
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
