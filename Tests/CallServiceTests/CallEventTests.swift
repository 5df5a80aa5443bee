import ControlProtocol
import RingwakeCore
import Testing

@Suite("What the event of a call says of its answer and its duration")
struct CallEventTests {
    private func entry(
        _ stage: TimelineEntry.Stage, atMs milliseconds: Int64, by standIn: TimelineEntry.StandIn? = nil
    ) -> TimelineEntry {
        TimelineEntry(stage, at: BootInstant(nanoseconds: milliseconds * 1_000_000), by: standIn)
    }

    /// The event of a call with this history, 10 s after the boot.
    private func event(
        _ state: CallStateMachine.State.Name, _ timeline: [TimelineEntry], reason: CallEndReason? = nil
    ) throws -> EventMessage.CallChange {
        let record = PushStateTests.record(state, reason, timeline: timeline)
        let message = EventMessage(
            change: Call(record, [], AppPolicy()), at: BootInstant(nanoseconds: 10_000_000_000))
        guard case .call(let change) = message else { throw RingwakeError(.failed, "it is another event") }
        return change
    }

    @Test("A call that is not connected has no duration")
    func ringing() throws {
        let change = try event(.ringing, [entry(.rang, atMs: 2000), entry(.answered, atMs: 3000)])
        #expect(change.connectedMs == nil && change.answeredBy == nil)
    }

    @Test("The duration counts from the connection", arguments: [nil, "app", "rule"] as [String?])
    func connected(by text: String?) throws {
        let standIn = text.flatMap(TimelineEntry.StandIn.init(rawValue:))
        let change = try event(
            .held,
            [
                entry(.rang, atMs: 2000), entry(.answered, atMs: 3000, by: standIn), entry(.connected, atMs: 4000),
                entry(.audioActive, atMs: 4500),
            ])
        #expect(change.connectedMs == 6000 && change.answeredBy == text)
    }

    @Test("That of a call that has ended is final")
    func ended() throws {
        let change = try event(
            .ended,
            [
                entry(.answered, atMs: 3000), entry(.connected, atMs: 4000), entry(.hungUp, atMs: 6900, by: .app),
                entry(.ended, atMs: 7000),
            ], reason: .localEnded)
        #expect(change.connectedMs == 3000 && change.answeredBy == nil)
    }
}
