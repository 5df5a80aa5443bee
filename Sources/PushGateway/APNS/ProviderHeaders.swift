import HTTPServer
import ProviderAPI
import RingwakeCore
import RunLoop

/// The header fields of a push, collected in one pass. Each accessor parses one field, and throws what is wrong with
/// it.
///
/// Fields that APNs doesn't know are ignored, as Apple does.
nonisolated struct ProviderHeaders {
    /// `authorization`.
    private(set) var authorization: String?
    /// `apns-id`, unchecked.
    private(set) var messageID: String?
    /// `ringwake-outcome: 1`: the sender asks for the outcome of an accepted push.
    private(set) var wantsOutcome = false
    private var expirationText: String?
    private var priorityText: String?
    private var collapseIDText: String?
    private var topicText: String?
    private var pushTypeText: String?
    /// First name that occurred twice.
    private var duplicate: String?
    /// Names of other `apns-` fields.
    private var others: [String] = []

    private enum Known {
        case authorization, id, expiration, priority, collapseID, topic, pushType, outcome
    }

    /// Comparing each name with each of these would take longer.
    private static let known: [String: Known] = [
        ProviderField.authorization: .authorization, ProviderField.id: .id, ProviderField.expiration: .expiration,
        ProviderField.priority: .priority, ProviderField.collapseID: .collapseID, ProviderField.topic: .topic,
        ProviderField.pushType: .pushType, ProviderField.outcome: .outcome,
    ]

    init(_ fields: [HTTPField]) {
        let known = Self.known
        for field in fields {
            let isFirst =
                switch known[field.name] {
                case .authorization: Self.keep(field.value, in: &authorization)
                case .id: Self.keep(field.value, in: &messageID)
                case .expiration: Self.keep(field.value, in: &expirationText)
                case .priority: Self.keep(field.value, in: &priorityText)
                case .collapseID: Self.keep(field.value, in: &collapseIDText)
                case .topic: Self.keep(field.value, in: &topicText)
                case .pushType: Self.keep(field.value, in: &pushTypeText)
                case .outcome: note(outcome: field.value)
                case nil: !field.name.hasPrefix(ProviderField.prefix) || keepOther(field.name)
                }
            if !isFirst, duplicate == nil {
                duplicate = field.name
            }
        }
    }

    /// Keeps the first value and returns false for a second one. So `apns-id` is echoed even if it occurs twice.
    private static func keep(_ value: String, in place: inout String?) -> Bool {
        guard place == nil else { return false }
        place = value
        return true
    }

    private mutating func keepOther(_ name: String) -> Bool {
        guard !others.contains(name) else { return false }
        others.append(name)
        return true
    }

    private mutating func note(outcome value: String) -> Bool {
        if value == "1" { wantsOutcome = true }
        return true
    }

    func requireNoDuplicates() throws(Refusal) {
        if let duplicate {
            throw Refusal(.duplicateHeaders, "the field \(quoted(duplicate)) is there more than once")
        }
    }

    func requireMessageIDIsWellFormed() throws(Refusal) {
        if let messageID, !MessageID.isWellFormed(messageID) {
            throw Refusal(.badMessageID, "apns-id \(quoted(messageID)) is not a UUID")
        }
    }

    /// `apns-expiration` on the boot clock; nil if absent.
    ///
    /// The header names a second, and the push is valid until the end of that second. aioapns with a time to live of 0
    /// sends the present second, so its pushes would otherwise always be late.
    ///
    /// - Parameters:
    ///   - wallClock: the time in ms since 1970.
    ///   - bootClock: the same instant on the boot clock.
    func expiration(
        wallClock: Int64, bootClock: BootClock.Instant
    ) throws(Refusal) -> VerifiedPush.Expiration? {
        guard let text = expirationText else { return nil }
        // `Int64.init` would accept a sign.
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let seconds = Int64(text)
        else {
            throw Refusal(.badExpirationDate, "apns-expiration \(quoted(text)) is not a number of seconds since 1970")
        }
        guard seconds > 0 else { return .oneAttempt }
        let (milliseconds, isFarAway) = seconds.multipliedReportingOverflow(by: 1000)
        let (end, isTheLast) = milliseconds.addingReportingOverflow(1000)
        let (remaining, overflow) = (isFarAway || isTheLast ? Int64.max : end).subtractingReportingOverflow(wallClock)
        let now = BootInstant(nanoseconds: bootClock.nanoseconds)
        return .at(now.advanced(by: .milliseconds(overflow ? Int64.max : remaining)))
    }

    /// `apns-priority`; 10 if absent.
    func priority() throws(Refusal) -> PushPriority {
        switch priorityText {
        case nil, "10": return .immediate
        case "5": return .conserving
        case "1": return .low
        case .some(let text): throw Refusal(.badPriority, "apns-priority is \(quoted(text)), not 10, 5 or 1")
        }
    }

    /// Maximum bytes of `apns-collapse-id`.
    static let maximumCollapseIDBytes = 64

    /// `apns-collapse-id`; nil if absent or empty.
    func collapseID() throws(Refusal) -> String? {
        guard let text = collapseIDText, !text.isEmpty else { return nil }
        guard text.utf8.count <= ProviderHeaders.maximumCollapseIDBytes else {
            throw Refusal(
                .badCollapseID,
                "apns-collapse-id has \(text.utf8.count) bytes; \(ProviderHeaders.maximumCollapseIDBytes) are allowed")
        }
        return text
    }

    /// Maximum bytes of `apns-topic`: a bundle ID and the longest suffix.
    static let maximumTopicBytes = 255

    /// `apns-topic`; nil if absent.
    func topic() throws(Refusal) -> Topic? {
        guard let text = topicText else { return nil }
        guard !text.isEmpty, text.utf8.count <= ProviderHeaders.maximumTopicBytes,
            text.utf8.allSatisfy(\.isNameByte)
        else {
            throw Refusal(.badTopic, "apns-topic \(quoted(text)) is not a bundle id with a suffix")
        }
        return Topic(text)
    }

    /// `apns-push-type`. If absent, `voip` for a VoIP topic, otherwise `alert`. VoIP pushes need a VoIP topic, and the
    /// reverse.
    func pushType(for topic: Topic) throws(Refusal) -> PushType {
        guard let text = pushTypeText else { return topic.isVoIP ? .voip : .alert }
        guard let type = PushType(rawValue: text) else {
            throw Refusal(.invalidPushType, "apns-push-type \(quoted(text)) is unknown")
        }
        guard (type == .voip) == topic.isVoIP else {
            throw Refusal(
                .invalidPushType, "apns-push-type \(quoted(text)) does not go with the topic \(quoted(topic.rawValue))")
        }
        return type
    }
}
