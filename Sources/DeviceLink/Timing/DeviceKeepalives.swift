package import RingwakeCore

/// What single devices have shown of their networks. A network of which a device has shown nothing is not in the table,
/// and neither is one that it has not used for 7 days.
///
/// The table is bounded, and so is what one device can have in it: its oldest row goes for a new one.
package struct DeviceKeepalives: Sendable {
    private struct Row {
        var keepalive: DeviceKeepalive
        var usedAt: BootInstant

        func isRecent(at now: BootInstant) -> Bool { usedAt.duration(to: now) < KeepaliveRules.retention }
    }

    private var rows: [DeviceID: [NetworkKey: Row]] = [:]
    package private(set) var count = 0
    private let bounds: KeepaliveBounds
    private let capacity: Int

    /// Three networks each for 5,000 devices.
    package static let defaultCapacity = 16_384
    package static let maximumOfDevice = 8

    package init(bounds: KeepaliveBounds = KeepaliveBounds(), capacity: Int = DeviceKeepalives.defaultCapacity) {
        self.bounds = bounds
        self.capacity = max(capacity, 1)
    }

    /// What a device has shown of a network.
    package func keepalive(_ device: DeviceID, on network: NetworkKey, at now: BootInstant) -> DeviceKeepalive {
        recent(device, network, at: now)?.keepalive ?? DeviceKeepalive(trusted: bounds.start)
    }

    /// The device has linked.
    package mutating func linked(_ device: DeviceID, on network: NetworkKey, at now: BootInstant) {
        guard recent(device, network, at: now) != nil else { return }
        change(device, network, at: now) { $0.linked(at: now) }
    }

    /// The device has shown a sign of life.
    package mutating func used(_ device: DeviceID, on network: NetworkKey, at now: BootInstant) {
        guard let row = recent(device, network, at: now) else { return }
        rows[device]?[network]?.usedAt = max(row.usedAt, now)
    }

    /// A probe was idle for this long and lives.
    package mutating func probeSurvived(
        _ device: DeviceID, on network: NetworkKey, _ idle: Duration, at now: BootInstant
    ) {
        change(device, network, at: now) { $0.survived(idle) }
    }

    /// A probe died after this idle time.
    package mutating func probeDied(
        _ device: DeviceID, on network: NetworkKey, _ idle: Duration, linkInterval: Duration, at now: BootInstant
    ) {
        change(device, network, at: now) { $0.probeDied(idle, linkInterval: linkInterval, at: now) }
    }

    /// A link died, see ``KeepaliveLearner/foundDead(on:afterIdle:interval:pathChanged:at:)``.
    package mutating func linkDied(
        _ device: DeviceID, on network: NetworkKey, afterIdle idle: Duration, interval: Duration, at now: BootInstant
    ) {
        change(device, network, at: now) { [bounds] in
            $0.linkDied(min(idle, interval), shortest: bounds.shortest, at: now)
        }
    }

    private func recent(_ device: DeviceID, _ network: NetworkKey, at now: BootInstant) -> Row? {
        rows[device]?[network].flatMap { $0.isRecent(at: now) ? $0 : nil }
    }

    private mutating func change(
        _ device: DeviceID, _ network: NetworkKey, at now: BootInstant, _ body: (inout DeviceKeepalive) -> Void
    ) {
        var keepalive = keepalive(device, on: network, at: now)
        let before = keepalive
        body(&keepalive)
        guard keepalive != before || recent(device, network, at: now) != nil else { return }
        put(Row(keepalive: keepalive, usedAt: now), device, network, at: now)
    }

    private mutating func put(_ row: Row, _ device: DeviceID, _ network: NetworkKey, at now: BootInstant) {
        if rows[device]?[network] == nil {
            if let own = rows[device], own.count >= Self.maximumOfDevice,
                let oldest = own.min(by: { $0.value.usedAt < $1.value.usedAt })?.key
            {
                rows[device]?[oldest] = nil
                count -= 1
            }
            makeRoom(at: now)
            count += 1
        }
        rows[device, default: [:]][network] = row
    }

    /// A tenth at a time, so that not each new row of a full table sorts all.
    private mutating func makeRoom(at now: BootInstant) {
        guard count >= capacity else { return }
        let newestFirst = all.filter { $0.row.isRecent(at: now) }.sorted { $0.row.usedAt > $1.row.usedAt }
            .prefix(capacity - max(1, capacity / 10))
        rows = [:]
        for (device, network, row) in newestFirst { rows[device, default: [:]][network] = row }
        count = newestFirst.count
    }

    private var all: [(device: DeviceID, network: NetworkKey, row: Row)] {
        rows.flatMap { device, own in own.map { (device, $0.key, $0.value) } }
    }
}

extension DeviceKeepalives {
    /// The table without what is too old, one row in each line: device, network in hexadecimal digits, what is trusted, how
    /// long ago it was used; and if an idle time failed: that, why, and how long ago. Times are seconds, and ages as those
    /// of ``KeepaliveSnapshot``.
    ///
    /// Lines, because thousands of rows with a name for each value take long to write.
    package func lines(at now: BootInstant) -> [String] {
        all.compactMap { device, network, row in
            guard row.isRecent(at: now) else { return nil }
            let trusted = row.keepalive.trusted.components.seconds
            let line = "\(device) \(encodeHex(network.bytes)) \(trusted) \(Self.age(of: row.usedAt, at: now))"
            guard let failure = row.keepalive.failure else { return line }
            let (failed, age) = (failure.idle.components.seconds, Self.age(of: failure.foundAt, at: now))
            return "\(line) \(failed) \(failure.cause.rawValue) \(age)"
        }
    }

    /// Restores a table. Lines that make no sense are left out.
    ///
    /// - Parameter elapsed: the time since it was stored.
    package init(
        _ lines: [String], elapsed: Duration, bounds: KeepaliveBounds = KeepaliveBounds(),
        capacity: Int = DeviceKeepalives.defaultCapacity, at now: BootInstant
    ) {
        self.init(bounds: bounds, capacity: capacity)
        let longest = NetworkKind.allCases.map(bounds.longest).max() ?? bounds.start
        for line in lines.prefix(self.capacity) {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 4 || words.count == 7, let device = DeviceID(words[0]),
                let network = NetworkKey(hexadecimal: words[1]), let trusted = Int64(words[2]),
                let age = Int64(words[3])
            else { continue }
            let row = Row(
                keepalive: DeviceKeepalive(
                    trusted: min(max(.seconds(trusted), bounds.shortest), longest),
                    failure: words.count == 7 ? Self.failure(words[4...], elapsed, at: now) : nil),
                usedAt: Self.time(age, elapsed, at: now))
            if row.isRecent(at: now) { put(row, device, network, at: now) }
        }
    }

    private static func failure(
        _ words: ArraySlice<String>, _ elapsed: Duration, at now: BootInstant
    ) -> DeviceKeepalive.Failure? {
        let words = Array(words)
        guard let idle = Int64(words[0]), let cause = DeviceKeepalive.Cause(rawValue: words[1]),
            let age = Int64(words[2])
        else { return nil }
        return DeviceKeepalive.Failure(
            idle: .seconds(min(max(idle, 0), 1 << 20)), foundAt: time(age, elapsed, at: now), cause: cause)
    }

    private static func age(of time: BootInstant, at now: BootInstant) -> Int64 {
        max(time.duration(to: now).components.seconds, 0)
    }

    private static func time(_ age: Int64, _ elapsed: Duration, at now: BootInstant) -> BootInstant {
        now.advanced(by: .zero - (.seconds(min(max(age, 0), 1 << 32)) + elapsed))
    }
}
