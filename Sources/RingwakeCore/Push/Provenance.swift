/// Where a call came from: the sender of its push, and the protocol that the push arrived by; or this device.
///
/// Only the sender of a call may update or end it: a push of another sender refers to another call, whatever its id.
/// Sender and protocol distinguish a repeat from another push with the same id.
package struct Provenance: Hashable, Sendable {
    /// A push protocol, with the properties of a push that only this protocol has.
    package enum Door: Hashable, Sendable {
        /// APNs' provider API: the environment of the listener, and the topic that the push was sent to.
        case apns(PushEnvironment, Topic)
        /// None: the call was begun on this device.
        case device
    }

    /// A call that was begun on this device.
    package static let device = Provenance(sender: "", door: .device)

    /// Identifies the sender. It stays the same when certificates and keys are renewed. For APNs: the team. Empty without
    /// a push.
    package let sender: String
    package let door: Door

    package init(sender: String, door: Door) {
        self.sender = sender
        self.door = door
    }

    /// APNs' environment; nil for a protocol without environments.
    package var environment: PushEnvironment? {
        switch door {
        case .apns(let environment, _): environment
        case .device: nil
        }
    }

    /// APNs' topic; nil for a protocol without topics.
    package var topic: Topic? {
        switch door {
        case .apns(_, let topic): topic
        case .device: nil
        }
    }
}

/// The topic of a push, besides its token: the bundle id and a suffix for the kind, as in APNs' `apns-topic`.
package struct Topic: Hashable, Sendable, Codable, CustomStringConvertible {
    package let rawValue: String

    /// The suffix that marks the topic of an app's VoIP pushes.
    package static let voipSuffix = ".voip"

    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// The topic of `app`'s VoIP pushes: its bundle id and `.voip`.
    package static func voip(of app: AppID) -> Topic {
        Topic(app.rawValue + voipSuffix)
    }

    /// Whether pushes to this topic are VoIP pushes (and may have 5120 bytes).
    package var isVoIP: Bool {
        // Bytes: `hasSuffix` looks for the borders of characters, which takes longer than all else about a topic.
        rawValue.utf8.suffix(Topic.voipSuffix.utf8.count).elementsEqual(Topic.voipSuffix.utf8)
    }

    package var description: String { rawValue }

    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// APNs' environment of a listener or a token.
package enum PushEnvironment: String, Sendable, Codable, CaseIterable {
    /// Like api.sandbox.push.apple.com.
    case development
    /// Like api.push.apple.com.
    case production
}
