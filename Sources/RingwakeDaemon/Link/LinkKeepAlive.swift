internal import DeviceLink
internal import HTTPServer
internal import LinkTransport
internal import RingwakeCore

/// Sets how often the kernel sends a keep-alive on each link, by what is learned of the network that the device is in
/// (``KeepaliveLearner``), and gathers the evidence: what was acknowledged after an idle time, and which links died.
struct LinkKeepAlive {
    private struct Link {
        let device: DeviceID
        let network: NetworkKey
        var interval: Duration
        /// When the last packet was sent or received.
        var lastTraffic: BootInstant
        /// How long it was idle before the push whose acknowledgement is awaited.
        var idleBeforePush: Duration?
    }

    private struct Death {
        let network: NetworkKey
        let idle: Duration
        let interval: Duration
        let at: BootInstant
    }

    private(set) var learner = KeepaliveLearner()
    private var links: [LinkID: Link] = [:]
    /// Links that were found dead, until their device is back and its network is known.
    private var deaths: [DeviceID: Death] = [:]

    private static let maximumDeaths = 10_000
    /// Periods of one idle time that count as evidence: more make no difference.
    private static let maximumPeriods = 8

    /// A device has linked.
    ///
    /// - Parameters:
    ///   - label: what it calls its network: `KIND:HASH`.
    ///   - address: the peer's address and port.
    /// - Returns: the interval to set.
    mutating func linked(
        _ link: LinkID, _ device: DeviceID, label: String?, address: String, at now: BootInstant
    ) -> Duration {
        let network = Self.key(address, label)
        let kind = label.flatMap { NetworkKind(rawValue: String($0.prefix { $0 != ":" })) } ?? .wiFi
        if let death = deaths.removeValue(forKey: device) {
            // In another network the NAT of the former one has done nothing wrong.
            _ = learner.foundDead(
                on: death.network, afterIdle: death.idle, interval: death.interval,
                pathChanged: death.network != network, at: death.at)
        }
        let interval = learner.linkEstablished(on: network, kind: kind, at: now)
        links[link] = Link(device: device, network: network, interval: interval, lastTraffic: now)
        return interval
    }

    /// The interval for a device's network: what is learned of it, or what it begins with.
    func interval(label: String?, address: String) -> Duration {
        learner.interval(on: Self.key(address, label)) ?? KeepaliveRules.start
    }

    /// What is known of a link's network.
    func status(of link: LinkID) -> KeepaliveLearner.Status? { links[link].flatMap { learner.status(of: $0.network) } }

    /// A push was sent.
    mutating func sent(_ link: LinkID, at now: BootInstant) {
        guard var state = links[link] else { return }
        let idle = state.lastTraffic.duration(to: now)
        if idle >= state.interval { state.idleBeforePush = idle }
        state.lastTraffic = now
        links[link] = state
    }

    /// A push was acknowledged.
    ///
    /// - Returns: another interval for the links of the same network, if it has changed.
    mutating func acknowledged(_ link: LinkID, at now: BootInstant) -> (links: [LinkID], interval: Duration)? {
        guard var state = links[link] else { return nil }
        state.lastTraffic = now
        let idle = state.idleBeforePush
        state.idleBeforePush = nil
        links[link] = state
        guard let idle else { return nil }
        // Each keep-alive in that time was answered, or the link would have died.
        let periods = min(Self.maximumPeriods, Int(idle / state.interval))
        var advice: KeepaliveLearner.Advice?
        for period in 1...max(1, periods) {
            let end = now.advanced(by: .zero - state.interval * (max(1, periods) - period))
            advice = learner.provenAlive(on: state.network, afterIdle: state.interval, at: end)
        }
        guard let advice, advice.interval != state.interval else { return nil }
        let same = links.filter { $0.value.network == state.network }.map(\.key)
        for id in same { links[id]?.interval = advice.interval }
        return (same, advice.interval)
    }

    /// A link has ended.
    ///
    /// - Parameter isDead: the peer did not answer any more, and sent no end.
    mutating func ended(_ link: LinkID, isDead: Bool, at now: BootInstant) {
        guard let state = links.removeValue(forKey: link), isDead else { return }
        if deaths.count >= Self.maximumDeaths, let oldest = deaths.min(by: { $0.value.at < $1.value.at }) {
            deaths[oldest.key] = nil
        }
        deaths[state.device] = Death(
            network: state.network, idle: state.idleBeforePush ?? state.lastTraffic.duration(to: now),
            interval: state.interval, at: now)
    }

    /// What is set on a link.
    func interval(of link: LinkID) -> Duration? { links[link]?.interval }

    /// Devices behind one NAT have one source network; the label tells apart what is behind the same one.
    private static func key(_ address: String, _ label: String?) -> NetworkKey {
        let source: String
        if let parsed = try? SocketAddress(parsing: address), !parsed.isIPv6 {
            source = parsed.host.split(separator: ".").prefix(3).joined(separator: ".")
        } else {
            source = "\(PeerNetwork(of: address))"
        }
        return NetworkKey("\(source)|\(label ?? "")".utf8)
    }
}
