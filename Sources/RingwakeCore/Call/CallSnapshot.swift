/// The data of a call in the journal besides the row's columns: one JSON object with the keys below.
///
/// What says who called has a column and a protection class of its own (``CallerSnapshot``). In the records for other
/// programs (Documentation/portable.md) both are one object.
///
/// Times are nanoseconds after the arrival of the call's push, so that a row means the same in every boot. Enumerations
/// are stored by their raw values. A new key is optional. A change of meaning raises ``version`` and needs an upgrade
/// where rows are read.
package struct CallSnapshot: Hashable, Sendable, Decodable {
    /// The version that is written. It has a column of its own.
    package static let version = 1

    /// For a push over APNs. Another kind of ``Provenance/Door`` will add keys of its own.
    private let topic: String?
    private let environment: PushEnvironment?
    /// Whether the call was begun on this device, without a push.
    private let isOutgoing: Bool?
    private let isEmergency: Bool?
    private let push: String
    private let collapseID: String?
    private let isOneAttempt: Bool
    private let reason: CallEndReason?
    private let detail: String?
    private let restriction: Restriction.Kind?
    private let caller: String?
    private let callerName: String?
    private let identifiedAs: String?
    private let hasVideo: Bool?
    private let supportsHold: Bool?
    private let supportsDTMF: Bool?
    private let supportsMerge: Bool?
    private let attempt: Int
    private let ringBefore: Int64
    private let ringTime: Int64
    private let times: [String: Int64]
    /// Who brought about what a user does, if not the user.
    private let by: [String: TimelineEntry.StandIn]?
    private let answersItself: Bool?
    private let progress: CallProgress?

    private enum CodingKeys: String, CodingKey {
        case topic, environment, push
        case isOutgoing = "outgoing"
        case isEmergency = "emergency"
        case collapseID = "collapse_id"
        case isOneAttempt = "one_attempt"
        case reason, detail, restriction, caller
        case callerName = "caller_name"
        case identifiedAs = "identified_as"
        case hasVideo = "video"
        case supportsHold = "supports_hold"
        case supportsDTMF = "supports_dtmf"
        case supportsMerge = "supports_merge"
        case attempt
        case ringBefore = "ring_before"
        case ringTime = "ring_time"
        case times
        case by
        case answersItself = "answers_itself"
        case progress
    }

    /// The snapshot of a call, as it is written: without who called.
    package static func json(of record: CallRecord) -> [UInt8] {
        let arrival = record.receivedAt
        return JSONWriter(capacity: 1024) { row in
            row.add("attempt", record.attempt)
            row.add("answers_itself", record.update.answersItself)
            let standIns = record.timeline.filter { $0.by != nil }
            if !standIns.isEmpty {
                row.add("by") { by in for entry in standIns { by.add(entry.stage.rawValue, entry.by) } }
            }
            row.add("collapse_id", record.collapseID)
            row.add("detail", record.detail)
            if record.isEmergency { row.add("emergency", true) }
            switch record.provenance.door {
            case .apns(let environment, let topic):
                row.add("environment", environment)
                row.add("topic", topic.rawValue)
            case .device: break
            }
            row.add("one_attempt", record.isOneAttempt)
            if record.isOutgoing { row.add("outgoing", true) }
            if let progress = record.progress { row.add("progress", progress.write) }
            row.add("push", record.pushID)
            row.add("reason", record.reason)
            row.add("restriction", record.restriction)
            row.add("ring_before", record.ringBefore.offset(from: arrival))
            row.add("ring_time", record.ringTime.saturatingNanoseconds)
            row.add("supports_dtmf", record.update.supportsDTMF)
            row.add("supports_hold", record.update.supportsHold)
            row.add("supports_merge", record.update.supportsMerge)
            row.add("times") { times in
                for entry in record.timeline.dropFirst() {
                    times.add(entry.stage.rawValue, entry.at.offset(from: arrival))
                }
            }
            row.add("video", record.update.hasVideo)
        }.bytes
    }

    /// The offset of the latest event in nanoseconds after the arrival; 0 if there is none.
    package var lastOffset: Int64 { max(0, times.values.max() ?? 0) }

    /// The record, from the snapshot and the row's columns.
    ///
    /// - Parameters:
    ///   - arrival: when the call's push arrived, by the clock of this boot.
    ///   - separate: who called, from its own column; nil if the snapshot has it, or nothing is known.
    /// - Returns: nil if no version writes such a row.
    package func record(
        number: Int64, key: CallKey, sender: String, state: CallStateMachine.State.Name,
        receivedAt arrival: BootInstant, receivedWallClock: Int64?, caller separate: CallerSnapshot? = nil
    ) -> CallRecord? {
        guard CallRecord.numbers.contains(number), CallRecord.attempts.contains(attempt), ringTime >= 0,
            progress?.isSound ?? true, let provenance = provenance(sender)
        else { return nil }
        var timeline = [TimelineEntry(.received, at: arrival)]
        for (word, offset) in times {
            guard let stage = TimelineEntry.Stage(rawValue: word), stage != .received else { return nil }
            timeline.append(TimelineEntry(stage, at: arrival.advanced(byOffset: offset), by: by?[word]))
        }
        timeline[1...].sort()
        var record = CallRecord(
            number: number, key: key,
            provenance: provenance, pushID: push, state: state, reason: reason, detail: detail,
            update: CallUpdate(
                caller: separate?.caller ?? caller, callerName: separate?.callerName ?? callerName,
                hasVideo: hasVideo, identifiedAs: separate?.identifiedAs ?? identifiedAs),
            attempt: attempt, ringBefore: arrival.advanced(byOffset: ringBefore), isOneAttempt: isOneAttempt,
            ringTime: .nanoseconds(ringTime), timeline: timeline)
        record.update.answersItself = answersItself
        record.update.supportsHold = supportsHold
        record.update.supportsDTMF = supportsDTMF
        record.update.supportsMerge = supportsMerge
        record.collapseID = collapseID
        record.isEmergency = isEmergency ?? false
        record.receivedWallClock = receivedWallClock
        record.restriction = restriction
        record.progress = state == .ended ? nil : progress
        return record
    }

    private func provenance(_ sender: String) -> Provenance? {
        if isOutgoing == true { return .device }
        guard let topic, let environment else { return nil }
        return Provenance(sender: sender, door: .apns(environment, Topic(topic)))
    }
}
