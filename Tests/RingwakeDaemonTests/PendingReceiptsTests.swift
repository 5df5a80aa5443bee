import DeviceLink
import RingwakeCore
import Testing

@testable import RingwakeDaemon

@MainActor @Suite("Receipts that wait for the link") struct PendingReceiptsTests {
    private var pending = PendingReceipts()

    private func receipt(_ number: Int, at: Int64, state: String = "ringing") -> LinkReceipt {
        LinkReceipt(
            slot: LinkSlot(rawValue: 1), id: "push-\(number)", sender: "TEAM", state: state, reason: nil, attempt: 0,
            at: at, stages: [])
    }

    @Test("The newest word on a push takes the place of the older one, and the order stays")
    mutating func replaces() {
        pending.add(receipt(1, at: 1))
        pending.add(receipt(2, at: 2))
        pending.add(receipt(1, at: 1, state: "answered"))
        #expect(pending.first(5).map(\.state) == ["answered", "ringing"])
        pending.removeFirst(1)
        #expect(pending.first(5).map(\.at) == [2])
        pending.removeFirst(9)
        #expect(pending.isEmpty)
    }

    @Test("What did not arrive comes back, unless there is a newer word")
    mutating func putsBack() {
        let sent = [receipt(1, at: 1), receipt(2, at: 2)]
        pending.add(receipt(1, at: 1, state: "answered"))
        pending.putBack(sent)
        #expect(pending.first(5).map(\.state) == ["answered", "ringing"])
    }

    @Test("When there are too many the oldest goes, wherever it stands", arguments: [true, false])
    mutating func bound(_ newestFirst: Bool) {
        let numbers = Array(0...PendingReceipts.maximum)
        for number in newestFirst ? numbers.reversed() : numbers {
            pending.add(receipt(number, at: Int64(number)))
        }
        let kept = pending.first(2 * PendingReceipts.maximum).map(\.at)
        #expect(kept.count == PendingReceipts.maximum && pending.isFull)
        #expect(kept.min() == 1 && kept.max() == Int64(PendingReceipts.maximum))
    }
}
