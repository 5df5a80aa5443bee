import DeviceLink
import RingwakeCore
import Testing

@Suite("The gateway's receipts")
struct ReceiptBookTests {
    let device = DeviceID.test(1)
    let key = ReceiptKey(slot: LinkSlot(rawValue: 1), sender: "TEAM", id: "AB-1")
    let start = BootInstant(nanoseconds: 0)

    private func receipt(_ state: String, id: String = "AB-1") -> LinkReceipt {
        LinkReceipt(
            slot: LinkSlot(rawValue: 1), id: id, sender: "TEAM", state: state, reason: nil, attempt: 1, at: 5,
            stages: [])
    }

    @Test("What the device says counts more than what the gateway knows, also if that comes later")
    func deviceCountsMore() {
        var book = ReceiptBook()
        book.note(.queued, key, of: device, wall: 1, at: start)
        #expect(book.entry(key, of: device, at: start) == .fate(.queued, at: 1))
        book.take([receipt("woken")], of: device, at: start)
        book.note(.forwarded, key, of: device, wall: 2, at: start)
        #expect(book.entry(key, of: device, at: start) == .receipt(receipt("woken")))
        book.take([receipt("ringing")], of: device, at: start)
        #expect(book.entry(key, of: device, at: start) == .receipt(receipt("ringing")))
    }

    @Test("An id is found whatever its case, and only by its sender and registration")
    func keys() {
        var book = ReceiptBook()
        book.take([receipt("woken")], of: device, at: start)
        #expect(book.entry(ReceiptKey(slot: key.slot, sender: "TEAM", id: "ab-1"), of: device, at: start) != nil)
        #expect(book.entry(ReceiptKey(slot: key.slot, sender: "OTHER", id: "ab-1"), of: device, at: start) == nil)
        #expect(
            book.entry(ReceiptKey(slot: LinkSlot(rawValue: 2), sender: "TEAM", id: "ab-1"), of: device, at: start)
                == nil)
        #expect(book.entry(key, of: .test(2), at: start) == nil)
        #expect(book.entries(id: "aB-1", at: start).count == 1)
    }

    @Test("A receipt is forgotten after a day")
    func retention() {
        var book = ReceiptBook()
        book.take([receipt("woken")], of: device, at: start)
        let day = start.advanced(by: ReceiptBook.retention)
        #expect(book.entry(key, of: device, at: day.advanced(by: .zero - .seconds(1))) != nil)
        #expect(book.entry(key, of: device, at: day) == nil)
    }

    @Test("A device has a bounded number of receipts, and the newest stay")
    func bound() {
        var book = ReceiptBook()
        for number in 0..<(3 * ReceiptBook.maximumOfDevice) {
            book.take(
                [receipt("woken", id: "\(number)")], of: device,
                at: start.advanced(by: .seconds(Int64(number))))
        }
        let now = start.advanced(by: .seconds(Int64(3 * ReceiptBook.maximumOfDevice)))
        let kept = (0..<(3 * ReceiptBook.maximumOfDevice)).filter { !book.entries(id: "\($0)", at: now).isEmpty }
        #expect(kept.count <= ReceiptBook.maximumOfDevice && kept.count > ReceiptBook.maximumOfDevice / 2)
        #expect(kept.last == 3 * ReceiptBook.maximumOfDevice - 1)
    }
}
