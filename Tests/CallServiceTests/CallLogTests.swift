import RingwakeCore
import Testing

@testable import CallService

@Suite("A page of the call log")
struct CallLogTests {
    private let phone: AppID
    private var coordinator = CoordinatorStateMachine()

    init() throws {
        phone = try #require(AppID("com.example.phone"))
    }

    /// A push at `second`, whose call goes on or is over at once.
    private mutating func push(_ id: String, expired: Bool = false, at second: Int64) {
        let now = BootInstant(nanoseconds: second * 1_000_000_000)
        let push = VerifiedPush(
            pushID: id, app: phone,
            provenance: Provenance(sender: "TEAM123456", door: .apns(.production, .voip(of: phone))),
            priority: .immediate,
            expiration: expired ? .at(BootInstant(nanoseconds: 0)) : nil, collapseID: nil, payload: Array("{}".utf8),
            receivedAt: now, verifiedAt: now)
        _ = coordinator.handle(.pushReceived(push, PushFacts(), AppPolicy()), at: now)
    }

    private func row(_ number: Int64, _ id: String) -> JournaledCall {
        JournaledCall(record: PushStateTests.record(.ended, .unanswered, number: number, id: id), receivedWallClock: 0)
    }

    private func log(limit: Int, before: Int64? = nil, missed: Bool = false) -> CallLog {
        CallLog(
            app: nil, missedOnly: missed, page: .init(limit: limit, before: before), whileRunning: coordinator)
    }

    /// The page as `number` for what the journal has and `-number` for what the coordinator remembers.
    private func numbers(_ entries: [CallLog.Entry]) -> [Int64] {
        entries.map { entry in
            switch entry {
            case .journaled(let call): call.record.number
            case .remembered(let call): -call.number
            }
        }
    }

    @Test("What runs is asked for on top of the page, and left out of it")
    mutating func runningCalls() {
        push("a", at: 1)
        push("b", at: 2)
        let log = log(limit: 2)
        #expect(log.query.limit == 5)
        let rows = [row(2, "b"), row(1, "a")]
        let page = log.page(of: .success(rows), and: coordinator)
        #expect(page.entries.isEmpty && page.next == nil && page.incomplete == nil)
        #expect(log.running(in: coordinator).map(\.number) == [2, 1])
    }

    @Test("With calls that run on top, a page is full only when there is one more that is over")
    mutating func runningAndOver() {
        push("a", at: 1)
        let page = log(limit: 1).page(of: .success([row(9, "x"), row(1, "a")]), and: coordinator)
        #expect(numbers(page.entries) == [9] && page.next == nil)
    }

    @Test("What the coordinator remembers counts, where the journal lags behind or has failed to take it")
    mutating func remembered() {
        push("a", expired: true, at: 1)
        push("b", expired: true, at: 2)
        let page = log(limit: 5).page(of: .success([row(1, "a")]), and: coordinator)
        #expect(numbers(page.entries) == [-2, -1] && page.next == nil)
    }

    @Test("Of a page that is full, the next begins after its last; of the last page there is no next")
    func paging() {
        let full = log(limit: 2).page(of: .success([row(9, "x"), row(7, "y"), row(5, "z")]), and: coordinator)
        #expect(numbers(full.entries) == [9, 7] && full.next == 7)
        let last = log(limit: 2).page(of: .success([row(9, "x"), row(7, "y")]), and: coordinator)
        #expect(numbers(last.entries) == [9, 7] && last.next == nil)
    }

    @Test("What is remembered stands on its own page only")
    mutating func rememberedElsewhere() {
        for number in 1...4 { push("c\(number)", expired: true, at: Int64(number)) }
        let first = log(limit: 1).page(of: .success([row(4, "c4"), row(3, "c3")]), and: coordinator)
        #expect(numbers(first.entries) == [-4] && first.next == 4)
        let second = log(limit: 5, before: 4).page(
            of: .success([row(3, "c3"), row(2, "c2"), row(1, "c1")]), and: coordinator)
        #expect(numbers(second.entries) == [-3, -2, -1] && second.next == nil)
    }

    @Test("Without the journal the page is what is remembered, and says that it is not complete")
    mutating func withoutJournal() {
        push("a", expired: true, at: 1)
        push("b", at: 2)
        let page = log(limit: 5).page(of: .failure(RingwakeError(.timedOut, "the disk hangs")), and: coordinator)
        #expect(numbers(page.entries) == [-1] && page.incomplete == "the disk hangs" && page.next == nil)
    }

    @Test("What is older than the journal's rows waits for its page, also where none of the rows is shown")
    mutating func olderThanTheRows() {
        push("c1", expired: true, at: 1)
        for id in ["c2", "c3"] {
            push(id, at: 2)
            let key = CallKey(app: phone, id: CallID(id))
            _ = coordinator.handle(.endRequested(key), at: BootInstant(nanoseconds: 2_000_000_000))
            _ = coordinator.handle(.fulfilled(key, .end, by: nil), at: BootInstant(nanoseconds: 2_000_000_000))
        }
        let page = log(limit: 1, missed: true).page(of: .success([row(3, "c3"), row(2, "c2")]), and: coordinator)
        #expect(page.entries.isEmpty && page.next == 2)
    }

    @Test("A call that was not missed is not among the missed")
    mutating func missedOnly() throws {
        push("a", at: 1)
        let key = CallKey(app: phone, id: CallID("a"))
        let later = BootInstant(nanoseconds: 2_000_000_000)
        _ = coordinator.handle(.remoteEnded(key, .answeredElsewhere, by: nil), at: later)
        push("b", expired: true, at: 3)
        #expect(numbers(log(limit: 5, missed: true).page(of: .success([]), and: coordinator).entries) == [-2])
    }
}
