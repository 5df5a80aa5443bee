// Pushes and their handlers.
extension EventMessage {
    /// The first line of a connected handler's stream.
    package struct Handler: EventContent {
        package static let name = Name.handler

        package enum CodingKeys: String, CodingKey, CaseIterable {
            case app, features, protectedDataAvailable, restrictions, secret, socket, version
        }

        package var app: String
        /// What the daemon does for handlers: names of ``HandlerFeature``, sorted; nil from a daemon that doesn't say.
        package var features: [String]?
        /// False if protected data can't be read now; nil if it can, and from a daemon that doesn't say.
        package var protectedDataAvailable: Bool?
        /// What is restricted for the app; nil if nothing is, and from a daemon that doesn't say.
        package var restrictions: RestrictionsMessage?
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

    /// A sender's request with its answer, for people who test senders.
    package struct PushRequest: EventContent {
        package static let name = Name.pushRequest

        package enum CodingKeys: String, CodingKey, CaseIterable {
            case at, peer, environment, team, app, method, path, headers, payload, payloadBinary, pushId, status
            case pushReason, cause, fault
        }

        /// One header field, with its name in lower case.
        package struct Header: Codable, Equatable, Sendable {
            package var name, value: String

            package init(name: String, value: String) {
                (self.name, self.value) = (name, value)
            }
        }

        /// When its head arrived: ``UTCTime`` as text.
        package var at: String
        /// The sender's address and port.
        package var peer: String
        /// Environment of the port: `development` or `production`.
        package var environment: String
        /// The sender's team, as far as it is known. It may be a claim only.
        package var team: String?
        /// Bundle ID of the app that the device token belongs to; nil if the request was refused before that was known.
        package var app: String?
        package var method, path: String
        /// The fields in order, without HTTP/2's pseudo-fields. A provider token is shown without its signature.
        package var headers: [Header]
        /// The payload as it came, if it is text; nil if the request was refused before it was read.
        package var payload: String?
        /// The payload in base64, if it isn't text.
        package var payloadBinary: String?
        /// The push's ID in the answer.
        package var pushId: String
        /// The status of the answer; nil if there is none.
        package var status: Int?
        /// Why the push was refused, in APNs' words; nil if it wasn't.
        package var pushReason: String?
        /// The exact cause of the refusal.
        package var cause: String?
        /// The fault that it met: as ``PushFaultMessage/fault``.
        package var fault: String?

        package init(
            at: String, peer: String, environment: String, team: String? = nil, app: String? = nil, method: String,
            path: String, headers: [Header], payload: String? = nil, payloadBinary: String? = nil, pushId: String,
            status: Int?, pushReason: String? = nil, cause: String? = nil, fault: String? = nil
        ) {
            self.at = at
            self.peer = peer
            self.environment = environment
            self.team = team
            self.app = app
            self.method = method
            self.path = path
            self.headers = headers
            self.payload = payload
            self.payloadBinary = payloadBinary
            self.pushId = pushId
            self.status = status
            self.pushReason = pushReason
            self.cause = cause
            self.fault = fault
        }
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
