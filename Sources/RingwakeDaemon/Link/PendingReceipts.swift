internal import DeviceLink

/// What the gateway still has to be told about its pushes, bounded: the newest word on each, in the order in which they came.
struct PendingReceipts {
    private var receipts: [ReceiptKey: LinkReceipt] = [:]
    private var order: [ReceiptKey] = []

    /// Receipts that wait at most; then the oldest go: a start tells them again.
    static let maximum = 1_000

    var isEmpty: Bool { order.isEmpty }
    var isFull: Bool { order.count >= Self.maximum }

    /// Adds a receipt; it replaces an older one of the same push.
    mutating func add(_ receipt: LinkReceipt) {
        let key = ReceiptKey(receipt)
        if receipts.updateValue(receipt, forKey: key) == nil { order.append(key) }
        if order.count > Self.maximum { dropOldest() }
    }

    /// Adds receipts that did not arrive, unless there is a newer word on their push.
    mutating func putBack(_ some: [LinkReceipt]) {
        for receipt in some where receipts[ReceiptKey(receipt)] == nil { add(receipt) }
    }

    /// The first ones.
    func first(_ count: Int) -> [LinkReceipt] { order.prefix(count).compactMap { receipts[$0] } }

    mutating func removeFirst(_ count: Int) {
        for key in order.prefix(count) { receipts[key] = nil }
        order.removeFirst(min(count, order.count))
    }

    /// After a start the newest are the first in the order, so the order does not say which is the oldest.
    private mutating func dropOldest() {
        guard let index = order.indices.min(by: { time(of: order[$0]) < time(of: order[$1]) }) else { return }
        receipts[order.remove(at: index)] = nil
    }

    private func time(of key: ReceiptKey) -> Int64 { receipts[key]?.at ?? .min }
}

extension ReceiptKey {
    fileprivate init(_ receipt: LinkReceipt) {
        self.init(slot: receipt.slot, sender: receipt.sender, id: receipt.id)
    }
}
