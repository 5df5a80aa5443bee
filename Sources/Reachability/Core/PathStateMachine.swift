internal import RunLoop

/// The state of the network, the reported values, and the effects of events. A value: a copy is independent of the
/// original. Time and kernel are arguments; `handle` queries the kernel, which answers immediately.
///
///     event --> tables, hosts --> evaluation of what may have changed --> holds --> effects
///                                      |
///                                      +--> scope of the filter; if it has grown: attachFilter, and filterAttached
///                                           judges again, because the old filter may have dropped something
///
/// Invariants: a target's reported value differs from the last evaluation only while its hold has a deadline. The
/// tables contain facts only about interfaces of the attached scope, or of the scope about to be attached.
struct PathStateMachine {
    /// What can happen.
    enum Event {
        /// The kernel reported changes; some are missing if the socket was overrun.
        case kernel([KernelEvent], isOverrun: Bool)
        /// The filter that an effect asked for is in force.
        case filterAttached
        /// The machine was resumed, or a caller requests to evaluate everything again.
        case resumed
        /// The resolver's files changed; these are the name servers now.
        case resolverChanged(nameServers: [IPAddress])
        /// The resolver answered.
        case resolved(String, Resolution)
        case watch(WatchedTarget)
        case unwatch(WatchedTarget)
        /// These watched targets are needed now: looks up the host names whose addresses are old.
        case refresh([ReachabilityTarget])
        /// Another configuration. Evaluates everything, without reading links and addresses again, and looks up the
        /// host names whose addresses are old.
        case reconfigured(ReachabilityConfiguration)
        /// Evaluate the targets that were watched since the last flush; sent once for many `watch`.
        case flush
        /// Judge these targets now, and the path too if requested. Then read `current` and `currentPath`.
        case asked([WatchedTarget], path: Bool)
        /// `nextDeadline` has come.
        case deadline
    }

    /// What to do.
    enum Effect: Equatable {
        /// Attach a filter for this scope, then send `filterAttached`.
        case attachFilter(FilterScope)
        /// Look this name up.
        case resolve(String)
        case reportPath(NetworkPath)
        case report(WatchedTarget, TargetReachability)
    }

    struct Statistics: Equatable {
        var evaluations: UInt64 = 0
        /// Evaluations with another result than before.
        var changes: UInt64 = 0
        var resynchronizations: UInt64 = 0
        var lastError: String?
    }

    /// How packets leave the machine. When this changes, host names may have other addresses.
    private struct Way: Equatable {
        let interface: NetworkInterface?
        let sources: [IPAddress]
        let gateways: [IPAddress]
        let supportsDNS: Bool
    }

    /// Added to a lifetime: the kernel's clock ticks every few milliseconds, and the kernel rounds lifetimes down.
    private static let expirySlack = Duration.milliseconds(30)
    private static let firstRetry = Duration.seconds(1)
    private static let longestRetry = Duration.seconds(30)

    /// Evaluations, resynchronizations and errors since the start.
    private(set) var statistics = Statistics()
    private var configuration: ReachabilityConfiguration
    private var nameServers: [IPAddress]
    private var tables = KernelTables()
    private var hosts = HostTable()
    private var filter = FilterTracker()
    private var pathHold = LossHold<NetworkPath>()
    private var watched: [WatchedTarget: LossHold<TargetReachability>] = [:]
    /// Targets to evaluate, or everything.
    private var changed: Set<WatchedTarget> = []
    private var isEverythingChanged = false
    private var isPathChanged = false
    private var way: Way?
    private var retry = firstRetry
    private var retryAt: BootClock.Instant?
    /// When a route in use expires without an event of the kernel.
    private var expiresAt: BootClock.Instant?

    init(configuration: ReachabilityConfiguration, nameServers: [IPAddress]) {
        self.configuration = configuration
        self.nameServers = nameServers
    }

    /// The path reported last; nil before the first evaluation.
    var path: NetworkPath? { pathHold.reported }

    /// The path of the last evaluation. Unlike `path`, includes a loss that is not reported yet.
    var currentPath: NetworkPath? { pathHold.current }

    /// The target's value of the last evaluation. Unlike `reported`, includes a loss that is not reported yet.
    func current(_ target: WatchedTarget) -> TargetReachability? { watched[target]?.current }

    /// The target's value reported last; nil before the first.
    func reported(_ target: WatchedTarget) -> TargetReachability? { watched[target]?.reported }

    var targetCount: Int { watched.count }

    /// When the addresses of a host name were looked up; nil for other targets, and before the first answer.
    func resolvedAt(_ target: ReachabilityTarget) -> BootClock.Instant? {
        target.hostName.flatMap { hosts.resolvedAt($0) }
    }

    /// Whether the target's value is about addresses that are old and being looked up: who asks now waits for the
    /// answer.
    func isAwaited(_ target: ReachabilityTarget, at now: BootClock.Instant) -> Bool {
        target.hostName.map { hosts.isAwaited($0, at: now) } ?? false
    }

    /// The scope of the filter in force, or about to be.
    var attachedScope: FilterScope { filter.attached }

    /// When `deadline` is due; nil if nothing is awaited.
    var nextDeadline: BootClock.Instant? {
        let own = [pathHold.deadline, hosts.nextDeadline, retryAt, expiresAt]
        return (watched.values.map(\.deadline) + own).compactMap { $0 }.min()
    }

    mutating func handle(_ event: Event, at now: BootClock.Instant, asking kernel: any KernelLookup) -> [Effect] {
        var names: [String] = []
        switch event {
        case .kernel(let events, let isOverrun):
            for event in events where tables.apply(event) { isEverythingChanged = true }
            if isOverrun { resynchronize(at: now, asking: kernel) }
        case .filterAttached:
            readNewInterfaces(asking: kernel, at: now)
        case .resumed:
            resynchronize(at: now, asking: kernel)
            names = hosts.askAll()
        case .resolverChanged(let nameServers):
            self.nameServers = nameServers
            isEverythingChanged = true
            names = hosts.askAll()
        case .resolved(let name, let answer):
            names = hosts.resolved(name, answer, at: now, mayRetry: path?.supportsDNS ?? false).ask
            for target in watched.keys where target.target == .host(name) { mark(target) }
        case .watch(let target):
            watched[target] = watched[target] ?? LossHold()
            if let name = target.target.hostName { names = hosts.add(name) }
            mark(target)
            // More watches may follow in this turn. `flush` evaluates them.
            return names.map { .resolve($0) }
        case .unwatch(let target):
            watched[target] = nil
            changed.remove(target)
            if let name = target.target.hostName, !watched.keys.contains(where: { $0.target == target.target }) {
                hosts.remove(name)
            }
            // The filter shrinks when everything is evaluated next. Until then an event for this target causes one
            // wakeup, and that evaluation: cheaper than evaluating everything whenever a target leaves.
            if filter.isTooWide { isEverythingChanged = true }
            return []
        case .refresh(let targets):
            // Nothing to judge: like `watch`, it may come between watches that `flush` evaluates together.
            return hosts.askOld(targets.compactMap(\.hostName), at: now).map { .resolve($0) }
        case .reconfigured(let configuration):
            self.configuration = configuration
            isEverythingChanged = true
            names = hosts.askOld(at: now)
        case .flush:
            break
        case .asked(let targets, let path):
            for target in targets { mark(target) }
            isPathChanged = isPathChanged || path
        case .deadline:
            names = hosts.askDue(at: now)
            noteDeadline(at: now, asking: kernel)
        }
        let judged = judge(at: now, asking: kernel)
        return names.map { .resolve($0) } + judged
    }

    /// Judges the path for another user, and changes nothing.
    func path(forUser user: UInt32, asking kernel: any KernelLookup) -> NetworkPath {
        var evaluation = Evaluation(
            tables: tables, kernel: kernel, overrides: configuration.interfaces, nameServers: nameServers)
        evaluation.judge(for: user)
        return evaluation.path()
    }

    // MARK: - What changed

    private mutating func mark(_ target: WatchedTarget) {
        if watched[target] != nil { changed.insert(target) }
    }

    /// Reads all links and addresses again. If the kernel doesn't answer, the old facts count until a retry succeeds.
    private mutating func resynchronize(at now: BootClock.Instant, asking kernel: any KernelLookup) {
        statistics.resynchronizations &+= 1
        isEverythingChanged = true
        retryAt = nil
        statistics.lastError = nil
        do throws(KernelLookupError) {
            try tables.resynchronize(kernel)
        } catch {
            noteError("\(error.request): \(error.message)", at: now)
        }
    }

    /// The kernel did not answer: ask again after a pause, longer each time.
    private mutating func noteError(_ error: String, at now: BootClock.Instant) {
        statistics.lastError = error
        guard retryAt == nil else { return }
        retryAt = now.advanced(by: retry)
        retry = min(retry * 2, Self.longestRetry)
    }

    /// The new filter is in force: the old one dropped events of its new interfaces.
    private mutating func readNewInterfaces(asking kernel: any KernelLookup, at now: BootClock.Instant) {
        do throws(KernelLookupError) {
            if try tables.refresh(filter.takeNewInterfaces(), kernel) { isEverythingChanged = true }
        } catch {
            resynchronize(at: now, asking: kernel)
        }
    }

    private mutating func noteDeadline(at now: BootClock.Instant, asking kernel: any KernelLookup) {
        let isDue = { (deadline: BootClock.Instant?) in deadline.map { $0 <= now } ?? false }
        if isDue(retryAt) { resynchronize(at: now, asking: kernel) }
        if isDue(pathHold.deadline) || isDue(expiresAt) { isEverythingChanged = true }
        for (target, hold) in watched where isDue(hold.deadline) { mark(target) }
    }

    // MARK: - What follows

    private mutating func judge(at now: BootClock.Instant, asking kernel: any KernelLookup) -> [Effect] {
        guard isEverythingChanged || isPathChanged || !changed.isEmpty else { return [] }
        let isAll = isEverythingChanged
        let hasPath = isAll || isPathChanged
        isPathChanged = false
        let targets = isAll ? Set(watched.keys) : changed
        isEverythingChanged = false
        changed = []
        statistics.evaluations &+= 1

        let zones = tables.awaitedZones
        var evaluation = Evaluation(
            tables: takeTables(), kernel: kernel, overrides: configuration.interfaces, nameServers: nameServers)
        let oldPath = currentPath
        var effects = hasPath ? judgePath(&evaluation, at: now) : []
        var hasChanged = currentPath != oldPath
        for target in targets {
            guard let value = judge(target, &evaluation) else { continue }
            let old = current(target)
            let isKnown = value.unsatisfiedReason != .kernelError
            let isTurn = isKnown && !value.isReachable && watched[target]?.isReachable ?? false
            let reported = watched[target]?.offer(value, isKnown: isKnown, at: now, holding: configuration.lossHold)
            if let reported { effects.append(.report(target, reported)) }
            if current(target) != old { hasChanged = true }
            // A host name that can't be reached any more may have moved. Without a name server, a look-up is pointless.
            if isTurn, value.supportsDNS, let name = target.target.hostName {
                effects += hosts.askOld([name], at: now).map { .resolve($0) }
            }
        }
        if hasChanged { statistics.changes &+= 1 }
        let end = evaluation.lifetime.map { now.advanced(by: $0 + Self.expirySlack) }
        expiresAt = isAll ? end : [expiresAt, end].compactMap { $0 }.min()
        if let error = evaluation.lastError { noteError(error, at: now) }
        if isAll, retryAt == nil { retry = Self.firstRetry }
        tables = evaluation.tables
        // The targets that were not evaluated still await their zones.
        if !isAll { tables.awaitedZones.formUnion(zones) }
        var scope = evaluation.scope
        scope.awaitsLinks = !tables.awaitedZones.isEmpty
        scope.uninvolved = evaluation.uninvolvedInterfaces()
        return effects + rescope(scope, isAll: isAll, judged: targets, hasPath: hasPath)
    }

    /// Moves the tables out of the machine, so that an evaluation changes them without a copy.
    private mutating func takeTables() -> KernelTables {
        defer { tables = KernelTables() }
        return tables
    }

    private mutating func judgePath(_ evaluation: inout Evaluation, at now: BootClock.Instant) -> [Effect] {
        let path = evaluation.path()
        let isKnown = path.unsatisfiedReason != .kernelError
        let isFirst = pathHold.reported == nil
        let reported = pathHold.offer(path, isKnown: isKnown, at: now, holding: configuration.lossHold)
        guard isKnown || isFirst else { return [] }
        var effects = reported.map { [Effect.reportPath($0)] } ?? []
        let way = Way(
            interface: path.interfaces.first, sources: path.sources, gateways: path.gateways,
            supportsDNS: path.supportsDNS)
        if way != self.way {
            // Without a reachable name server a look-up is pointless. The names are looked up as soon as one is
            // reachable.
            if self.way != nil, path.supportsDNS { effects += hosts.askAll().map { .resolve($0) } }
            self.way = way
        }
        return effects
    }

    /// - Returns: Nil if the target is not known yet: wait for the first answer to a host name.
    private func judge(_ watched: WatchedTarget, _ evaluation: inout Evaluation) -> TargetReachability? {
        evaluation.judge(for: watched.user)
        guard case .host(let name) = watched.target else { return evaluation.reachability(of: watched.target) }
        switch hosts.knowledge(of: name) {
        case .unknown(.resolving): return nil
        case .unknown(let reason): return evaluation.reachability(ofHost: [], orElse: reason)
        case .addresses(let addresses): return evaluation.reachability(ofHost: addresses)
        }
    }

    /// Requests another filter if the one in force drops relevant events, or passes irrelevant ones. Once it is in
    /// force, evaluates again what the old one may have hidden.
    private mutating func rescope(
        _ scope: FilterScope, isAll: Bool, judged targets: Set<WatchedTarget>, hasPath: Bool
    ) -> [Effect] {
        let next = filter.adopt(scope, isAll: isAll, unsettled: tables.interfacesWithUnsettledAddresses)
        tables.silence(filter.attached.uninvolved)
        guard let next else { return [] }
        guard next.isWider else { return [.attachFilter(next.scope)] }
        if isAll {
            isEverythingChanged = true
        } else {
            changed.formUnion(targets)
            isPathChanged = isPathChanged || hasPath
        }
        return [.attachFilter(next.scope)]
    }
}
