// The audio session of a call: its handler plays and records only between `audioActivated` and `audioDeactivated`.
extension EventMessage {
    /// The handler opens its streams now.
    package struct AudioActivated: EventContent {
        package static let name = Name.audioActivated

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, call, activation, route }

        package var app, call: String
        /// Increases with each activation of the call, even across restarts of the daemon. An activation with a lower
        /// number is over. 0 before the first.
        package var activation: Int
        /// The call's inputs and outputs.
        package var route: AudioRouteMessage
    }

    /// The audio session is not active any more.
    package struct AudioDeactivated: EventContent {
        package static let name = Name.audioDeactivated

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, call, activation }

        package var app, call: String
        package var activation: Int
    }

    /// The audio session could not be activated, or was lost. The call continues without it.
    package struct AudioFailed: EventContent {
        package static let name = Name.audioFailed

        package enum CodingKeys: String, CodingKey, CaseIterable {
            case app, call, activation, code, codeNumber, message
        }

        package var app, call: String
        package var activation: Int
        /// The name of the error's code.
        package var code: String
        /// Apple's number of the code.
        package var codeNumber: Int32
        /// What happened, for a person.
        package var message: String
    }

    /// The call's inputs or outputs have changed.
    package struct AudioRouteChanged: EventContent {
        package static let name = Name.audioRouteChanged

        package enum CodingKeys: String, CodingKey, CaseIterable {
            case app, call, activation, changeReason, previous, route
        }

        package var app, call: String
        package var activation: Int
        /// `AudioRouteChangeReason` as text.
        package var changeReason: String
        package var previous: AudioRouteMessage
        package var route: AudioRouteMessage
    }
}
