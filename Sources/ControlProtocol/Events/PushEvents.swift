// Pushes and their handlers.
extension EventMessage {
    /// The first line of a connected handler's stream.
    package struct Handler: EventContent {
        package static let name = Name.handler

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, features, secret, socket, version }

        package var app: String
        /// What the daemon does for handlers: names of ``HandlerFeature``, sorted; nil from a daemon that doesn't say.
        package var features: [String]?
        /// The wake secret, which the handler sends as `Authorization: Bearer SECRET`; nil if the handler already has
        /// one.
        package var secret: String?
        /// Path of the control socket.
        package var socket: String
        /// The daemon's version; nil from a daemon that doesn't say.
        package var version: String?

        /// The daemon's version and features; nil from a daemon that doesn't say.
        package var daemon: PeerVersion? { version.map { PeerVersion(version: $0, features: features ?? []) } }
    }

    /// A push for a handler that keeps a stream open. ``DeliveryMessage`` writes it, with the payload byte for byte.
    package struct Wake: EventContent {
        package static let name = Name.wake

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, push }

        /// The object that a started handler gets on standard input. A reader cuts it out of the line, so that the
        /// payload stays unchanged.
        package struct Push: Codable, Equatable, Sendable {}

        package var app: String
        package var push: Push
    }

    /// A push arrived and changed nothing.
    package struct PushIgnored: EventContent {
        package static let name = Name.pushIgnored

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, call, pushId, outcome }

        package var app, call: String
        /// The push's id.
        package var pushId: String
        /// Why it changed nothing: `duplicate`, `tooLate`, `restricted` or `withheld`.
        package var outcome: String
    }

    /// A push waits for the handler to fetch it.
    package struct PushWaiting: EventContent {
        package static let name = Name.pushWaiting

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, call, kind }

        package var app, call: String
        /// `call` (a new call to report), `update` (more about a call that the handler has) or `claim` (a call that has
        /// lost its handler).
        package var kind: String
    }

    /// The app's handler has too many strikes and is no longer started, or is started again.
    package struct StruckOut: EventContent {
        package static let name = Name.struckOut

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, struckOut }

        package var app: String
        package var struckOut: Bool
    }

    /// Senders need other credentials to reach the app.
    package struct Credentials: EventContent {
        package static let name = Name.credentials

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, valid }

        package var app: String
        /// Whether the app can be reached now.
        package var valid: Bool
    }
}
