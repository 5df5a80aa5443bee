import DeviceLink
import RingwakeCore

/// SplitMix64: the same numbers for the same seed, so that a failing round can be run again.
struct TimingRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// Always the same number: the lower or the upper end of a range.
struct ConstantRandom: RandomNumberGenerator {
    let value: UInt64

    // Not 0, which the standard library may refuse for ever when the range is no power of two.
    static let lowest = ConstantRandom(value: 1)
    static let highest = ConstantRandom(value: .max)

    mutating func next() -> UInt64 { value }
}

extension BootInstant {
    static func at(_ time: Duration) -> BootInstant { BootInstant(nanoseconds: 0).advanced(by: time) }
}

extension Duration {
    static func minutes(_ minutes: Int) -> Duration { .seconds(60 * minutes) }
    static func hours(_ hours: Int) -> Duration { .seconds(3600 * hours) }
    static func days(_ days: Int) -> Duration { .seconds(86400 * days) }
}

/// Devices behind one NAT that forgets a connection when it is idle for `timeout`, and a gateway that learns.
struct SimulatedNAT {
    /// nil: it never forgets.
    var timeout: Duration?
    var learner = KeepaliveLearner()
    let network: NetworkKey
    let kind: NetworkKind
    /// The chance of a push in a period.
    var pushes = 0.0
    /// The chance that a link dies in a period although the NAT did nothing.
    var accidents = 0.0
    private(set) var now = BootInstant.at(.zero)
    private var random: TimingRandom
    private var links: [Link] = []
    private var probe: (interval: Duration, endsAt: BootInstant)?

    private(set) var probes: [Duration] = []
    private(set) var failures = 0
    /// The times in which a push to a link would have got lost, each until the gateway noticed.
    private(set) var lossWindows: [Duration] = []

    /// The gateway notices a dead link this long after a packet without an answer (TCP_USER_TIMEOUT).
    static let detection = Duration.seconds(10)

    private struct Link {
        var interval: Duration
        var idleSince: BootInstant
        var nextPacketAt: BootInstant
    }

    init(timeout: Duration?, kind: NetworkKind = .cellular, devices: Int = 1, seed: UInt64 = 1) {
        self.timeout = timeout
        self.kind = kind
        network = NetworkKey([1, 2, 3])
        random = TimingRandom(seed: seed)
        for index in 0..<devices {
            connect(nil, at: BootInstant.at(.seconds(7 * index)))
        }
    }

    /// The interval that is set on new links now.
    var interval: Duration { learner.interval(on: network) ?? .zero }
    var status: KeepaliveLearner.Status? { learner.status(of: network) }

    mutating func run(for duration: Duration) {
        let end = now.advanced(by: duration)
        while let index = links.indices.min(by: { links[$0].nextPacketAt < links[$1].nextPacketAt }) {
            if let probe, probe.endsAt < links[index].nextPacketAt {
                guard probe.endsAt < end else { break }
                endProbe(probe)
            } else {
                guard links[index].nextPacketAt < end else { break }
                sendPacket(index)
            }
        }
        now = end
    }

    private mutating func endProbe(_ ended: (interval: Duration, endsAt: BootInstant)) {
        now = ended.endsAt
        probe = nil
        follow(
            learner.probeEnded(
                on: network, survives(ended.interval) ? .survived(ended.interval) : .died(ended.interval), at: now))
    }

    private mutating func sendPacket(_ index: Int) {
        now = links[index].nextPacketAt
        let idle = links[index].idleSince.duration(to: now)
        let isAccident = Double.random(in: 0..<1, using: &random) < accidents
        if survives(idle), !isAccident {
            let interval = learner.provenAlive(on: network, afterIdle: idle, at: now)
            continueLink(index)
            follow(interval)
        } else {
            failures += 1
            let found = now.advanced(by: Self.detection)
            lossWindows.append(idle - min(timeout ?? idle, idle) + Self.detection)
            let interval = learner.foundDead(
                on: network, afterIdle: idle + Self.detection, interval: links[index].interval, pathChanged: false,
                at: found)
            connect(index, at: found)
            follow(interval)
        }
    }

    private func survives(_ idle: Duration) -> Bool { timeout.map { idle < $0 } ?? true }

    private mutating func connect(_ index: Int?, at time: BootInstant) {
        let interval = learner.linkEstablished(on: network, kind: kind, at: time)
        let link = Link(interval: interval, idleSince: time, nextPacketAt: time.advanced(by: interval))
        if let index { links[index] = link } else { links.append(link) }
        continueLink(index ?? links.endIndex - 1, at: time)
    }

    private mutating func continueLink(_ index: Int, at time: BootInstant? = nil) {
        let time = time ?? now
        links[index].idleSince = time
        var wait = links[index].interval
        if Double.random(in: 0..<1, using: &random) < pushes {
            wait = .seconds(Int64.random(in: 1...wait.components.seconds, using: &random))
        }
        links[index].nextPacketAt = time.advanced(by: wait)
    }

    private mutating func follow(_ interval: Duration?) {
        guard let interval else { return }
        for index in links.indices where links[index].interval != interval {
            // The kernel takes the new time for the next idle period of this link at the latest.
            links[index].interval = interval
            let due = links[index].idleSince.advanced(by: interval)
            if due < links[index].nextPacketAt { links[index].nextPacketAt = max(due, now) }
        }
        guard probe == nil, let tried = learner.startProbe(on: network, at: now) else { return }
        probes.append(tried)
        probe = (tried, now.advanced(by: tried))
    }
}
