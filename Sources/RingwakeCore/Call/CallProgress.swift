/// The progress of a call that hasn't ended: what a restarted daemon needs besides the data of the call log.
///
/// Written as JSON with the keys below, within ``CallSnapshot``. Times are nanoseconds after the arrival of the call's
/// push, clamped to 64 bits.
package struct CallProgress: Hashable, Sendable, Decodable {
    /// An action that the handler has not answered yet.
    struct Pending: Hashable, Sendable, Decodable {
        let action: CallAction
        let digits: String?
        let with: CallID?
        let by: Int64

        enum CodingKeys: String, CodingKey {
            case action, digits, with, by
        }
    }

    /// The handler's configuration of its audio session.
    struct Audio: Hashable, Sendable, Decodable {
        let category: AudioCategory
        let mode: AudioMode
        let options: [AudioOption]
        let output: String?
        let input: String?

        enum CodingKeys: String, CodingKey {
            case category, mode, options, output, input
        }

        init(_ configuration: AudioSessionConfiguration) {
            category = configuration.category
            mode = configuration.mode
            options = configuration.options.sorted { $0.rawValue < $1.rawValue }
            output = configuration.preferredOutput
            input = configuration.preferredInput
        }

        /// Nil if the mode, the options or the names don't fit.
        var configuration: AudioSessionConfiguration? {
            try? AudioSessionConfiguration(
                category, mode: mode, options: Set(options), preferredOutput: output, preferredInput: input)
        }
    }

    /// Whether a handler has the call; ``CallStateMachine/Lease`` without its deadline.
    enum Lease: String, Hashable, Sendable, Decodable {
        case taken, lost, offered, absent
    }

    /// When the state ends by itself; nil for `queued`.
    let until: Int64?
    /// Of `confirmed`: when to ask the journal again, after it failed to record the ring.
    let retryAt: Int64?
    let lease: Lease
    let claimBy: Int64?
    let pending: [Pending]
    let isMuted: Bool
    let yields: Bool
    /// The maximum durations of states; ``CallRecord/ringTime`` is the fifth.
    let reportTime: Int64
    let actionTime: Int64
    let connectedTime: Int64
    let claimTime: Int64
    /// Of an outgoing call.
    let dialTime: Int64?
    let ringer: CallRinger
    let audio: Audio?
    let activation: Int?
    let wasEndedInFocus: Bool
    /// The number of its conference.
    let conference: Int64?
    /// The number of its handler.
    let handlerNumber: UInt64?
    let claimStarts: Int
    let pushes: CallPushes.Record

    enum CodingKeys: String, CodingKey {
        case until
        case retryAt = "retry_at"
        case lease
        case claimBy = "claim_by"
        case pending
        case isMuted = "muted"
        case yields
        case reportTime = "report_time"
        case actionTime = "action_time"
        case connectedTime = "connected_time"
        case claimTime = "claim_time"
        case dialTime = "dial_time"
        case ringer, audio, activation
        case wasEndedInFocus = "ended_in_focus"
        case conference
        case handlerNumber = "handler"
        case claimStarts = "claim_starts"
        case pushes
    }

    /// The ordinal of the oldest update that no handler has received. Payloads of earlier updates are not needed.
    package var oldestUnreadUpdate: Int { pushes.unread.first { $0.push > 0 }?.push ?? pushes.next }

    /// The handler that has the call.
    package var handler: WakeID? { handlerNumber.map { WakeID(number: $0) } }

}

extension CallProgress {
    init(of call: Call) {
        let machine = call.machine
        let arrival = call.receivedAt
        let retryAt: BootInstant? = if case .confirmed(_, let retry) = machine.state { retry } else { nil }
        let lease: Lease =
            switch machine.lease {
            case .taken: .taken
            case .lost: .lost
            case .offered: .offered
            case .absent: .absent
            }
        self.init(
            until: machine.state.limit?.offset(from: arrival), retryAt: retryAt?.offset(from: arrival), lease: lease,
            claimBy: machine.claimBy?.offset(from: arrival),
            pending: machine.pending.map {
                Pending(action: $0.action, digits: $0.digits, with: $0.with, by: $0.by.offset(from: arrival))
            },
            isMuted: machine.isMuted, yields: machine.actions.yields,
            reportTime: machine.deadlines.report.saturatingNanoseconds,
            actionTime: machine.deadlines.action.saturatingNanoseconds,
            connectedTime: machine.deadlines.connected.saturatingNanoseconds,
            claimTime: machine.deadlines.claim.saturatingNanoseconds,
            dialTime: machine.isOutgoing ? machine.deadlines.dial.saturatingNanoseconds : nil, ringer: call.ringer,
            audio: call.audioConfiguration.map { Audio($0) }, activation: call.audio?.activation,
            wasEndedInFocus: call.wasEndedInFocus, conference: call.conference, handlerNumber: call.handler?.number,
            claimStarts: call.claimStarts,
            pushes: call.pushes.record(from: arrival))
    }

    /// Writes the keys.
    func write(_ row: inout JSONWriter) {
        row.add("action_time", actionTime)
        row.add("activation", activation)
        if let audio {
            row.add("audio") { row in
                row.add("category", audio.category)
                row.add("input", audio.input)
                row.add("mode", audio.mode)
                row.add("options", array: audio.options) { $1.string($0.rawValue) }
                row.add("output", audio.output)
            }
        }
        row.add("claim_by", claimBy)
        row.add("claim_starts", claimStarts)
        row.add("claim_time", claimTime)
        row.add("conference", conference)
        row.add("connected_time", connectedTime)
        row.add("dial_time", dialTime)
        row.add("ended_in_focus", wasEndedInFocus)
        row.add("handler", handlerNumber)
        row.add("lease", lease)
        row.add("muted", isMuted)
        row.add("pending", array: pending) { action, row in
            row.object { row in
                row.add("action", action.action)
                row.add("by", action.by)
                row.add("digits", action.digits)
                row.add("with", action.with?.rawValue)
            }
        }
        row.add("pushes", pushes.write)
        row.add("report_time", reportTime)
        row.add("retry_at", retryAt)
        row.add("ringer", ringer)
        row.add("until", until)
        row.add("yields", yields)
    }

    /// Longer than any configuration allows.
    private static let longestTime = Duration.seconds(400 * 86_400).saturatingNanoseconds

    /// Whether a coordinator can have written it. Numbers out of range are refused, so that no later addition
    /// overflows.
    var isSound: Bool {
        (handlerNumber.map { WakeID.numbers.contains($0) } ?? true) && pushes.isSound
            && pending.count <= InCallActions.maximum
            && [reportTime, actionTime, connectedTime, claimTime, dialTime ?? 0].allSatisfy {
                (0...Self.longestTime).contains($0)
            }
            && (conference.map { (1...CallRecord.numbers.upperBound).contains($0) } ?? true)
            && (audio == nil || audio?.configuration != nil) && (activation ?? 0) >= 0
            && (claimBy != nil) == (lease == .lost || lease == .offered)
    }
}

extension CallStateMachine {
    /// Restores the machine of a call from the journal. Without progress, the call is queued unless it has ended.
    init(_ record: CallRecord, _ policy: AppPolicy) {
        let arrival = record.receivedAt
        var deadlines = policy.deadlines
        deadlines.ring = record.ringTime
        guard let progress = record.progress else {
            let isEnded = record.state == .ended
            self.init(
                deadlines: deadlines, ringBefore: record.ringBefore,
                state: isEnded ? .ended(record.reason ?? .failed, detail: record.detail) : .queued,
                isOutgoing: record.isOutgoing)
            return
        }
        deadlines.report = .nanoseconds(progress.reportTime)
        deadlines.action = .nanoseconds(progress.actionTime)
        deadlines.connected = .nanoseconds(progress.connectedTime)
        deadlines.claim = .nanoseconds(progress.claimTime)
        if let time = progress.dialTime { deadlines.dial = .nanoseconds(time) }
        let until = arrival.advanced(byOffset: progress.until ?? 0)
        let state: State =
            switch record.state {
            case .queued: .queued
            case .woken: .woken(reportBy: until)
            case .reported: .reported(confirmBy: until)
            case .confirmed: .confirmed(by: until, retryAt: progress.retryAt.map(arrival.advanced(byOffset:)))
            case .ringing: .ringing(until: until)
            case .answering: .answering(fulfillBy: until)
            case .connected: .connected(until: until)
            case .held: .held(until: until)
            case .dialling: .dialling(fulfillBy: until)
            case .connecting: .connecting(until: until)
            case .ending: .ending(record.reason ?? .localEnded, fulfillBy: until)
            case .ended: .ended(record.reason ?? .failed, detail: record.detail)
            }
        let claimBy = arrival.advanced(byOffset: progress.claimBy ?? 0)
        let lease: Lease =
            switch progress.lease {
            case .taken: .taken
            case .lost: .lost(claimBy: claimBy)
            case .offered: .offered(claimBy: claimBy)
            case .absent: .absent
            }
        let pending = progress.pending.map {
            PendingAction($0.action, digits: $0.digits, with: $0.with, by: arrival.advanced(byOffset: $0.by))
        }
        self.init(
            deadlines: deadlines, ringBefore: record.ringBefore, state: state, lease: lease,
            actions: InCallActions(pending: pending, isMuted: progress.isMuted, yields: progress.yields),
            isOutgoing: record.isOutgoing)
    }
}
