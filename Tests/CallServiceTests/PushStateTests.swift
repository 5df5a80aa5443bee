import ControlProtocol
import FoundationEssentials
import RingwakeCore
import Testing

@testable import CallService

@Suite("What became of a push, as the control API tells it")
struct PushStateTests {
    private static let phone = AppID("com.example.phone") ?? { preconditionFailure("a valid bundle id") }()

    static func record(
        _ state: CallStateMachine.State.Name, _ reason: CallEndReason? = nil, number: Int64 = 1, id: String = "c1",
        pushID: String = "A-1", timeline: [TimelineEntry] = []
    ) -> CallRecord {
        let received = TimelineEntry(.received, at: BootInstant(nanoseconds: 1_000_000))
        return CallRecord(
            number: number, key: CallKey(app: phone, id: CallID(id)),
            provenance: Provenance(sender: "TEAM123456", door: .apns(.production, .voip(of: phone))), pushID: pushID,
            state: state, reason: reason, detail: nil,
            update: CallUpdate(), attempt: 1, ringBefore: BootInstant(nanoseconds: 9_000_000), isOneAttempt: false,
            ringTime: .seconds(45), timeline: [received] + timeline)
    }

    private func push(
        _ outcome: PushOutcome, pushID: String = "A-1", journaledAt: Int64? = 3_000_000
    ) -> JournaledPush {
        JournaledPush(
            sequence: 1,
            push: PushRecord(
                pushID: pushID, app: Self.phone,
                provenance: Provenance(sender: "TEAM123456", door: .apns(.production, .voip(of: Self.phone))),
                priority: .immediate, collapseID: nil,
                receivedAt: BootInstant(nanoseconds: 1_000_000), call: CallID("c1"), outcome: outcome),
            receivedWallClock: 0, journaledAt: journaledAt.map { BootInstant(nanoseconds: $0) }, call: nil)
    }

    @Test(
        "While its call goes on, its state is the call's",
        arguments: [
            (.queued, .journaled), (.woken, .woken), (.reported, .reported), (.confirmed, .reported),
            (.ringing, .ringing), (.answering, .answered), (.connected, .answered), (.ending, .ended),
        ] as [(CallStateMachine.State.Name, PushMessage.State)])
    func running(call: CallStateMachine.State.Name, state: PushMessage.State) {
        #expect(PushMessage.State(of: .started, Self.record(call)) == state)
        #expect(PushMessage.State(of: .updated, Self.record(call)) == state)
    }

    @Test("Once its call has ended, the reason decides", arguments: CallEndReason.allCases)
    func ended(reason: CallEndReason) {
        let expected: PushMessage.State =
            switch reason {
            case .expired: .expired
            case .cancelled: .cancelled
            case .failed, .remoteEnded, .unanswered, .handlerFailed, .busy: .missed
            case .restricted, .blocked: .restricted
            case .replaced: .replaced
            case .answeredElsewhere, .declinedElsewhere, .declined, .localEnded: .ended
            }
        #expect(PushMessage.State(of: .started, Self.record(.ended, reason)) == expected)
        let answered = TimelineEntry(.answered, at: BootInstant(nanoseconds: 2_000_000))
        let isOfItsOwn = [.expired, .cancelled, .restricted, .blocked, .replaced].contains(reason)
        #expect(
            PushMessage.State(of: .started, Self.record(.ended, reason, timeline: [answered]))
                == (isOfItsOwn ? expected : .ended))
    }

    @Test("Without its call, what it did at its arrival decides", arguments: PushOutcome.allCases)
    func withoutCall(outcome: PushOutcome) {
        let expected: PushMessage.State =
            switch outcome {
            case .started, .updated: .journaled
            case .expired: .expired
            case .cancelled: .cancelled
            case .restricted: .restricted
            case .withheld: .withheld
            case .replaced: .replaced
            case .duplicate, .tooLate: .ended
            }
        #expect(PushMessage.State(of: outcome, nil) == expected)
    }

    @Test("The push that started its call has the call's timeline, with the time when it was durable in its place")
    func timelineOfTheFirst() {
        let call = Self.record(
            .ended, .expired, pushID: "a-1",
            timeline: [
                TimelineEntry(.verified, at: BootInstant(nanoseconds: 2_000_000)),
                TimelineEntry(.ended, at: BootInstant(nanoseconds: 4_000_000)),
            ])
        let message = PushMessage(push(.expired), call: call)
        #expect(message.timeline.map(\.stage) == ["received", "verified", "journaled", "ended"])
        #expect(message.timeline.map(\.atUs) == [0, 1000, 2000, 3000])
        let unknown = PushMessage(push(.expired, journaledAt: nil), call: call)
        #expect(unknown.timeline.map(\.stage) == ["received", "verified", "ended"])
    }

    @Test("Any other push of the call has a timeline of its own")
    func timelineOfAnother() {
        let call = Self.record(.ringing)
        let message = PushMessage(push(.updated, pushID: "A-2"), call: call)
        #expect(message.timeline == [Hop(stage: "received", atUs: 0), Hop(stage: "journaled", atUs: 2000)])
        #expect(message.state == "ringing" && message.outcome == "updated")
        #expect(PushMessage(push(.updated, journaledAt: nil), call: nil).timeline.count == 1)
    }

    @Test("What a handler fetches is frozen, and holds the payloads byte for byte")
    func waiting() throws {
        typealias Kind = WakeRequest.Kind
        let request = { (kind: Kind, call: String, attempt: Int, age: Int64, left: Int64, payload: String) in
            WakeRequest(
                wake: WakeID(number: 1), kind: kind, app: Self.phone,
                call: CallID(call), attempt: attempt, receivedAt: BootInstant(nanoseconds: (100 - age) * 1_000_000),
                reportBy: BootInstant(nanoseconds: (100 + left) * 1_000_000), payload: Array(payload.utf8))
        }
        let two = [
            request(.call, "c1", 1, 12, 4988, #"{"from": "alice",  "n":1.0}"#),
            request(.update, #"c"2"#, 3, 0, -5, "{}"),
        ]
        for (name, requests) in [("two", two), ("none", [])] {
            let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
            let file = parts.joined(separator: "/") + "/Fixtures/control-api/WaitingMessage/\(name).json"
            let frozen = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
            let json = WaitingMessage.json(requests, at: BootInstant(nanoseconds: 100_000_000))
            #expect(String(decoding: json, as: UTF8.self) + "\n" == frozen)
        }
    }
}
