package import RingwakeCore

/// What single devices have shown of their networks. A network of which a device has shown nothing is not in the table.
///
/// The table is bounded, and so is what one device can add to it.
package struct DeviceKeepalives: Sendable {
    private struct Key: Hashable {
        let device: DeviceID
        let network: NetworkKey
    }

    private struct Row {
        var keepalive: DeviceKeepalive
        var usedAt: BootInstant
    }

    private var rows: [Key: Row] = [:]
    private var newRows = LinkRates<DeviceID>(burst: 8, interval: .seconds(3 * 3600))
    private let bounds: KeepaliveBounds
    private let capacity: Int

    /// Three networks each for 5,000 devices.
    package static let defaultCapacity = 16_384

    package init(bounds: KeepaliveBounds = KeepaliveBounds(), capacity: Int = DeviceKeepalives.defaultCapacity) {
        self.bounds = bounds
        self.capacity = max(capacity, 1)
    }

    package subscript(device: DeviceID, network: NetworkKey) -> DeviceKeepalive {
        rows[Key(device: device, network: network)]?.keepalive ?? DeviceKeepalive(trusted: bounds.start)
    }

    package var count: Int { rows.count }

    /// The device has linked.
    package mutating func linked(_ device: DeviceID, on network: NetworkKey, at now: BootInstant) {
        guard rows[Key(device: device, network: network)] != nil else { return }
        change(device, network, at: now) { $0.linked(at: now) }
    }

    /// A probe was idle for this long and lives.
    package mutating func probeSurvived(
        _ device: DeviceID, on network: NetworkKey, _ idle: Duration, at now: BootInstant
    ) {
        change(device, network, at: now) { $0.survived(idle) }
    }

    /// A probe died after this idle time.
    package mutating func probeDied(_ device: DeviceID, on network: NetworkKey, _ idle: Duration, at now: BootInstant) {
        change(device, network, at: now) { $0.probeDied(idle, at: now) }
    }

    /// A link died, see ``KeepaliveLearner/foundDead(on:afterIdle:interval:pathChanged:at:)``.
    package mutating func linkDied(
        _ device: DeviceID, on network: NetworkKey, afterIdle idle: Duration, interval: Duration, at now: BootInstant
    ) {
        change(device, network, at: now) { [bounds] in
            $0.linkDied(min(idle, interval), shortest: bounds.shortest, at: now)
        }
    }

    private mutating func change(
        _ device: DeviceID, _ network: NetworkKey, at now: BootInstant, _ body: (inout DeviceKeepalive) -> Void
    ) {
        let key = Key(device: device, network: network)
        var keepalive = self[device, network]
        let before = keepalive
        body(&keepalive)
        if rows[key] == nil {
            guard keepalive != before, newRows.take(device, at: now) else { return }
            makeRoom(at: now)
        }
        rows[key] = Row(keepalive: keepalive, usedAt: now)
    }

    /// Looks at every row, but only for a new one in a full table.
    private mutating func makeRoom(at now: BootInstant) {
        guard rows.count >= capacity else { return }
        rows = rows.filter { Self.isRecent($0.value, at: now) }
        guard rows.count >= capacity, let oldest = rows.min(by: { $0.value.usedAt < $1.value.usedAt })?.key else {
            return
        }
        rows[oldest] = nil
    }

    private static func isRecent(_ row: Row, at now: BootInstant) -> Bool {
        row.usedAt.duration(to: now) < KeepaliveRules.retention
    }
}

extension DeviceKeepalives {
    /// A row on disk. Times are seconds, and ages as those of ``KeepaliveSnapshot``.
    package struct Entry: Hashable, Sendable, Codable {
        let device: DeviceID
        /// The key in hexadecimal digits.
        let network: String
        let trusted: Int64
        /// The idle time that failed, and how long ago; absent if none did.
        var failed: Int64?
        var failedAge: Int64?
        var isCertain: Bool?
        /// The time since the device used the network.
        let age: Int64

        enum CodingKeys: String, CodingKey {
            case device, network, trusted, failed, age
            case failedAge = "failed_age"
            case isCertain = "certain"
        }
    }

    /// The table without what is too old.
    package func entries(at now: BootInstant) -> [Entry] {
        rows.compactMap { key, row in
            guard Self.isRecent(row, at: now) else { return nil }
            var entry = Entry(
                device: key.device, network: encodeHex(key.network.bytes),
                trusted: row.keepalive.trusted.components.seconds, age: Self.age(of: row.usedAt, at: now))
            if let failure = row.keepalive.failure {
                entry.failed = failure.idle.components.seconds
                entry.failedAge = Self.age(of: failure.foundAt, at: now)
                entry.isCertain = failure.isCertain
            }
            return entry
        }
    }

    /// Restores a table. Entries that make no sense are left out.
    ///
    /// - Parameter elapsed: the time since it was stored.
    package init(
        _ entries: [Entry], elapsed: Duration, bounds: KeepaliveBounds = KeepaliveBounds(),
        capacity: Int = DeviceKeepalives.defaultCapacity, at now: BootInstant
    ) {
        self.init(bounds: bounds, capacity: capacity)
        let longest = NetworkKind.allCases.map(bounds.longest).max() ?? bounds.start
        for entry in entries.prefix(self.capacity) {
            let usedAt = Self.time(entry.age, elapsed, at: now)
            guard let network = NetworkKey(hexadecimal: entry.network),
                usedAt.duration(to: now) < KeepaliveRules.retention
            else { continue }
            let failure = entry.failed.map {
                DeviceKeepalive.Failure(
                    idle: .seconds(min(max($0, 0), 1 << 20)),
                    foundAt: Self.time(entry.failedAge ?? 0, elapsed, at: now),
                    isCertain: entry.isCertain ?? true)
            }
            let trusted = min(max(.seconds(entry.trusted), bounds.shortest), longest)
            rows[Key(device: entry.device, network: network)] = Row(
                keepalive: DeviceKeepalive(trusted: trusted, failure: failure), usedAt: usedAt)
        }
    }

    private static func age(of time: BootInstant, at now: BootInstant) -> Int64 {
        max(time.duration(to: now).components.seconds, 0)
    }

    private static func time(_ age: Int64, _ elapsed: Duration, at now: BootInstant) -> BootInstant {
        now.advanced(by: .zero - (.seconds(min(max(age, 0), 1 << 32)) + elapsed))
    }
}
