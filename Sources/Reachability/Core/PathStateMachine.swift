internal import RunLoop

/// What is known, what was told, and what follows from a change. Pure but for what it asks of the kernel, which comes as
/// an argument; time is one too.
///
///     event --> tables, hosts --> evaluation of what may have changed --> holds --> effects
///                                      |
///                                      +--> scope of the filter; when it has grown: attachFilter, and
///                                           filterAttached judges again what the old filter may have kept back
///
/// In each state holds: what was told of a target differs from the last evaluation only while its hold has a deadline;
/// the tables hold facts only of interfaces that the attached scope has, or is about to have.
struct PathStateMachine {
    /// What can happen.
    enum Event {
        /// The kernel told of changes; some are missing when it was overrun.
        case kernel([KernelEvent], isOverrun: Bool)
        /// The filter that an effect asked for is in force.
        case filterAttached
        /// The machine was suspended, or somebody wants everything to be judged anew.
        case resumed
        /// The resolver's files changed; these are the name servers now.
        case resolverChanged(nameServers: [IPAddress])
        /// The resolver answered.
        case resolved(String, Resolution)
        case watch(ReachabilityTarget)
        case unwatch(ReachabilityTarget)
        /// Other rules. Nothing is asked anew of the kernel but what they change.
        case reconfigured(ReachabilityConfiguration)
        /// What was watched since the last time is to be judged; comes once for many `watch`.
        case flush
        /// `nextDeadline` has come.
        case deadline
    }

    /// What is to be done.
    enum Effect: Equatable {
        /// Let this through from now on, then say `filterAttached`.
        case attachFilter(FilterScope)
        /// Ask the resolver.
        case resolve(String)
        case tellPath(NetworkPath)
        case tell(ReachabilityTarget, TargetReachability)
    }

    /// The kernel's clock ticks every few milliseconds, and what it says of a lifetime is rounded down.
    private static let expirySlack = Duration.milliseconds(30)
    /// Destinations of targets that have left, which the filter keeps at most, besides as many as are needed.
    private static let spareDestinations = 64
    private static let firstRetry = Duration.seconds(1)
    private static let longestRetry = Duration.seconds(30)

    /// Evaluations, resynchronizations and errors since the start.
    private(set) var statistics = Statistics()
    private var configuration: ReachabilityConfiguration
    private var nameServers: [IPAddress]
    private let tables = KernelTables()
    private var hosts = HostTable()
    private var pathHold = LossHold<NetworkPath>()
    private var watched: [ReachabilityTarget: LossHold<TargetReachability>] = [:]
    /// What is to be judged: these targets, or everything.
    private var changed: Set<ReachabilityTarget> = []
    private var isEverythingChanged = false
    /// What the filter lets through, or is about to.
    private(set) var attachedScope = FilterScope()
    /// How many destinations mattered when everything was judged last.
    private var judgedDestinations = 0
    /// Interfaces that the filter lets through only from the next `filterAttached` on.
    private var newInterfaces: Set<UInt32> = []
    /// What host names are looked up by: when it changes they may have other addresses.
    private var way: Way?
    private var retry = firstRetry
    private var retryAt: BootClock.Instant?
    /// When a route that was looked at ends without a word of the kernel.
    private var expiresAt: BootClock.Instant?

    struct Statistics: Equatable {
        var evaluations: UInt64 = 0
        var resynchronizations: UInt64 = 0
        var lastError: String?
    }

    private struct Way: Equatable {
        let interface: NetworkInterface?
        let sources: [IPAddress]
        let gateways: [IPAddress]
        let supportsDNS: Bool

        init(_ path: NetworkPath) {
            interface = path.interfaces.first
            sources = path.sources
            gateways = path.gateways
            supportsDNS = path.supportsDNS
        }
    }

    init(configuration: ReachabilityConfiguration, nameServers: [IPAddress]) {
        self.configuration = configuration
        self.nameServers = nameServers
    }

    /// The path as it was told last; nil before the first evaluation.
    var path: NetworkPath? { pathHold.told }

    /// What was told of a target last; nil before that.
    func told(_ target: ReachabilityTarget) -> TargetReachability? { watched[target]?.told }

    var targetCount: Int { watched.count }

    /// When `deadline` is due; nil when nothing is awaited.
    var nextDeadline: BootClock.Instant? {
        var deadlines = watched.values.compactMap(\.deadline)
        deadlines += [pathHold.deadline, hosts.nextDeadline, retryAt, expiresAt].compactMap { $0 }
        return deadlines.min()
    }

    mutating func handle(_ event: Event, at now: BootClock.Instant, asking kernel: any KernelLookup) -> [Effect] {
        var names: [String] = []
        switch event {
        case .kernel(let events, let isOverrun):
            take(events)
            if isOverrun { resynchronize(at: now, asking: kernel) }
        case .filterAttached:
            guardedAgain(asking: kernel, at: now)
        case .resumed:
            resynchronize(at: now, asking: kernel)
            names = hosts.askAll()
        case .resolverChanged(let nameServers):
            self.nameServers = nameServers
            isEverythingChanged = true
            names = hosts.askAll()
        case .resolved(let name, let answer):
            let mayRetry = path?.supportsDNS ?? false
            let outcome = hosts.resolved(name, answer, at: now, mayRetry: mayRetry)
            names = outcome.ask
            mark(.host(name))
        case .watch(let target):
            watched[target] = watched[target] ?? LossHold()
            if case .host(let name) = target { names = hosts.add(name) }
            mark(target)
            // More may come in this turn.
            return names.map { .resolve($0) }
        case .unwatch(let target):
            watched[target] = nil
            changed.remove(target)
            if case .host(let name) = target { hosts.remove(name) }
            // The filter becomes narrower when everything is judged next. What it lets through until then costs one
            // wakeup, and that judges everything: cheaper than to judge all targets whenever somebody leaves.
            if attachedScope.destinations.count > 2 * judgedDestinations + Self.spareDestinations {
                isEverythingChanged = true
            }
            return []
        case .reconfigured(let configuration):
            self.configuration = configuration
            isEverythingChanged = true
        case .flush:
            break
        case .deadline:
            names = hosts.askDue(at: now)
            noteDeadline(at: now, asking: kernel)
        }
        let judged = judge(at: now, asking: kernel)
        return names.map { .resolve($0) } + judged
    }
}

// MARK: - What changed

extension PathStateMachine {
    private mutating func take(_ events: [KernelEvent]) {
        for event in events where tables.apply(event) {
            isEverythingChanged = true
        }
    }

    private mutating func mark(_ target: ReachabilityTarget) {
        if watched[target] != nil { changed.insert(target) }
    }

    /// Reads all links and addresses anew. What cannot be read now is read later; until then the old facts count.
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

    /// The kernel did not answer: it is asked again after a while, later each time.
    private mutating func noteError(_ error: String, at now: BootClock.Instant) {
        statistics.lastError = error
        guard retryAt == nil else { return }
        retryAt = now.advanced(by: retry)
        retry = min(retry * 2, Self.longestRetry)
    }

    /// The new filter is in force: what happened to its new interfaces before that was not told.
    private mutating func guardedAgain(asking kernel: any KernelLookup, at now: BootClock.Instant) {
        defer { newInterfaces = [] }
        do throws(KernelLookupError) {
            if try tables.refresh(newInterfaces, kernel) { isEverythingChanged = true }
        } catch {
            resynchronize(at: now, asking: kernel)
        }
    }

    private mutating func noteDeadline(at now: BootClock.Instant, asking kernel: any KernelLookup) {
        if let retryAt, retryAt <= now { resynchronize(at: now, asking: kernel) }
        let isDue = { (deadline: BootClock.Instant?) in deadline.map { $0 <= now } ?? false }
        if isDue(pathHold.deadline) || isDue(expiresAt) { isEverythingChanged = true }
        for (target, hold) in watched where isDue(hold.deadline) { mark(target) }
    }
}

// MARK: - What follows

extension PathStateMachine {
    private mutating func judge(at now: BootClock.Instant, asking kernel: any KernelLookup) -> [Effect] {
        guard isEverythingChanged || !changed.isEmpty else { return [] }
        let isAll = isEverythingChanged
        let targets = isAll ? Set(watched.keys) : changed
        isEverythingChanged = false
        changed = []
        statistics.evaluations &+= 1

        let zones = tables.awaitedZones
        var evaluation = Evaluation(
            tables: tables, kernel: kernel, overrides: configuration.interfaces, nameServers: nameServers)
        var effects = isAll ? judgePath(&evaluation, at: now) : []
        for target in targets {
            guard let value = judge(target, &evaluation) else { continue }
            // While the kernel is silent what was told is the best that is known.
            guard value.unsatisfiedReason != .kernelError || watched[target]?.told == nil else {
                watched[target]?.interrupt()
                continue
            }
            let told = watched[target]?.offer(value, at: now, holding: configuration.lossHold)
            if let told { effects.append(.tell(target, told)) }
        }
        noteExpiry(evaluation.lifetime, isAll: isAll, at: now)
        if let error = evaluation.lastError { noteError(error, at: now) }
        if isAll, retryAt == nil { retry = Self.firstRetry }
        // What was not judged now still awaits its zones.
        if !isAll { tables.awaitedZones.formUnion(zones) }
        return effects + rescope(evaluation.scope, isAll: isAll, judged: targets)
    }

    private mutating func noteExpiry(_ lifetime: Duration?, isAll: Bool, at now: BootClock.Instant) {
        let end = lifetime.map { now.advanced(by: $0 + Self.expirySlack) }
        expiresAt = isAll ? end : [expiresAt, end].compactMap { $0 }.min()
    }

    private mutating func judgePath(_ evaluation: inout Evaluation, at now: BootClock.Instant) -> [Effect] {
        let path = evaluation.path()
        guard path.unsatisfiedReason != .kernelError || pathHold.told == nil else {
            pathHold.interrupt()
            return []
        }
        var effects: [Effect] = []
        if let told = pathHold.offer(path, at: now, holding: configuration.lossHold) { effects.append(.tellPath(told)) }
        let way = Way(path)
        if way != self.way {
            // Without a name server in reach there is nobody to ask; the names are asked when one is.
            if self.way != nil, path.supportsDNS { effects += hosts.askAll().map { .resolve($0) } }
            self.way = way
        }
        return effects
    }

    /// - Returns: Nil when the target is not known yet: the first answer to a host name is worth waiting for.
    private func judge(_ target: ReachabilityTarget, _ evaluation: inout Evaluation) -> TargetReachability? {
        guard case .host(let name) = target else { return evaluation.reachability(of: target) }
        switch hosts.knowledge(of: name) {
        case .unknown(.resolving): return nil
        case .unknown(let reason): return evaluation.reachability(ofHost: [], orElse: reason)
        case .addresses(let addresses): return evaluation.reachability(ofHost: addresses)
        }
    }

    /// Asks for another filter when the one in force keeps back what matters now, or lets through what does not. What
    /// it may have kept back is judged again once the new one is there.
    private mutating func rescope(_ judged: FilterScope, isAll: Bool, judged targets: Set<ReachabilityTarget>)
        -> [Effect]
    {
        var scope = judged
        if isAll {
            judgedDestinations = judged.destinations.count
        } else {
            scope.formUnion(attachedScope)
            scope.interfaces = judged.interfaces
        }
        guard scope != attachedScope else { return [] }
        if !scope.isSubset(of: attachedScope) {
            newInterfaces.formUnion(scope.interfaces.subtracting(attachedScope.interfaces))
            // The end of a check may have looked like a refresh until now.
            if scope.hasTentativeAddresses, !attachedScope.hasTentativeAddresses {
                newInterfaces.formUnion(tables.interfacesWithUnsettledAddresses)
            }
            if isAll { isEverythingChanged = true } else { changed.formUnion(targets) }
        }
        attachedScope = scope
        return [.attachFilter(scope)]
    }
}

extension FilterScope {
    /// Whether a filter for `other` lets through all that this one asks for.
    func isSubset(of other: FilterScope) -> Bool {
        destinations.isSubset(of: other.destinations) && interfaces.isSubset(of: other.interfaces)
            && (!hasTentativeAddresses || other.hasTentativeAddresses) && (!awaitsLinks || other.awaitsLinks)
    }

    mutating func formUnion(_ other: FilterScope) {
        destinations.formUnion(other.destinations)
        interfaces.formUnion(other.interfaces)
        hasTentativeAddresses = hasTentativeAddresses || other.hasTentativeAddresses
        awaitsLinks = awaitsLinks || other.awaitsLinks
    }
}
