package import RingwakeCore

/// What became of the pushes of the last day, for those who sent them. It is a copy of what the devices know: a gateway
/// that starts again gets it from them.
package struct ReceiptBook: Sendable {
    /// What the gateway itself knows of a push.
    package enum Fate: Hashable, Sendable {
        /// The device has it, and has not said more yet.
        case forwarded
        case queued
        case dropped(Mailbox.Drop)
    }

    package enum Entry: Hashable, Sendable {
        case fate(Fate, at: Int64)
        case receipt(LinkReceipt)

        /// Whether it says what `other` says.
        func says(_ other: Entry) -> Bool {
            if case .fate(let fate, _) = self, case .fate(let known, _) = other { fate == known } else { self == other }
        }

        /// When its push came to the gateway, in ms since 1970.
        var at: Int64 {
            switch self {
            case .fate(_, let time): time
            case .receipt(let receipt): receipt.at
            }
        }
    }

    private struct Page: Sendable {
        var entries: [ReceiptKey: (entry: Entry, notedAt: BootInstant)] = [:]
    }

    /// How long an entry is kept.
    package static let retention: Duration = .seconds(24 * 3600)
    /// Entries of one device at most; then those of its oldest pushes are forgotten.
    package static let maximumOfDevice = 500
    /// Entries of all devices at most; then devices that have more than their part lose some.
    package static let maximum = 200_000

    /// Entries of all devices.
    package private(set) var count = 0
    private var pages: [DeviceID: Page] = [:]

    package init() {}

    /// What became of a push; nil if nobody knows.
    package func entry(_ key: ReceiptKey, of device: DeviceID, at now: BootInstant) -> Entry? {
        guard let found = pages[device]?.entries[key], !Self.isOld(found.notedAt, now) else { return nil }
        return found.entry
    }

    /// What became of the pushes with this id, of whatever device and sender.
    package func entries(id: String, at now: BootInstant) -> [Entry] {
        let wanted = id.canonicalPushID
        return pages.values.flatMap { page in
            page.entries.filter { $0.key.id == wanted && !Self.isOld($0.value.notedAt, now) }.map(\.value.entry)
        }
    }

    /// The gateway has done something with a push. What its device has said counts more.
    ///
    /// - Returns: whether it is new.
    @discardableResult
    package mutating func note(
        _ fate: Fate, _ key: ReceiptKey, of device: DeviceID, wall: Int64, at now: BootInstant
    ) -> Bool {
        if case .receipt = pages[device]?.entries[key]?.entry { return false }
        return put(.fate(fate, at: wall), key, device, now)
    }

    /// A device has said what became of its pushes.
    ///
    /// - Returns: those of which it has said something new.
    @discardableResult
    package mutating func take(_ receipts: [LinkReceipt], of device: DeviceID, at now: BootInstant) -> [ReceiptKey] {
        receipts.compactMap { receipt in
            let key = ReceiptKey(slot: receipt.slot, sender: receipt.sender, id: receipt.id)
            return put(.receipt(receipt), key, device, now) ? key : nil
        }
    }

    /// - Returns: whether it says something new.
    private mutating func put(
        _ entry: Entry, _ key: ReceiptKey, _ device: DeviceID, _ now: BootInstant
    ) -> Bool {
        let former = pages[device, default: Page()].entries.updateValue((entry, now), forKey: key)
        if former == nil { count += 1 }
        let isNew = former.map { !entry.says($0.entry) } ?? true
        // A tenth at a time, so that not each push sorts them.
        if pages[device]?.entries.count ?? 0 > Self.maximumOfDevice {
            trim(device, to: Self.maximumOfDevice / 10 * 9, now)
        }
        guard count > Self.maximum else { return isNew }
        let part = max(1, Self.maximum / 10 * 9 / pages.count)
        for device in pages.keys { trim(device, to: part, now) }
        return isNew
    }

    /// Forgets what is too old, and then those of the oldest pushes: a device tells its newest first.
    private mutating func trim(_ device: DeviceID, to maximum: Int, _ now: BootInstant) {
        guard var page = pages.removeValue(forKey: device) else { return }
        let before = page.entries.count
        page.entries = page.entries.filter { !Self.isOld($0.value.notedAt, now) }
        if page.entries.count > maximum {
            let oldest = page.entries.sorted { $0.value.entry.at < $1.value.entry.at }
            for old in oldest.prefix(oldest.count - maximum) { page.entries[old.key] = nil }
        }
        count -= before - page.entries.count
        if !page.entries.isEmpty { pages[device] = page }
    }

    private static func isOld(_ time: BootInstant, _ now: BootInstant) -> Bool {
        time.advanced(by: retention) <= now
    }
}
