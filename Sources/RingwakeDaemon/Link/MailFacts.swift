internal import DeviceLink
internal import FoundationEssentials
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// How a waiting push is written in the store: what a row has no column for. A version of its own; see ``version``.
struct MailFacts: Codable {
    static let version = 1

    let id: String
    let slot: LinkSlot
    let expires: Int64?
    let priority: PushPriority
    let type: String
    let topic: Topic
    let environment: PushEnvironment
    let sender: String
    let collapse: String?
    /// How its payload is written.
    let content: LinkPush.Content

    init(_ push: LinkPush) {
        id = push.pushID
        slot = push.slot
        expires = push.expires
        priority = push.priority
        type = push.type
        topic = push.topic
        environment = push.environment
        sender = push.sender
        collapse = push.collapseID
        content = push.content
    }

    /// The facts of a row; nil if no version wrote them, or only a newer one.
    init?(version: Int, _ bytes: [UInt8]) {
        guard version == Self.version, let facts = try? JSONDecoder().decode(MailFacts.self, from: Data(bytes)) else {
            return nil
        }
        self = facts
    }

    /// A damaged row may hold anything; a property on the wire has 65,535 bytes at most.
    var isSendable: Bool {
        [id, type, topic.rawValue, sender, collapse ?? ""].allSatisfy { $0.utf8.count <= 1024 }
    }

    func encoded() throws(RingwakeError) -> [UInt8] {
        do {
            return Array(try JSONEncoder().encode(self))
        } catch {
            throw RingwakeError(.failed, "a waiting push cannot be encoded: \(error); report this as a bug")
        }
    }
}

extension MailRowKey {
    init(_ key: MailKey) { self.init(run: key.run, sequence: key.sequence) }
}

extension MailKey {
    init(_ key: MailRowKey) { self.init(run: key.run, sequence: key.sequence) }
}

extension MailRow {
    init(_ push: LinkPush, of device: DeviceID) throws(RingwakeError) {
        self.init(
            key: MailRowKey(push.key), device: device.rawValue,
            receivedAt: BootInstant(
                nanoseconds: push.arrivedBoot.multipliedReportingOverflow(by: 1_000_000).partialValue),
            receivedWall: push.arrivedWall, version: MailFacts.version, facts: try MailFacts(push).encoded(),
            payload: push.payload)
    }
}

extension LinkPush {
    /// A waiting push of the last run, without its payload; nil if its row can't be read.
    init?(_ stored: StoredMail) {
        guard let facts = MailFacts(version: stored.version, stored.facts), facts.isSendable else { return nil }
        self.init(
            key: MailKey(stored.key), pushID: facts.id, slot: facts.slot, arrivedWall: stored.receivedWall,
            arrivedBoot: stored.receivedAt.nanoseconds / 1_000_000, expires: facts.expires, priority: facts.priority,
            type: facts.type, topic: facts.topic, environment: facts.environment, sender: facts.sender,
            collapseID: facts.collapse, content: facts.content, payload: [])
    }
}
