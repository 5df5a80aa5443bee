internal import Cryptography
internal import DeviceLink
internal import HTTPServer
internal import LinkTransport
internal import RingwakeCore

/// Sets how often the kernel sends a keep-alive on each link, by what is learned of the network that the device is in
/// (``KeepaliveLearner``) and by what the device itself has shown there (``DeviceKeepalive``), and gathers the evidence:
/// what was acknowledged after an idle time, which links died, and how probes ended.
///
/// A shorter interval is set on all links of a network at once. A longer one is set on a link when its device is told, in
/// CONNACK or at the end of a probe: a device that does not know it would send keep-alives of its own before.
struct LinkKeepAlive {
    private struct Link {
        let device: DeviceID
        let network: NetworkKey
        var interval: Duration
        /// When the last packet was sent or received.
        var lastTraffic: BootInstant
        /// The kernel has sent keep-alives at this interval since.
        var regularSince: BootInstant
        /// The push whose acknowledgement is awaited: when it was sent, and how long the link was idle before.
        var push: (sentAt: BootInstant, idle: Duration)?
        /// Probes that were not due, in a row.
        var needlessProbes = 0
    }

    private struct Death {
        let network: NetworkKey
        let idle: Duration
        let interval: Duration
        let at: BootInstant
    }

    private struct Probe {
        let device: DeviceID
        let link: LinkID
        let network: NetworkKey
        let tried: Duration
        /// It tries what the network has already, for its device alone.
        let isCatchingUp: Bool
        let began: BootInstant
    }

    private(set) var learner: KeepaliveLearner
    private(set) var devices: DeviceKeepalives
    private var links: [LinkID: Link] = [:]
    private var newest: [DeviceID: LinkID] = [:]
    /// Links that were found dead, until their device is back and its network is known.
    private var deaths: [DeviceID: Death] = [:]
    private var probes: [LinkID: Probe] = [:]
    private var changes: [LinkID: Duration] = [:]
    /// Networks that a device may add to what is learned: one that invents them must not push out those of others.
    private var newNetworks = LinkRates<DeviceID>(burst: 8, interval: .seconds(3 * 3600))

    private static let maximumDeaths = 10_000
    /// Periods of one idle time that count as evidence: more make no difference.
    private static let maximumPeriods = 8
    private static let keyBytes = 16

    init(learner: KeepaliveLearner = KeepaliveLearner(), devices: DeviceKeepalives = DeviceKeepalives()) {
        self.learner = learner
        self.devices = devices
    }

    /// The intervals that are to be set on links since the last call.
    mutating func takeChanges() -> [LinkID: Duration] {
        defer { changes = [:] }
        return changes
    }

    // MARK: - Links

    /// A device has linked.
    ///
    /// - Parameters:
    ///   - label: what it calls its network: `KIND:HASH`.
    ///   - address: the peer's address and port.
    ///   - isAway: a link that died before may have died of what the device did: it slept, or was off.
    mutating func linked(
        _ link: LinkID, _ device: DeviceID, label: String?, address: String, isAway: Bool, at now: BootInstant
    ) {
        let network = Self.key(address, label)
        let kind = label.flatMap { NetworkKind(rawValue: String($0.prefix { $0 != ":" })) } ?? .wiFi
        if let death = deaths.removeValue(forKey: device) {
            // In another network the NAT of the former one has done nothing wrong.
            let pathChanged = isAway || death.network != network
            if !pathChanged {
                devices.linkDied(
                    device, on: network, afterIdle: death.idle, interval: death.interval, at: death.at)
            }
            let former = learner.interval(on: death.network)
            let interval = learner.foundDead(
                on: death.network, afterIdle: death.idle, interval: death.interval, pathChanged: pathChanged,
                at: death.at)
            if interval != former { shorten(death.network, at: now) }
        }
        devices.linked(device, on: network, at: now)
        let isLearned = learner.interval(on: network) != nil || newNetworks.take(device, at: now)
        let shared = isLearned ? learner.linkEstablished(on: network, kind: kind, at: now) : learner.cautious
        let interval = min(shared, devices.keepalive(device, on: network, at: now).trusted)
        links[link] = Link(device: device, network: network, interval: interval, lastTraffic: now, regularSince: now)
        newest[device] = link
        changes[link] = interval
    }

    /// A push was sent.
    mutating func sent(_ link: LinkID, at now: BootInstant) {
        guard var state = links[link] else { return }
        state.push = state.push ?? (now, state.lastTraffic.duration(to: now))
        state.lastTraffic = now
        links[link] = state
    }

    /// A push was acknowledged.
    mutating func acknowledged(_ device: DeviceID, at now: BootInstant) {
        guard let link = newest[device], let state = links[link] else { return }
        // Before the push the way was open, too.
        traffic(on: link, provenUntil: state.push?.sentAt ?? now, at: now)
    }

    /// The device has sent something else, which opens the way again and so proves nothing.
    mutating func received(_ link: LinkID, at now: BootInstant) {
        guard let state = links[link] else { return }
        traffic(on: link, provenUntil: now.advanced(by: .zero - KeepaliveRules.patience(of: state.interval)), at: now)
    }

    /// A link has ended.
    ///
    /// - Parameter isDead: the peer did not answer any more, and sent no end.
    mutating func ended(_ link: LinkID, isDead: Bool, at now: BootInstant) {
        guard let state = links.removeValue(forKey: link) else { return }
        if newest[state.device] == link { newest[state.device] = nil }
        guard isDead else { return }
        if deaths.count >= Self.maximumDeaths, let oldest = deaths.min(by: { $0.value.at < $1.value.at }) {
            deaths[oldest.key] = nil
        }
        deaths[state.device] = Death(
            network: state.network, idle: state.push?.idle ?? state.lastTraffic.duration(to: now),
            interval: state.interval, at: now)
    }

    /// What is set on a link.
    func interval(of link: LinkID) -> Duration? { links[link]?.interval }

    /// What is known of a link's network.
    func status(of link: LinkID) -> KeepaliveLearner.Status? { links[link].flatMap { learner.status(of: $0.network) } }

    /// What the gateway tells a device about the keep-alives of its link.
    func timing(of device: DeviceID, at now: BootInstant) -> LinkTiming {
        guard let state = newest[device].flatMap({ links[$0] }) else { return LinkTiming(keepAlive: 0) }
        return LinkTiming(
            keepAlive: Self.seconds(state.interval), longest: learner.longest(on: state.network).map(Self.seconds),
            failed: [learner.failure(on: state.network), devices.keepalive(device, on: state.network, at: now).limit]
                .compactMap(\.self).min().map(Self.seconds), probeAfter: probeAfter(state, at: now))
    }

    // MARK: - Probes

    /// A device is ready to probe.
    ///
    /// - Returns: how long the probe has to be idle; nil if none is due, or if it is not in the network of the link.
    mutating func beginProbe(
        _ probe: LinkID, _ device: DeviceID, label: String?, address: String, at now: BootInstant
    ) -> Duration? {
        guard let link = newest[device], let state = links[link], state.network == Self.key(address, label) else {
            return nil
        }
        prove(link, until: now.advanced(by: .zero - KeepaliveRules.patience(of: state.interval)), at: now)
        let own = catchUp(state, at: now)
        let due: Duration? =
            switch own {
            case .now(let goal): goal
            case .after: nil
            case .never: learner.startProbe(on: state.network, at: now)
            }
        guard let tried = due else {
            links[link]?.needlessProbes += 1
            set(link, allowed(state, at: now), at: now)
            return nil
        }
        // Nothing else keeps a device from catching up again and again that ends its probes each time.
        links[link]?.needlessProbes = own == .never ? 0 : state.needlessProbes + 1
        probes[probe] = Probe(
            device: device, link: link, network: state.network, tried: tried, isCatchingUp: own != .never, began: now)
        return tried
    }

    /// Whose probe it is; nil if it was not due, or has been judged.
    func device(ofProbe id: LinkID) -> DeviceID? { probes[id]?.device }

    /// What is being tried for a link.
    func tried(for link: LinkID) -> Duration? { probes.values.first { $0.link == link }?.tried }

    /// A probe lives after its idle time.
    mutating func probeSurvived(_ id: LinkID, at now: BootInstant) {
        guard let probe = probes.removeValue(forKey: id) else { return }
        devices.probeSurvived(probe.device, on: probe.network, probe.tried, at: now)
        report(probe, .survived(probe.tried), at: now)
        links[probe.link]?.needlessProbes = 0
        if let state = links[probe.link] { set(probe.link, allowed(state, at: now), at: now) }
    }

    /// A probe has ended without a word.
    ///
    /// - Returns: the link of its device, if this may be the NAT: ask there whether the device answers, and report it by
    ///   ``probeJudged(_:deviceAnswers:at:)``. A device that is asleep or out of range answers nowhere.
    mutating func probeBroke(_ id: LinkID, at now: BootInstant) -> LinkID? {
        guard let probe = probes[id] else { return nil }
        guard probe.began.advanced(by: probe.tried) <= now, links[probe.link] != nil else {
            probeLeft(id, at: now)
            return nil
        }
        return probe.link
    }

    /// See ``probeBroke(_:at:)``.
    mutating func probeJudged(_ id: LinkID, deviceAnswers: Bool, at now: BootInstant) {
        guard let probe = probes.removeValue(forKey: id) else { return }
        let isNAT = deviceAnswers && links[probe.link] != nil
        if isNAT, let interval = links[probe.link]?.interval {
            devices.probeDied(probe.device, on: probe.network, probe.tried, linkInterval: interval, at: now)
            links[probe.link]?.needlessProbes = 0
        }
        report(probe, isNAT ? .died(probe.tried) : .void, at: now)
        // The question was a keep-alive out of turn.
        links[probe.link]?.regularSince = now
    }

    /// A probe was ended, and shows nothing.
    mutating func probeLeft(_ id: LinkID, at now: BootInstant) {
        guard let probe = probes.removeValue(forKey: id) else { return }
        report(probe, .void, at: now)
    }

    private mutating func report(_ probe: Probe, _ outcome: KeepaliveLearner.ProbeOutcome, at now: BootInstant) {
        if !probe.isCatchingUp { _ = learner.probeEnded(on: probe.network, outcome, at: now) }
    }

    /// When a device probes what its network has. Until it has caught up its probes say nothing about the network.
    private func catchUp(_ link: Link, at now: BootInstant) -> KeepaliveLearner.NextProbe {
        guard let shared = learner.interval(on: link.network) else { return .never }
        return devices.keepalive(link.device, on: link.network, at: now).catchUp(with: shared, at: now)
    }

    /// What may be set on a link.
    private func allowed(_ link: Link, at now: BootInstant) -> Duration? {
        let own = devices.keepalive(link.device, on: link.network, at: now)
        return learner.interval(on: link.network).map { min($0, own.trusted) }
    }

    /// Seconds until the device of a link is to probe. One keep-alive more than is needed: what is sent after the link was
    /// made moves them.
    private func probeAfter(_ link: Link, at now: BootInstant) -> UInt32? {
        let own = catchUp(link, at: now)
        let wait: Duration
        switch own == .never ? learner.nextProbe(on: link.network, at: now) : own {
        case .never: return nil
        case .now: wait = .zero
        case .after(let time): wait = time
        }
        let needed = wait + link.interval + KeepaliveRules.patience(of: link.interval)
        return UInt32(clamping: max(needed, KeepaliveRules.pause(after: link.needlessProbes)).components.seconds)
    }

    // MARK: - Evidence

    private mutating func traffic(on link: LinkID, provenUntil end: BootInstant, at now: BootInstant) {
        prove(link, until: end, at: now)
        links[link]?.lastTraffic = now
        links[link]?.regularSince = now
        links[link]?.push = nil
    }

    /// Each keep-alive that was sent until then was answered, or the link would have died.
    private mutating func prove(_ link: LinkID, until end: BootInstant, at now: BootInstant) {
        guard let state = links[link], state.regularSince < end else { return }
        let periods = Int(state.regularSince.duration(to: end) / state.interval)
        guard periods > 0 else { return }
        for period in max(1, periods - Self.maximumPeriods + 1)...periods {
            _ = learner.provenAlive(
                on: state.network, afterIdle: state.interval,
                at: state.regularSince.advanced(by: state.interval * period))
        }
        devices.used(state.device, on: state.network, at: now)
        links[link]?.regularSince = state.regularSince.advanced(by: state.interval * periods)
    }

    private mutating func shorten(_ network: NetworkKey, at now: BootInstant) {
        guard let interval = learner.interval(on: network) else { return }
        for (id, link) in links where link.network == network && link.interval > interval {
            set(id, interval, at: now)
        }
    }

    private mutating func set(_ link: LinkID, _ interval: Duration?, at now: BootInstant) {
        guard let interval, let state = links[link], state.interval != interval else { return }
        links[link]?.interval = interval
        links[link]?.regularSince = now
        changes[link] = interval
    }

    private static func seconds(_ time: Duration) -> UInt16 { UInt16(clamping: time.components.seconds) }

    /// Devices behind one NAT have one source network; the label tells apart what is behind the same one. A digest,
    /// because it is stored.
    private static func key(_ address: String, _ label: String?) -> NetworkKey {
        let source: String
        if let parsed = try? SocketAddress(parsing: address), !parsed.isIPv6 {
            source = parsed.host.split(separator: ".").prefix(3).joined(separator: ".")
        } else {
            source = "\(PeerNetwork(of: address))"
        }
        return NetworkKey(SHA256.digest(Array("\(source)|\(label ?? "")".utf8)).prefix(keyBytes))
    }
}
