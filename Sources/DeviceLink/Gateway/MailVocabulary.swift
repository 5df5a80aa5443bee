package import RingwakeCore

extension Mailbox {
    /// What the sender is told.
    package enum Answer: Hashable, Sendable {
        /// The device has it.
        case delivered
        /// It is durable here.
        case queued
        case refused(PushRefusal)
    }

    /// Why a push ended without reaching its app.
    package enum Drop: String, Hashable, Sendable, Codable {
        /// Not a VoIP push, and it expired.
        case expired
        /// Not a VoIP push, and a VoIP push needed its place.
        case displaced
        /// A later push with its collapse id took its place.
        case collapsed
        /// The device refused its payload.
        case refused
        /// Its registration is gone.
        case unregistered
        /// The store no longer has it.
        case lost
    }

    /// The payload of a push in the store.
    package struct StoredPayload: Hashable, Sendable {
        package let content: LinkPush.Content
        package let bytes: [UInt8]

        package init(content: LinkPush.Content, bytes: [UInt8]) {
            self.content = content
            self.bytes = bytes
        }
    }
}
