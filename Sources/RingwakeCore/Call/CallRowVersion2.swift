/// A call in progress as stores of versions 2 and 3 kept it besides the call's record: the JSON that Swift 6.3
/// synthesised from the types of that time. It is read once, when such a store is upgraded.
package struct CallRowVersion2: Decodable {
    private struct Instant: Decodable {
        let nanoseconds: Int64
    }

    private struct Push: Decodable {
        let kind: WakeRequest.Kind
        let receivedAt: Instant
        let payload: String
    }

    private struct Pending: Decodable {
        let action: CallAction
        let digits: String?
        let by: Instant
    }

    private struct Known: Decodable {
        let apnsID: String
        let outcome: PushOutcome
    }

    private struct Deadlines: Decodable {
        let report, ring, action, connected, claim: Duration
    }

    private struct Entry: Decodable {
        let stage: TimelineEntry.Stage
        let at: Instant
    }

    /// A case of an enum with associated values: `{"ringing":{"until":{"nanoseconds":1}}}`.
    private struct Case: Decodable {
        struct Word: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let name: String
        /// The only instant of the case besides `retryAt`.
        let limit: Int64?
        let retryAt: Int64?

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Word.self)
            guard let key = container.allKeys.first, container.allKeys.count == 1 else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "an enum has one case"))
            }
            name = key.stringValue
            let values = try container.nestedContainer(keyedBy: Word.self, forKey: key)
            var (limit, retryAt): (Int64?, Int64?)
            for key in values.allKeys {
                guard let instant = try? values.decode(Instant.self, forKey: key).nanoseconds else { continue }
                if key.stringValue == "retryAt" { retryAt = instant } else { limit = instant }
            }
            (self.limit, self.retryAt) = (limit, retryAt)
        }
    }

    private struct Machine: Decodable {
        let state, lease: Case
        let pending: [Pending]
        let isMuted, yields: Bool
        let ringBefore: Instant
        let deadlines: Deadlines
    }

    private struct Audio: Decodable {
        let activation: Int
    }

    private struct Configuration: Decodable {
        let category: AudioCategory
        let mode: AudioMode
        let options: Set<AudioOption>
        let preferredOutput, preferredInput: String?
    }

    private struct Wake: Decodable {
        let number: UInt64
    }

    private let number: Int64
    private let attempt: Int
    private let machine: Machine
    private let update: Update
    private let ringer: CallRinger
    private let audioConfiguration: Configuration?
    private let audio: Audio?
    private let wasEndedInFocus: Bool?
    private let handler: Wake?
    private let claimStarts: Int
    private let first: Push?
    private let unread: [Push]
    private let fetched: Int
    private let pushes: [Known]
    private let timeline: [Entry]

    private struct Update: Decodable {
        let caller, callerName, identifiedAs: String?
        let hasVideo: Bool?
    }

    /// The record of the call and its payloads, in the current format.
    ///
    /// - Parameter journaled: the record that was stored with this row.
    /// - Returns: nil if the two don't belong together, or if this row is older than the ring.
    package func record(beside journaled: CallRecord) -> (record: CallRecord, payloads: [CallPayload])? {
        guard number == journaled.number, let arrival = timeline.first?.at.nanoseconds,
            let state = CallStateMachine.State.Name(rawValue: machine.state.name),
            let lease = CallProgress.Lease(rawValue: machine.lease.name)
        else { return nil }
        let received = BootInstant(nanoseconds: arrival)
        let entries = timeline.map { TimelineEntry($0.stage, at: BootInstant(nanoseconds: $0.at.nanoseconds)) }
        var record = journaled
        record.timeline = entries
        guard record.hasRung || !journaled.hasRung || (state == .confirmed && journaled.state == .ringing) else {
            return nil
        }
        record.state = state
        record.attempt = attempt
        record.update = CallUpdate(
            caller: update.caller, callerName: update.callerName, hasVideo: update.hasVideo,
            identifiedAs: update.identifiedAs)
        record.ringBefore = BootInstant(nanoseconds: machine.ringBefore.nanoseconds)
        record.ringTime = machine.deadlines.ring

        func offset(_ nanoseconds: Int64) -> Int64 { BootInstant(nanoseconds: nanoseconds).offset(from: received) }
        // These pushes had no ordinals: the first started the call, and the others came after it.
        let updates = unread.filter { $0.kind == .update }
        var payloads = first.map { [CallPayload(push: 0, bytes: Array($0.payload.utf8))] } ?? []
        payloads += updates.enumerated().map { CallPayload(push: $0 + 1, bytes: Array($1.payload.utf8)) }
        let isFirstUnread = unread.contains { $0.kind == .call }
        record.progress = CallProgress(
            until: machine.state.limit.map(offset), retryAt: machine.state.retryAt.map(offset), lease: lease,
            claimBy: machine.lease.limit.map(offset),
            pending: machine.pending.map { .init(action: $0.action, digits: $0.digits, by: offset($0.by.nanoseconds)) },
            isMuted: machine.isMuted, yields: machine.yields,
            reportTime: machine.deadlines.report.saturatingNanoseconds,
            actionTime: machine.deadlines.action.saturatingNanoseconds,
            connectedTime: machine.deadlines.connected.saturatingNanoseconds,
            claimTime: machine.deadlines.claim.saturatingNanoseconds, ringer: ringer,
            audio: audioConfiguration.flatMap { audio in
                (try? AudioSessionConfiguration(
                    audio.category, mode: audio.mode, options: audio.options, preferredOutput: audio.preferredOutput,
                    preferredInput: audio.preferredInput)).map { CallProgress.Audio($0) }
            },
            activation: audio?.activation, wasEndedInFocus: wasEndedInFocus ?? false, handlerNumber: handler?.number,
            claimStarts: claimStarts,
            pushes: CallPushes.Record(
                unread: (isFirstUnread ? [.init(push: 0, received: 0)] : [])
                    + updates.enumerated().map { .init(push: $0 + 1, received: offset($1.receivedAt.nanoseconds)) },
                fetched: fetched, next: updates.count + 1,
                known: pushes.map { .init(id: $0.apnsID, outcome: $0.outcome) }))
        return (record, payloads)
    }
}
