import DeviceLink
import RingwakeCore
import Testing

@Suite("The gateway's receipts")
struct ReceiptBookTests {
    let device = DeviceID.test(1)
    let key = ReceiptKey(slot: LinkSlot(rawValue: 1), sender: "TEAM", id: "AB-1")
    let start = BootInstant(nanoseconds: 0)

    private func receipt(
        _ state: String, id: String = "AB-1", at: Int64 = 5, stages: [LinkReceipt.Stage] = []
    ) -> LinkReceipt {
        LinkReceipt(
            slot: LinkSlot(rawValue: 1), id: id, sender: "TEAM", state: state, reason: nil, attempt: 1, at: at,
            stages: stages)
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

    @Test("What is said again is not new, and a device's word stays")
    func news() {
        var book = ReceiptBook()
        #expect(book.note(.queued, key, of: device, wall: 1, at: start) == true)
        #expect(book.note(.queued, key, of: device, wall: 2, at: start) == false)
        #expect(book.note(.forwarded, key, of: device, wall: 2, at: start) == true)
        #expect(book.take([receipt("woken")], of: device, at: start) == [key])
        #expect(book.take([receipt("woken")], of: device, at: start) == [])
        #expect(book.note(.forwarded, key, of: device, wall: 2, at: start) == false)
        #expect(book.take([receipt("ringing")], of: device, at: start) == [key])
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

    @Test("The beginning of an id finds all pushes that begin with it")
    func beginnings() {
        var book = ReceiptBook()
        book.take([receipt("woken"), receipt("ended", id: "ab-2"), receipt("ended", id: "b-1")], of: device, at: start)
        #expect(Set(book.entries(beginningWith: "AB-", at: start).map(\.id)) == ["ab-1", "ab-2"])
        #expect(book.entries(beginningWith: "ab-2", at: start).map(\.entry) == [.receipt(receipt("ended", id: "ab-2"))])
        #expect(book.entries(beginningWith: "ab-", at: start.advanced(by: ReceiptBook.retention)).isEmpty)
    }

    @Test("A receipt is forgotten after a day")
    func retention() {
        var book = ReceiptBook()
        book.take([receipt("woken")], of: device, at: start)
        let day = start.advanced(by: ReceiptBook.retention)
        #expect(book.entry(key, of: device, at: day.advanced(by: .zero - .seconds(1))) != nil)
        #expect(book.entry(key, of: device, at: day) == nil)
    }

    @Test("A device has a bounded number of receipts, and those of the newest pushes stay", arguments: [true, false])
    func bound(isNewestFirst: Bool) {
        var book = ReceiptBook()
        let numbers = Array(0..<(3 * ReceiptBook.maximumOfDevice.count))
        for (index, number) in (isNewestFirst ? numbers.reversed() : numbers).enumerated() {
            book.take(
                [receipt("woken", id: "\(number)", at: Int64(number))], of: device,
                at: start.advanced(by: .seconds(Int64(index))))
        }
        let now = start.advanced(by: .seconds(Int64(3 * ReceiptBook.maximumOfDevice.count)))
        let kept = (0..<(3 * ReceiptBook.maximumOfDevice.count)).filter { !book.entries(id: "\($0)", at: now).isEmpty }
        #expect(kept.count <= ReceiptBook.maximumOfDevice.count && kept.count > ReceiptBook.maximumOfDevice.count / 2)
        #expect(kept.last == 3 * ReceiptBook.maximumOfDevice.count - 1)
        #expect(book.size.count == kept.count)
    }

    @Test("Long receipts count by their size, and one that gets longer too")
    func boundInBytes() {
        var book = ReceiptBook()
        let long = (0..<16).map { LinkReceipt.Stage(stage: String(repeating: "s", count: 48 + $0), atUs: 1) }
        for number in 0..<2 * ReceiptBook.maximumOfDevice.count {
            book.take([receipt("woken", id: "\(number)", at: Int64(number))], of: device, at: start)
            book.take([receipt("ended", id: "\(number)", at: Int64(number), stages: long)], of: device, at: start)
        }
        let whole = 16 * 64
        #expect(book.size.bytes <= ReceiptBook.maximumOfDevice.bytes)
        #expect(book.size.count < ReceiptBook.maximumOfDevice.count && book.size.count * whole < book.size.bytes)
        #expect(!book.entries(id: "\(2 * ReceiptBook.maximumOfDevice.count - 1)", at: start).isEmpty)
        // All of them old: nothing is left over.
        let later = start.advanced(by: ReceiptBook.retention)
        for number in 0..<ReceiptBook.maximumOfDevice.count {
            book.take([receipt("ended", id: "n\(number)", at: Int64(number), stages: long)], of: device, at: later)
        }
        #expect(book.size.bytes <= ReceiptBook.maximumOfDevice.bytes && book.entries(id: "1", at: start).isEmpty)
    }

    @Test("All devices have a bounded number together, and those with few lose none")
    func boundOfAll() throws {
        var book = ReceiptBook()
        book.take([receipt("woken")], of: .test(0), at: start)
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        for number in 0..<(ReceiptBook.maximum.count / ReceiptBook.maximumOfDevice.count + 100) {
            let name = "\(letters[number % 26])\(letters[number / 26])" + String(repeating: "b", count: 49) + "a"
            let device = try #require(DeviceID(name))
            let receipts = (0..<(ReceiptBook.maximumOfDevice.count * 9 / 10)).map { receipt("woken", id: "\($0)") }
            book.take(receipts, of: device, at: start)
        }
        #expect(book.size.count <= ReceiptBook.maximum.count && book.size.count > ReceiptBook.maximum.count / 2)
        #expect(book.entry(key, of: .test(0), at: start) != nil)
    }
}
