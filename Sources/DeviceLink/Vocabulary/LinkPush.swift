package import MQTT5
package import RingwakeCore

/// The name of a push between a gateway and its devices: the gateway's start that accepted it, and its number since then.
package struct MailKey: Hashable, Sendable {
    /// 64 random bits that the gateway made at its start.
    package let run: UInt64
    /// Rises within a run. There are gaps.
    package let sequence: UInt64

    package init(run: UInt64, sequence: UInt64) {
        self.run = run
        self.sequence = sequence
    }
}

/// A push on a link. A PUBLISH from the gateway carries it (`Documentation/link.md`, "A push").
package struct LinkPush: Hashable, Sendable {
    /// How the payload is written.
    package enum Content: String, Hashable, Sendable, Codable {
        /// The payload as the sender wrote it: one JSON object.
        case plain = "application/json"
        /// Sealed for the device.
        case sealed = "application/vnd.ringwake.sealed"
    }

    /// Why a push comes without its payload. It must not ring: its call is a missed one.
    package enum Notice: String, Hashable, Sendable, Codable {
        /// It expired while the device could not be reached.
        case expired
        /// Its sender allowed one attempt, and the device could not be reached then.
        case oneAttempt = "one-attempt"
        /// It waited longer than the gateway keeps pushes.
        case tooOld = "too-old"
    }

    package let key: MailKey
    /// `apns-id`, as the sender wrote it or as it was made for it.
    package let pushID: String
    package let slot: LinkSlot
    /// The wall clock of its arrival at the gateway, in ms since 1970.
    package let arrivedWall: Int64
    /// The same instant on the gateway's boot clock, in ms. Negative for a push of an earlier boot.
    package var arrivedBoot: Int64
    /// When it expires on the clock of ``arrivedWall``, in ms since 1970; 0: one attempt; nil: never.
    package let expires: Int64?
    package let priority: PushPriority
    /// `apns-push-type`.
    package let type: String
    package let topic: Topic
    package let environment: PushEnvironment
    /// The sender's team.
    package let sender: String
    package let collapseID: String?
    package var notice: Notice?
    package var content: Content
    package var payload: [UInt8]

    package init(
        key: MailKey, pushID: String, slot: LinkSlot, arrivedWall: Int64, arrivedBoot: Int64, expires: Int64?,
        priority: PushPriority, type: String, topic: Topic, environment: PushEnvironment, sender: String,
        collapseID: String?, notice: Notice? = nil, content: Content = .plain, payload: [UInt8]
    ) {
        self.key = key
        self.pushID = pushID
        self.slot = slot
        self.arrivedWall = arrivedWall
        self.arrivedBoot = arrivedBoot
        self.expires = expires
        self.priority = priority
        self.type = type
        self.topic = topic
        self.environment = environment
        self.sender = sender
        self.collapseID = collapseID
        self.notice = notice
        self.content = content
        self.payload = payload
    }

    /// Whether it is a VoIP push.
    package var isVoIP: Bool { topic.isVoIP }

    /// The names of the user properties, in the order in which they are sent.
    enum Name {
        static let id = "id"
        static let run = "run"
        static let sequence = "seq"
        static let floor = "floor"
        static let slot = "slot"
        static let arrivedWall = "at"
        static let arrivedBoot = "arrived"
        static let expires = "exp"
        static let priority = "priority"
        static let type = "type"
        static let topic = "topic"
        static let environment = "environment"
        static let sender = "sender"
        static let collapse = "collapse"
        static let notice = "expired"
    }

    /// The user properties but `floor`, in the order in which they are sent.
    ///
    /// - Parameter floor: the lowest unsettled push of the device.
    package func properties(floor: MailKey?) -> [MQTTUserProperty] {
        var list = [
            MQTTUserProperty(Name.id, pushID), MQTTUserProperty(Name.run, hexText(key.run)),
            MQTTUserProperty(Name.sequence, String(key.sequence)),
        ]
        if let floor { list.append(MQTTUserProperty(Name.floor, floor.text)) }
        list += [
            MQTTUserProperty(Name.slot, slot.description), MQTTUserProperty(Name.arrivedWall, String(arrivedWall)),
            MQTTUserProperty(Name.arrivedBoot, String(arrivedBoot)),
        ]
        if let expires { list.append(MQTTUserProperty(Name.expires, String(expires))) }
        list += [
            MQTTUserProperty(Name.priority, String(priority.rawValue)), MQTTUserProperty(Name.type, type),
            MQTTUserProperty(Name.topic, topic.rawValue), MQTTUserProperty(Name.environment, environment.rawValue),
            MQTTUserProperty(Name.sender, sender),
        ]
        if let collapseID { list.append(MQTTUserProperty(Name.collapse, collapseID)) }
        if let notice { list.append(MQTTUserProperty(Name.notice, notice.rawValue)) }
        return list
    }

    /// The packet for the device.
    ///
    /// - Parameters:
    ///   - floor: the lowest unsettled push of the device.
    ///   - now: the gateway's boot clock, in ms.
    package func packet(to device: DeviceID, packetID: UInt16, floor: MailKey?, now: Int64) -> MQTTPublish {
        var packet = MQTTPublish(topic: LinkTopic.down(device), packetID: packetID, payload: payload)
        packet.isUTF8 = content == .plain ? true : nil
        packet.contentType = content.rawValue
        packet.messageExpiryInterval = notice == nil ? secondsLeft(at: now) : nil
        packet.userProperties = properties(floor: floor)
        return packet
    }

    /// Milliseconds until it expires, on the gateway's boot clock; nil if it never does, or has one attempt.
    package func millisecondsLeft(at now: Int64) -> Int64? {
        guard let expires, expires > 0 else { return nil }
        let lifetime = expires.subtractingClamped(arrivedWall)
        return lifetime.subtractingClamped(now.subtractingClamped(arrivedBoot))
    }

    /// Message Expiry Interval: at least 1, because some servers and clients take 0 for "never".
    private func secondsLeft(at now: Int64) -> UInt32? {
        millisecondsLeft(at: now).map { UInt32(clamping: max(1, $0 / 1000)) }
    }
}

extension LinkPush {
    /// Reads a PUBLISH of a gateway.
    ///
    /// - Returns: nil if a property is missing or wrong: the gateway isn't one.
    package init?(_ packet: MQTTPublish) {
        let values = LinkProperties(packet.userProperties)
        guard let id = values[Name.id], let run = values[Name.run].flatMap({ parseHex64($0) }),
            let sequence = values[Name.sequence].flatMap({ UInt64($0) }),
            let slot = values[Name.slot].flatMap({ LinkSlot($0) }),
            let wall = values[Name.arrivedWall].flatMap({ Int64($0) }),
            let boot = values[Name.arrivedBoot].flatMap({ Int64($0) }),
            let priority = values[Name.priority].flatMap({ Int($0) }).flatMap({ PushPriority(rawValue: $0) }),
            let type = values[Name.type], let topic = values[Name.topic],
            let environment = values[Name.environment].flatMap({ PushEnvironment(rawValue: $0) }),
            let sender = values[Name.sender], let content = packet.contentType.flatMap({ Content(rawValue: $0) })
        else { return nil }
        var expires: Int64?
        if let text = values[Name.expires] {
            guard let time = Int64(text), time >= 0 else { return nil }
            expires = time
        }
        var notice: Notice?
        if let word = values[Name.notice] {
            // A reason of a later version: it is a notice all the same, and must not ring.
            notice = Notice(rawValue: word) ?? .expired
        }
        self.init(
            key: MailKey(run: run, sequence: sequence), pushID: id, slot: slot, arrivedWall: wall, arrivedBoot: boot,
            expires: expires, priority: priority, type: type, topic: Topic(topic), environment: environment,
            sender: sender, collapseID: values[Name.collapse], notice: notice, content: content,
            payload: packet.payload)
    }
}

extension MailKey {
    /// `run` as 16 hex digits, a colon, `seq`.
    package var text: String { "\(hexText(run)):\(sequence)" }

    package init?(text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let run = parseHex64(String(parts[0])), let sequence = UInt64(parts[1]) else {
            return nil
        }
        self.init(run: run, sequence: sequence)
    }
}

/// User properties by name. Of several with one name the first counts.
struct LinkProperties {
    private let properties: [MQTTUserProperty]

    init(_ properties: [MQTTUserProperty]) {
        self.properties = properties
    }

    subscript(_ name: String) -> String? { properties.first { $0.name == name }?.value }
}

/// 16 lower-case hex digits.
package func hexText(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
}

/// Reads 16 hex digits.
package func parseHex64(_ text: String) -> UInt64? {
    // The standard library also reads a sign.
    text.utf8.count == 16 && text.utf8.allSatisfy { $0 >= UInt8(ascii: "0") } ? UInt64(text, radix: 16) : nil
}

extension Int64 {
    func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (self < other ? .min : .max) : difference
    }

    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}

extension LinkPush {
    /// A sender's push for a linked device.
    ///
    /// - Parameter wall: the gateway's wall clock now, in ms since 1970.
    init(_ push: VerifiedPush, key: MailKey, slot: LinkSlot, wall: Int64) {
        let arrived = push.receivedWallClock ?? wall
        let expires: Int64? =
            switch push.expiration {
            case nil: nil
            case .oneAttempt: 0
            case .at(let instant):
                max(1, arrived.addingClamped(push.receivedAt.duration(to: instant).milliseconds))
            }
        self.init(
            key: key, pushID: push.pushID, slot: slot, arrivedWall: arrived,
            arrivedBoot: push.receivedAt.nanoseconds / 1_000_000, expires: expires, priority: push.priority,
            type: push.type, topic: push.provenance.topic ?? Topic(push.app.rawValue),
            environment: push.provenance.environment ?? .production, sender: push.provenance.sender,
            collapseID: push.collapseID, payload: push.payload)
    }
}
