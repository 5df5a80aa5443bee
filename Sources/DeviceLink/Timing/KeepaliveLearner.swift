package import RingwakeCore

/// Learns how long a connection may be idle on each network before a NAT forgets it, and so how seldom keep-alives are
/// enough.
///
/// A table of networks. ``NetworkKeepalive`` is what happens in one of its rows. The table is bounded: the network that
/// was used longest ago is forgotten for a new one, and each is forgotten after 7 days without a link.
///
/// There is no timer: the result of every input says which interval to set. A *probe* is a second connection of the same
/// device that may die without harm; ``nextProbe(on:at:)`` says when one is worth it.
///
/// Idle times are those before a packet *of the side that sends the keep-alives*. A packet of the other side may open
/// the NAT again and proves nothing.
package struct KeepaliveLearner: Hashable, Sendable {
    private var rows: [NetworkKey: Row] = [:]
    private var uses: UInt64 = 0
    private let capacity: Int
    private let bounds: KeepaliveBounds

    /// The default number of networks.
    package static let defaultCapacity = 4096

    package init(bounds: KeepaliveBounds = KeepaliveBounds(), capacity: Int = KeepaliveLearner.defaultCapacity) {
        self.capacity = max(capacity, 1)
        self.bounds = bounds
    }

    /// An interval for a network about which nothing is known and nothing can be learned.
    package var cautious: Duration { max(bounds.start / 2 - KeepaliveRules.margin, bounds.shortest) }

    /// The number of networks in the table.
    package var count: Int { rows.count }

    /// What is known about a network; nil if it is not in the table.
    package func status(of network: NetworkKey) -> Status? { rows[network]?.keepalive.status }

    /// The interval for links on a network; nil if it is not in the table.
    package func interval(on network: NetworkKey) -> Duration? { rows[network]?.keepalive.interval }

    /// The shortest idle time that is known to fail on a network; nil if none is.
    package func failure(on network: NetworkKey) -> Duration? { rows[network]?.keepalive.limit }

    /// The interval that a network may grow to; nil if it is not in the table.
    package func longest(on network: NetworkKey) -> Duration? { rows[network]?.keepalive.longest }

    /// When a probe is due on a network.
    package func nextProbe(on network: NetworkKey, at now: BootInstant) -> NextProbe {
        rows[network]?.keepalive.nextProbe(at: now) ?? .never
    }

    // MARK: - Inputs

    /// A link was established. Returns the interval to set on it.
    package mutating func linkEstablished(
        on network: NetworkKey, kind: NetworkKind, at now: BootInstant
    ) -> Duration {
        var row = takeRow(network, at: now)
        if row == nil { makeRoom() }
        row = row ?? Row(keepalive: NetworkKeepalive(kind: kind, bounds: bounds, holdUntil: now))
        row?.keepalive.used(as: kind)
        put(row, network, at: now)
        return row?.keepalive.interval ?? bounds.start
    }

    /// A link was idle for `idle`, and then the peer acknowledged a keep-alive or a push.
    ///
    /// Returns the interval to set, as the other inputs do; nil if the network is not in the table: nothing is to be
    /// changed.
    package mutating func provenAlive(
        on network: NetworkKey, afterIdle idle: Duration, at now: BootInstant
    ) -> Duration? {
        change(network, at: now) { $0.survived(idle: idle, at: now) }
    }

    /// A link was found dead.
    ///
    /// Most dead links die of something else than a NAT: the device was carried out of range or has lost its power.
    /// Report a death when the device is back, and has not noticed a change of its path meanwhile.
    ///
    /// - Parameters:
    ///   - idle: how long there was no packet before the one that got no answer, or until it was found dead.
    ///   - interval: the interval that was set on the link.
    ///   - pathChanged: the device's path changed meanwhile, or nobody knows. Then it is no fault of the NAT.
    ///   - time: when the link was found dead, which may be before now.
    package mutating func foundDead(
        on network: NetworkKey, afterIdle idle: Duration, interval: Duration, pathChanged: Bool, at time: BootInstant
    ) -> Duration? {
        change(network, at: time) { if !pathChanged { $0.died(idle: idle, linkInterval: interval, at: time) } }
    }

    /// A device can start a probe now.
    ///
    /// - Returns: how long it has to be idle; report how it ended. Nil: none is due, see ``nextProbe(on:at:)``.
    package mutating func startProbe(on network: NetworkKey, at now: BootInstant) -> Duration? {
        var started: Duration?
        _ = change(network, at: now) { started = $0.startProbe(at: now) }
        return started
    }

    /// The probe on a network ended. Changes nothing if none is in progress.
    package mutating func probeEnded(
        on network: NetworkKey, _ outcome: ProbeOutcome, at now: BootInstant
    ) -> Duration? {
        change(network, at: now) { $0.probeEnded(outcome, at: now) }
    }

    // MARK: - The table

    private struct Row: Hashable, Sendable {
        var keepalive: NetworkKeepalive
        var usedAt = BootInstant(nanoseconds: 0)
        /// Orders rows that were used at the same instant.
        var use: UInt64 = 0
    }

    private mutating func change(
        _ network: NetworkKey, at now: BootInstant, _ body: (inout NetworkKeepalive) -> Void
    ) -> Duration? {
        guard var row = takeRow(network, at: now) else { return nil }
        body(&row.keepalive)
        put(row, network, at: now)
        return row.keepalive.interval
    }

    /// The row of a network, unless it is too old.
    private mutating func takeRow(_ network: NetworkKey, at now: BootInstant) -> Row? {
        guard let row = rows[network], row.usedAt.duration(to: now) < KeepaliveRules.retention else {
            rows[network] = nil
            return nil
        }
        return row
    }

    private mutating func put(_ row: Row?, _ network: NetworkKey, at now: BootInstant) {
        guard var row else { return }
        uses += 1
        row.use = uses
        row.usedAt = max(row.usedAt, now)
        rows[network] = row
    }

    /// Looks at every row, but only for a new network in a full table.
    private mutating func makeRoom() {
        guard rows.count >= capacity, let oldest = rows.min(by: { $0.value.use < $1.value.use })?.key else { return }
        rows[oldest] = nil
    }
}

extension KeepaliveLearner {
    /// When a probe is due.
    package enum NextProbe: Hashable, Sendable {
        /// It would try this idle time.
        case now(Duration)
        /// After this time at the earliest.
        case after(Duration)
        /// The longest interval is in use, or no shorter one fails less.
        case never
    }

    package enum ProbeOutcome: Hashable, Sendable {
        /// It was idle for this long, and then a packet was acknowledged.
        case survived(Duration)
        /// A packet after this idle time got no answer.
        case died(Duration)
        /// It says nothing: the path changed, the device closed it, or it never started.
        case void
    }

    package enum Status: Hashable, Sendable {
        /// A longer interval is tried when there were enough good periods.
        case searching
        /// A longer interval is known to fail. It is tried again only rarely.
        case settled
        /// The longest interval works.
        case atCeiling
        /// The shortest interval fails too, so a link cannot be held on this network. Pushes wait for the device's
        /// next connection.
        case belowFloor
    }

    /// The table without what is too old, the network used last first.
    package func snapshot(at now: BootInstant) -> KeepaliveSnapshot {
        let entries = rows.sorted { $0.value.use > $1.value.use }.compactMap { network, row in
            let age = row.usedAt.duration(to: now)
            return age < KeepaliveRules.retention
                ? KeepaliveSnapshot.Entry(network, row.keepalive, age: age, at: now) : nil
        }
        return KeepaliveSnapshot(entries: entries)
    }

    /// Restores a table; nil if the snapshot has another version. Entries that make no sense are left out.
    ///
    /// - Parameter elapsed: the time since the snapshot, as far as a clock that runs through it knows. Without one the
    ///   ages stand still while the machine is off.
    package init?(
        _ snapshot: KeepaliveSnapshot, elapsed: Duration = .zero, bounds: KeepaliveBounds = KeepaliveBounds(),
        capacity: Int = KeepaliveLearner.defaultCapacity, at now: BootInstant
    ) {
        guard snapshot.version == KeepaliveSnapshot.currentVersion else { return nil }
        self.init(bounds: bounds, capacity: capacity)
        for entry in snapshot.entries.prefix(self.capacity).reversed() {
            guard let restored = entry.restored(elapsed: max(elapsed, .zero), bounds: bounds, at: now) else { continue }
            uses += 1
            rows[restored.network] = Row(keepalive: restored.keepalive, usedAt: restored.usedAt, use: uses)
        }
    }
}
