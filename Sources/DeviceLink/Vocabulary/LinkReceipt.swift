package import RingwakeCore

/// What became of a push, as its device says. The device's journal is the source: a later receipt of the same push
/// replaces this one.
package struct LinkReceipt: Hashable, Sendable, Codable {
    /// A stage that was reached, and when: microseconds since the push arrived at the gateway.
    package struct Stage: Hashable, Sendable, Codable {
        package let stage: String
        package let atUs: Int64

        package init(stage: String, atUs: Int64) {
            self.stage = stage
            self.atUs = atUs
        }
    }

    package let slot: LinkSlot
    /// `apns-id`
    package let id: String
    /// The sender's team.
    package let sender: String
    /// `PushMessage.State` as text.
    package let state: String
    /// Why its call ended; nil while it has not.
    package let reason: String?
    /// Attempts to wake a handler.
    package let attempt: Int
    /// When the push arrived at the gateway, in ms since 1970.
    package let at: Int64
    package let stages: [Stage]

    package init(
        slot: LinkSlot, id: String, sender: String, state: String, reason: String?, attempt: Int, at: Int64,
        stages: [Stage]
    ) {
        self.slot = slot
        self.id = id
        self.sender = sender
        self.state = state
        self.reason = reason
        self.attempt = attempt
        self.at = at
        self.stages = stages
    }

    /// Receipts in one message at most.
    package static let maximumInMessage = 64
    private static let maximumTextBytes = 64
    private static let maximumStages = 16

    /// What its texts take in memory, about.
    var textBytes: Int {
        [id, sender, state, reason ?? ""].reduce(0) { $0 + $1.utf8.count }
            + stages.reduce(0) { $0 + 56 + $1.stage.utf8.count }
    }

    /// Whether its texts have the lengths that a device's may have.
    var isWellFormed: Bool {
        [id, sender, state, reason ?? ""].allSatisfy { $0.utf8.count <= Self.maximumTextBytes }
            && stages.count <= Self.maximumStages
            && stages.allSatisfy { $0.stage.utf8.count <= Self.maximumTextBytes }
    }
}

/// Names a push to those who sent it: only its sender knows all of it.
package struct ReceiptKey: Hashable, Sendable {
    package let slot: LinkSlot
    package let sender: String
    /// `apns-id` as it is compared.
    package let id: String

    package init(slot: LinkSlot, sender: String, id: String) {
        self.slot = slot
        self.sender = sender
        self.id = id.canonicalPushID
    }
}
