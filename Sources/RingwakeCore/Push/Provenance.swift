/// Who sent a push, and by which door it came.
///
/// Only its sender can say more about a call, or end it: a push of another sender is about another call, whatever id it
/// has. Sender and door tell a repeat of a push from another push with its id.
package struct Provenance: Hashable, Sendable {
    /// A protocol that pushes come by, with what it alone knows of a push.
    package enum Door: Hashable, Sendable {
        /// APNs' provider API: the environment of the listener, and the topic that the push was sent to.
        case apns(PushEnvironment, Topic)
    }

    /// Names the sender, and stays the same when its certificates and keys are renewed. By APNs: its team.
    package let sender: String
    package let door: Door

    package init(sender: String, door: Door) {
        self.sender = sender
        self.door = door
    }

    /// APNs' environment; nil for a door without environments.
    package var environment: PushEnvironment? {
        switch door {
        case .apns(let environment, _): environment
        }
    }

    /// APNs' topic; nil for a door without topics.
    package var topic: Topic? {
        switch door {
        case .apns(_, let topic): topic
        }
    }
}

/// What a push is addressed to beside its token: the bundle id and a suffix that says the kind, as APNs' `apns-topic`.
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
    package var isVoIP: Bool { rawValue.hasSuffix(Topic.voipSuffix) }

    package var description: String { rawValue }

    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// Which of APNs' two environments a listener serves and a token belongs to.
package enum PushEnvironment: String, Sendable, Codable, CaseIterable {
    /// As api.sandbox.push.apple.com.
    case development
    /// As api.push.apple.com.
    case production
}
