import RingwakeCore

/// The search for the keep-alive interval of one network.
///
///                     5 good periods               survived
///     searching --------------------------> probe ----------> searching, interval = probe's
///        ^   |                                |
///        |   | a link died                    | died: limit = probe's
///        |   v                                v
///        |  fall below half; 5 good       interval < limit: more probes below the limit, then *settled*
///        |  periods, then a probe of          |
///        |  the time that failed              |
///        |                                    |
///        +--- a retry at the limit survives --+-- hold of 1 day or more, then one probe at the limit
///
/// One dead link may be an accident. It shortens the interval nevertheless, because while links die pushes wait; whether
/// it was the NAT is found out by a probe of the time that failed, or by a second dead link.
///
/// What holds: `floor <= interval <= ceiling`. The limit is an idle time that failed twice, or failed a probe; it is above
/// the interval, except at the floor, where it says that the network cannot be held. The interval falls by dead links
/// only. It grows by a probe, or, where no device probes, back to a time that failed once, after a day.
///
/// Periods that overlap are one piece of evidence, whichever device reports them. So a NAT that restarts is one failure
/// for a hundred devices, and a hundred good devices cannot outvote the one that fails each time.
struct NetworkKeepalive: Hashable, Sendable {
    private(set) var kind: NetworkKind
    private let bounds: KeepaliveBounds
    private(set) var interval: Duration
    /// The shortest idle time that is known to fail.
    private(set) var limit: Duration?
    /// The limit is not tried again before.
    private(set) var holdUntil: BootInstant
    /// How many probes at the limit have failed since it was found.
    private(set) var failedRetries: Int

    /// Good periods since the last failure or change; counted up to ``KeepaliveRules/goodRun``.
    private var goodRun = 0
    private var lastGood: BootInstant?
    /// The last dead link, until it is known whether the NAT was the cause.
    private(set) var failure: Failure?
    private var probing = Probing.allowed
    /// Probes without a result in a row.
    private var lostProbes = 0

    /// A network about which nothing is known, or what was saved about it.
    init(
        kind: NetworkKind, bounds: KeepaliveBounds, interval: Duration? = nil, limit: Duration? = nil,
        failedRetries: Int = 0, holdUntil: BootInstant, failure: Failure? = nil
    ) {
        self.kind = kind
        self.bounds = bounds
        let interval = min(max(interval ?? bounds.start, bounds.shortest), bounds.longest(kind))
        self.interval = interval
        self.limit = limit.flatMap { limit in
            if limit > interval { return limit }
            return interval == bounds.shortest ? interval : nil
        }
        self.failedRetries = failedRetries
        self.holdUntil = holdUntil
        self.failure = failure
    }

    var status: KeepaliveLearner.Status {
        if let limit, limit <= interval { return .belowFloor }
        if interval >= longest { return .atCeiling }
        return doubted == nil && stepUp == nil ? .settled : .searching
    }

    /// The longest interval that this network may get.
    var longest: Duration { bounds.longest(kind) }

    // MARK: - Inputs

    /// A device uses the network; the same network may be of another kind than before.
    mutating func used(as kind: NetworkKind) {
        self.kind = kind
        interval = min(interval, longest)
    }

    /// A link was idle for `idle`, and then the peer acknowledged a packet at `now`.
    mutating func survived(idle: Duration, at now: BootInstant) {
        guard idle + KeepaliveRules.tolerance >= interval, isNew(idle, at: now, since: lastGood) else { return }
        lastGood = now
        goodRun = min(goodRun + 1, KeepaliveRules.goodRun)
        guard goodRun == KeepaliveRules.goodRun else { return }
        if let limit, limit <= interval { forgetLimit() }
        guard let doubted, let failure else {
            failure = nil
            return
        }
        guard failure.foundAt.advanced(by: KeepaliveRules.firstHold) <= now else { return }
        // A probe that is running tries what the links have now.
        (interval, goodRun, probing) = (doubted, 0, .allowed)
    }

    /// A link was found dead at `now` after it was idle for `idle`, with keep-alives every `linkInterval`.
    mutating func died(idle: Duration, linkInterval: Duration, at now: BootInstant) {
        // The first packet without an answer was sent after this time.
        let gap = min(idle, linkInterval)
        // A longer gap says nothing about the interval of today. A shorter one than the floor has another cause, or one
        // that no interval cures.
        guard gap + KeepaliveRules.tolerance >= bounds.shortest, gap <= interval + KeepaliveRules.tolerance,
            isNew(idle, at: now, since: failure?.foundAt)
        else { return }
        goodRun = 0
        interval = min(interval, max(gap / 2 - KeepaliveRules.margin, bounds.shortest))
        if let first = failure {
            // One of the two may be a coincidence, so only the longer gap is taken as proven.
            let proven = max(first.gap, gap)
            limit = max(min(limit ?? proven, proven), interval)
            holdUntil = now.advanced(by: KeepaliveRules.firstHold)
            failedRetries = 0
        }
        failure = Failure(gap: gap, foundAt: now)
        // A probe in progress tries more than what has just failed.
        probing = .allowed
    }

    /// The probe in progress ended. Changes nothing if there is none.
    mutating func probeEnded(_ outcome: KeepaliveLearner.ProbeOutcome, at now: BootInstant) {
        guard case .running(let tried, _) = probing else { return }
        switch outcome {
        case .survived(let idle) where idle + KeepaliveRules.tolerance >= tried:
            interval = min(tried, longest)
            if let limit, limit <= tried { forgetLimit() }
            if let gap = failure?.gap, gap <= interval + KeepaliveRules.tolerance { failure = nil }
            probeHasResult()
        case .died(let idle) where idle + KeepaliveRules.tolerance >= tried:
            // A new limit, or a retry that failed.
            failedRetries = limit.map { $0 <= tried } ?? false ? failedRetries + 1 : 0
            limit = tried
            if let gap = failure?.gap, gap >= tried { failure = nil }
            holdUntil = now.advanced(
                by: KeepaliveRules.doubled(
                    KeepaliveRules.firstHold, failedRetries, atMost: KeepaliveRules.longestHold))
            probeHasResult()
        case .survived, .died, .void:
            pauseProbes(at: now)
        }
    }

    /// What a probe would try now, or when one may be due.
    func nextProbe(at now: BootInstant) -> KeepaliveLearner.NextProbe {
        guard let next = doubted ?? stepUp ?? retry else { return .never }
        let isRetry = doubted == nil && stepUp == nil
        let earliest = max(
            now.advanced(by: interval * (KeepaliveRules.goodRun - goodRun)), isRetry ? holdUntil : now,
            probing.isAllowedFrom(now))
        return earliest <= now ? .now(next) : .after(now.duration(to: earliest))
    }

    /// Starts a probe if one is due, and returns its interval.
    mutating func startProbe(at now: BootInstant) -> Duration? {
        if case .running = probing, probing.isAllowedFrom(now) <= now { pauseProbes(at: now) }
        guard case .now(let next) = nextProbe(at: now) else { return nil }
        probing = .running(next, since: now)
        return next
    }

    // MARK: - Steps

    /// The idle time that failed once, which may have been an accident.
    private var doubted: Duration? {
        guard let gap = failure?.gap, gap - interval >= KeepaliveRules.smallestGain, gap <= longest else { return nil }
        return limit.map { gap < $0 } ?? true ? gap : nil
    }

    /// The next longer interval that is not known to fail.
    private var stepUp: Duration? {
        let next = min(interval + KeepaliveRules.growth, longest)
        guard let limit else { return next > interval ? next : nil }
        let below = min(next, limit - KeepaliveRules.margin)
        return below - interval >= KeepaliveRules.smallestGain ? below : nil
    }

    /// The limit, which is tried again when the hold is over.
    private var retry: Duration? {
        let next = limit.map { min($0, longest) } ?? interval
        return next > interval ? next : nil
    }

    private mutating func forgetLimit() {
        limit = nil
        failedRetries = 0
    }

    private mutating func probeHasResult() {
        probing = .allowed
        lostProbes = 0
        goodRun = 0
    }

    private mutating func pauseProbes(at now: BootInstant) {
        let pause = KeepaliveRules.doubled(KeepaliveRules.firstPause, lostProbes, atMost: KeepaliveRules.longestPause)
        probing = .paused(until: now.advanced(by: pause))
        lostProbes = min(lostProbes + 1, 10)
    }

    /// Whether the idle period that ended at `now` began after an earlier piece of evidence.
    private func isNew(_ idle: Duration, at now: BootInstant, since earlier: BootInstant?) -> Bool {
        guard let earlier else { return true }
        return earlier.duration(to: now) + KeepaliveRules.tolerance >= idle
    }

    struct Failure: Hashable, Sendable {
        let gap: Duration
        let foundAt: BootInstant
    }

    private enum Probing: Hashable, Sendable {
        case allowed
        case paused(until: BootInstant)
        case running(Duration, since: BootInstant)

        /// When the next probe may start. One that is in progress for too long is lost.
        func isAllowedFrom(_ now: BootInstant) -> BootInstant {
            switch self {
            case .allowed: now
            case .paused(let until): until
            case .running(let tried, let since): since.advanced(by: tried * 2 + KeepaliveRules.probeGrace)
            }
        }
    }
}
