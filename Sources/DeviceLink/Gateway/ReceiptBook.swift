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

        /// With its key and its place in the table.
        fileprivate var size: Size {
            guard case .receipt(let receipt) = self else { return Size(count: 1, bytes: 300) }
            return Size(count: 1, bytes: 400 + receipt.textBytes)
        }

        /// When its push came to the gateway, in ms since 1970.
        var at: Int64 {
            switch self {
            case .fate(_, let time): time
            case .receipt(let receipt): receipt.at
            }
        }
    }

    /// What one device has.
    private struct Page: Sendable {
        var entries: [ReceiptKey: (entry: Entry, notedAt: BootInstant)] = [:]
        var size = Size()

        /// - Returns: what stood there before, and by how much the page has grown.
        mutating func put(
            _ entry: Entry, _ key: ReceiptKey, at time: BootInstant
        ) -> (former: Entry?, growth: Size) {
            let former = entries.updateValue((entry, time), forKey: key)?.entry
            let growth = entry.size - (former?.size ?? Size())
            size = size + growth
            return (former, growth)
        }
    }

    /// How much there is.
    package struct Size: Hashable, Sendable {
        package var count = 0
        /// About, in memory.
        package var bytes = 0

        static func + (left: Size, right: Size) -> Size {
            Size(count: left.count + right.count, bytes: left.bytes + right.bytes)
        }

        static func - (left: Size, right: Size) -> Size {
            Size(count: left.count - right.count, bytes: left.bytes - right.bytes)
        }

        static func / (size: Size, parts: Int) -> Size { Size(count: size.count / parts, bytes: size.bytes / parts) }

        func exceeds(_ maximum: Size) -> Bool { count > maximum.count || bytes > maximum.bytes }

        /// A tenth is made free at a time, so that not each push sorts all.
        var nineTenths: Size { Size(count: count / 10 * 9, bytes: bytes / 10 * 9) }
    }

    /// How long an entry is kept.
    package static let retention: Duration = .seconds(24 * 3600)
    /// What one device may have; then its oldest pushes are forgotten.
    package static let maximumOfDevice = Size(count: 500, bytes: 512 << 10)
    /// What all devices may have; then those that have more than their part lose some. A receipt of a call takes about 800
    /// bytes.
    package static let maximum = Size(count: 200_000, bytes: 200 << 20)

    /// What all devices have.
    package private(set) var size = Size()
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
        return entries(at: now) { $0 == wanted }.map(\.entry)
    }

    /// What became of the pushes whose ids begin with this.
    package func entries(beginningWith start: String, at now: BootInstant) -> [(id: String, entry: Entry)] {
        let wanted = start.canonicalPushID
        return entries(at: now) { $0.hasPrefix(wanted) }
    }

    private func entries(at now: BootInstant, where isWanted: (String) -> Bool) -> [(id: String, entry: Entry)] {
        pages.values.flatMap { page in
            page.entries.filter { isWanted($0.key.id) && !Self.isOld($0.value.notedAt, now) }
                .map { ($0.key.id, $0.value.entry) }
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
        let (former, growth) = pages[device, default: Page()].put(entry, key, at: now)
        size = size + growth
        let isNew = former.map { !entry.says($0) } ?? true
        if pages[device]?.size.exceeds(Self.maximumOfDevice) ?? false {
            trim(device, to: Self.maximumOfDevice.nineTenths, now)
        }
        guard size.exceeds(Self.maximum) else { return isNew }
        // Each device keeps its newest receipt, whatever its size.
        let part = Self.maximum.nineTenths / pages.count
        for device in pages.keys { trim(device, to: part, now) }
        return isNew
    }

    /// Forgets what is too old, and then those of the oldest pushes: a device tells its newest first.
    private mutating func trim(_ device: DeviceID, to maximum: Size, _ now: BootInstant) {
        guard let former = pages[device],
            former.size.exceeds(maximum) || former.entries.values.contains(where: { Self.isOld($0.notedAt, now) })
        else { return }
        var page = Page()
        let newestFirst = former.entries.filter { !Self.isOld($0.value.notedAt, now) }
            .sorted { $0.value.entry.at > $1.value.entry.at }
        for (key, kept) in newestFirst {
            if !page.entries.isEmpty, (page.size + kept.entry.size).exceeds(maximum) { break }
            _ = page.put(kept.entry, key, at: kept.notedAt)
        }
        size = size - former.size + page.size
        pages[device] = page.entries.isEmpty ? nil : page
    }

    private static func isOld(_ time: BootInstant, _ now: BootInstant) -> Bool {
        time.advanced(by: retention) <= now
    }
}
