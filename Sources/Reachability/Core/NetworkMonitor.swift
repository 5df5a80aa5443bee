internal import Glibc
package import RunLoop

/// Drives ``PathStateMachine`` on a run loop, for all watches. Not thread-safe; it belongs to the loop's thread.
///
///     EventReader --batch--+
///     FileChangeWatch -----+--> PathStateMachine.handle(event) --asks--> KernelQueries
///     ResumeWatch, timer --+             |
///                                        +--effects--> filter, NameResolver, one timer, WatchRegistry
///
/// A watch gets its first value in a later turn of the loop, never from within the call that began it. The first
/// value for a host name follows its look-up.
package final class NetworkMonitor {
    /// One interest in the path, or in a target. Ends with `cancel`, or with its last reference.
    package final class Watch {
        private var end: (() -> Void)?

        init(end: @escaping () -> Void) {
            self.end = end
        }

        deinit { cancel() }

        /// Ends it: its body isn't called any more. Idempotent.
        package func cancel() {
            let end = end
            self.end = nil
            end?()
        }
    }

    /// Maximum targets of one monitor. Each costs one look-up per evaluation, and four instructions of the filter.
    package static let maximumTargets = 1_024

    /// Maximum filter changes for one event. Each needs an interface that was unknown before.
    private static let maximumFilterRounds = 8
    private static let timerTolerance = Duration.milliseconds(20)

    private let runLoop: RunLoop
    private let kernel: KernelQueries
    private let events: EventSocket
    private let resolver: NameResolver
    private let watches = WatchRegistry()
    private let resolverFile: String
    private var nameServers: [IPAddress]
    private var configuration: ReachabilityConfiguration
    private var machine: PathStateMachine
    /// The counters of the driver.
    private var counters = MonitorStatus()
    private var reader: EventReader?
    private var fileWatch: FileChangeWatch?
    private var resumeWatch: ResumeWatch?
    /// Filter changes for the current event.
    private var filterRounds = 0
    private lazy var driver = StateMachineDriver<PathStateMachine.Event>(
        runLoop: runLoop, tolerance: Self.timerTolerance, wakingFromSuspend: false,
        // A loss that is due may have healed in a pause of the reader.
        willReachDeadline: { [unowned self] in reader?.drain() }, deadlineReached: .deadline,
        nextDeadline: { [unowned self] in isClosed ? nil : machine.nextDeadline },
        apply: { [unowned self] in apply($0) },
        settled: { [unowned self] in
            filterRounds = 0
            notifyAll()
        })
    private var isFlushEnqueued = false
    private var isClosed = false
    /// Called when the machine has resumed from suspend, after everything was evaluated again.
    package var onResume: (() -> Void)?

    /// - Throws: The kernel refuses a netlink socket, or a descriptor.
    package init(runLoop: RunLoop, configuration: ReachabilityConfiguration = .init()) throws(ReachabilityError) {
        self.runLoop = runLoop
        self.configuration = configuration
        resolverFile = configuration.resolverFile
        kernel = try KernelQueries()
        events = try EventSocket()
        resolver = try NameResolver(runLoop: runLoop)
        nameServers = ResolverConfiguration(path: resolverFile).nameServers
        machine = PathStateMachine(configuration: configuration, nameServers: nameServers)
        // Attach the filter before joining the groups, so that no storm arrives unfiltered. `resumed` below reads
        // everything.
        attachFilter(FilterScope())
        do throws(ReachabilityError) {
            try events.join()
            try watchSources()
        } catch {
            close()
            throw error
        }
        handle(.resumed)
    }

    private func watchSources() throws(ReachabilityError) {
        reader = try EventReader(runLoop: runLoop, socket: events) { [weak self] in self?.take($0) ?? false }
        // A user has few inotify descriptors, shared by all programs. The monitor also works without one.
        do throws(ReachabilityError) {
            fileWatch = try FileChangeWatch(
                runLoop: runLoop, paths: [resolverFile, configuration.hostsFile]
            ) { [weak self] in self?.readResolverFile() }
        } catch {
            counters.lastError = "\(error.message): the resolver's files are read when the network changes"
        }
        resumeWatch = try ResumeWatch(runLoop: runLoop) { [weak self] slept in
            self?.reevaluate()
            if slept > .zero { self?.onResume?() }
        }
    }

    // MARK: - Asking

    /// The network namespace that is monitored; nil if the kernel doesn't say.
    package var networkNamespace: UInt64? { NetworkNamespace.cookie(of: events.descriptor) }

    /// The path reported last; known from the start.
    package var path: NetworkPath {
        machine.path ?? NetworkPath(status: .unsatisfied, unsatisfiedReason: .kernelError)
    }

    /// The value of a watched target that was reported last; nil before the first.
    package func reachability(of target: ReachabilityTarget, forUser user: UInt32? = nil) -> TargetReachability? {
        machine.reported(Self.watched(target, forUser: user))
    }

    /// When the addresses of a watched host name were looked up. Nil for other targets, and before the first answer.
    package func resolvedAt(_ target: ReachabilityTarget) -> BootClock.Instant? { machine.resolvedAt(target) }

    /// Judges the path now: reads the kernel's queued messages, and includes a loss that isn't reported yet.
    /// - Parameter user: for whose packets; nil for this process's.
    package func currentPath(forUser user: UInt32? = nil) -> NetworkPath {
        guard !isClosed else { return path }
        reader?.drain()
        if let user = Self.other(user) { return machine.path(forUser: user, asking: kernel) }
        handle(.asked([], path: true))
        return machine.currentPath ?? path
    }

    /// Judges watched targets now: reads the kernel's queued messages, and includes losses that aren't reported yet.
    /// - Parameter user: for whose packets; nil for this process's.
    /// - Returns: Nil for a target that isn't watched for this user, or whose name was never looked up.
    package func current(_ targets: [ReachabilityTarget], forUser user: UInt32? = nil) -> [TargetReachability?] {
        let watched = targets.map { Self.watched($0, forUser: user) }
        if !isClosed {
            reader?.drain()
            handle(.asked(watched, path: false))
        }
        return watched.map { machine.current($0) }
    }

    private static func watched(_ target: ReachabilityTarget, forUser user: UInt32?) -> WatchedTarget {
        WatchedTarget(target, forUser: other(user))
    }

    /// Another user than this process's, if any.
    private static func other(_ user: UInt32?) -> UInt32? { user == getuid() ? nil : user }

    /// The monitor's status.
    package var status: MonitorStatus {
        var status = counters
        status.wantedFilterLevel = configuration.filterLevel
        status.resynchronizations = machine.statistics.resynchronizations
        status.interruptedDumps = kernel.interruptedDumps
        status.evaluations = machine.statistics.evaluations
        status.throttles = reader?.rests ?? 0
        status.lookups = resolver.lookups
        status.targets = machine.targetCount
        status.lastError =
            machine.statistics.lastError ?? reader?.lastError ?? counters.lastError ?? fileWatch?.problem?.message
        return status
    }

    /// Applies another configuration, and reports the resulting changes. The paths of the files can't change.
    package func reconfigure(_ configuration: ReachabilityConfiguration) {
        guard !isClosed else { return }
        let isOtherLevel = configuration.filterLevel != self.configuration.filterLevel
        self.configuration = configuration
        handle(.reconfigured(configuration))
        // Attach a filter of the new level, then read everything again: the old one may have dropped messages.
        if isOtherLevel { attachFilter(machine.attachedScope) }
        if isOtherLevel { handle(.resumed) }
    }

    // MARK: - Watching

    /// Calls `body` with the path now and at each change, until the watch ends.
    package func watchPath(_ body: @escaping (NetworkPath) -> Void) -> Watch {
        defer { flushLater() }
        return Watch(end: watches.add(body))
    }

    /// Calls `body` with the target's reachability once it is known, and at each change, until the watch ends. It is
    /// not told of addresses of a host name that are older than 30 s: they are looked up again first, unless that
    /// failed in the last 30 s.
    /// - Parameter user: for whose packets; nil for this process's.
    /// - Throws: `limit` when ``maximumTargets`` are watched; `closed`.
    package func watch(
        _ target: ReachabilityTarget, forUser user: UInt32? = nil, _ body: @escaping (TargetReachability) -> Void
    ) throws(ReachabilityError) -> Watch {
        let watched = Self.watched(target, forUser: user)
        guard !isClosed else { throw ReachabilityError(.closed, "the monitor was closed") }
        if !watches.isWatched(watched) {
            guard watches.targetCount < Self.maximumTargets else {
                throw ReachabilityError(
                    .limit, "\(Self.maximumTargets) targets are watched, which is the most; cancel a watch first")
            }
            handle(.watch(watched))
        }
        handle(.refresh([target]))
        let end = watches.add(watched, body) { [weak self] in
            guard let self, !isClosed else { return }
            handle(.unwatch(watched))
            flushLater()
        }
        flushLater()
        return Watch(end: end)
    }

    /// Looks up the watched host names among `targets` whose addresses are older than 30 s. Their watches are notified of
    /// changes.
    package func refresh(_ targets: [ReachabilityTarget]) {
        guard !isClosed else { return }
        handle(.refresh(targets))
    }

    /// Once in this turn, evaluates new targets and notifies new watches of known values.
    private func flushLater() {
        guard !isFlushEnqueued, !isClosed else { return }
        isFlushEnqueued = true
        runLoop.enqueue { [weak self] in self?.flush() }
    }

    private func flush() {
        isFlushEnqueued = false
        guard !isClosed else { return }
        handle(.flush)
        let known = watches.watchedTargets.filter { !machine.isAwaited($0.target, at: runLoop.now) }
        watches.notifyNew(machine.path, known.compactMap { target in machine.reported(target).map { (target, $0) } })
        notifyAll()
    }

    private func notifyAll() {
        // A body may release the monitor.
        watches.notifyAll { [weak self] target in
            self.map { $0.machine.isAwaited(target.target, at: $0.runLoop.now) } ?? false
        }
    }

    // MARK: - What happens

    /// - Returns: Whether a result changed.
    private func take(_ batch: EventSocket.Batch) -> Bool {
        let changes = machine.statistics.changes
        counters.messages &+= UInt64(batch.messages)
        counters.foreignMessages &+= UInt64(batch.foreign)
        if batch.isOverrun { counters.overruns &+= 1 }
        if let failure = batch.failure {
            counters.lastError =
                ReachabilityError(call: "recvfrom", errno: failure, advice: "events are missing").message
        }
        if !batch.events.isEmpty || batch.isOverrun { handle(.kernel(batch.events, isOverrun: batch.isOverrun)) }
        if fileWatch == nil { readResolverFile() }
        return machine.statistics.changes != changes
    }

    private func readResolverFile() {
        let nameServers = ResolverConfiguration(path: resolverFile).nameServers
        // With a file watch, the hosts file may have changed, which the name servers don't show.
        guard fileWatch != nil || nameServers != self.nameServers else { return }
        self.nameServers = nameServers
        handle(.resolverChanged(nameServers: nameServers))
    }

    /// Evaluates everything again: the machine has resumed, or something changed that the kernel doesn't report.
    package func reevaluate() {
        guard !isClosed else { return }
        counters.resumes &+= 1
        handle(.resumed)
    }

    private func handle(_ event: PathStateMachine.Event) { driver.submit(event) }

    private func apply(_ event: PathStateMachine.Event) {
        guard !isClosed else { return }
        for effect in machine.handle(event, at: runLoop.now, asking: kernel) {
            switch effect {
            case .attachFilter(let scope):
                attachFilter(scope)
                filterRounds += 1
                if filterRounds <= Self.maximumFilterRounds { driver.submitNext(.filterAttached) }
            case .resolve(let name):
                resolver.resolve(name) { [weak self] answer in
                    self?.handle(.resolved(name, answer))
                    // For the watches that waited for it, if it changes nothing.
                    self?.flushLater()
                }
            case .reportPath, .report:
                watches.enqueue(effect)
            }
        }
    }

    private func attachFilter(_ scope: FilterScope) {
        do throws(ReachabilityError) {
            let filter = try FilterAttachment.attach(scope, wanted: configuration.filterLevel, to: events.descriptor)
            counters.filterLevel = filter.level
            counters.filterInstructions = filter.instructions
            counters.filterWhy = filter.why
        } catch {
            // The old filter stays in force, without the new scope.
            counters.filterWhy = error.message
            counters.lastError = error.message
        }
    }

    // MARK: - Ending

    /// Ends every watch. The descriptors are closed with the object. Idempotent.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        driver.cancelTimer()
        reader?.close()
        fileWatch?.close()
        resumeWatch?.close()
        resolver.close()
        watches.removeAll()
    }

    deinit { close() }
}
