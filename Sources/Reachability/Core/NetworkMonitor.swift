package import RunLoop

/// The driver of ``PathStateMachine`` on a run loop: one for all that watch. Not thread-safe; it belongs to the loop's
/// thread.
///
///     EventReader --batch--+
///     FileChangeWatch -----+--> PathStateMachine.handle(event) --asks--> KernelQueries
///     ResumeWatch, timer --+             |
///                                        +--effects--> filter, NameResolver, one timer, WatchRegistry
///
/// The first value of a watch comes in a later turn of the loop, never from within the call that began it; that of a
/// host name comes once the name was looked up.
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

    /// Maximum targets of one monitor. Each takes one look-up an evaluation, and four instructions of the filter.
    package static let maximumTargets = 1_024

    /// How often the filter may grow within one change. Each time needs an interface that was not known before.
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
    /// What only the driver can count.
    private var counters = MonitorStatus()
    private var reader: EventReader?
    private var fileWatch: FileChangeWatch?
    private var resumeWatch: ResumeWatch?
    /// How often the filter has grown within the change at hand.
    private var filterRounds = 0
    private lazy var driver = StateMachineDriver<PathStateMachine.Event>(
        runLoop: runLoop, tolerance: Self.timerTolerance, wakingFromSuspend: false, deadlineReached: .deadline,
        nextDeadline: { [unowned self] in isClosed ? nil : machine.nextDeadline },
        apply: { [unowned self] in apply($0) },
        settled: { [unowned self] in
            filterRounds = 0
            watches.notifyAll()
        })
    private var isFlushEnqueued = false
    private var isClosed = false

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
        // Before the groups are joined, so that no storm comes in unfiltered; what is missed until then is read after.
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
        reader = try EventReader(runLoop: runLoop, socket: events) { [weak self] in self?.take($0) }
        // A user has few inotify descriptors and shares them with every program: without one the monitor still works.
        do throws(ReachabilityError) {
            fileWatch = try FileChangeWatch(
                runLoop: runLoop, paths: [resolverFile, configuration.hostsFile]
            ) { [weak self] in self?.readResolverFile() }
        } catch {
            counters.lastError = "\(error.message): the resolver's files are read when the network changes"
        }
        resumeWatch = try ResumeWatch(runLoop: runLoop) { [weak self] _ in self?.reevaluate() }
    }

    // MARK: - Asking

    /// The path reported last; the first is there at once.
    package var path: NetworkPath {
        machine.path ?? NetworkPath(status: .unsatisfied, unsatisfiedReason: .kernelError)
    }

    /// How it is doing.
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

    /// Takes another configuration and reports what changes by it. The files stay the same.
    package func reconfigure(_ configuration: ReachabilityConfiguration) {
        guard !isClosed else { return }
        let isOtherLevel = configuration.filterLevel != self.configuration.filterLevel
        self.configuration = configuration
        handle(.reconfigured(configuration))
        // Read everything again: a lower level may have been kept for lack of memory that is there now.
        if isOtherLevel { attachFilter(machine.attachedScope) }
        if isOtherLevel { handle(.resumed) }
    }

    // MARK: - Watching

    /// Calls `body` with the path now and at each change, until the watch ends.
    package func watchPath(_ body: @escaping (NetworkPath) -> Void) -> Watch {
        defer { flushLater() }
        return Watch(end: watches.add(body))
    }

    /// Calls `body` with the target's reachability once it is known, and at each change, until the watch ends.
    /// - Throws: `limit` when ``maximumTargets`` are watched; `closed`.
    package func watch(
        _ target: ReachabilityTarget, _ body: @escaping (TargetReachability) -> Void
    ) throws(ReachabilityError) -> Watch {
        guard !isClosed else { throw ReachabilityError(.closed, "the monitor was closed") }
        if !watches.isWatched(target) {
            guard watches.targetCount < Self.maximumTargets else {
                throw ReachabilityError(
                    .limit, "\(Self.maximumTargets) targets are watched, which is the most; cancel a watch first")
            }
            handle(.watch(target))
        }
        let end = watches.add(target, body) { [weak self] in
            guard let self, !isClosed else { return }
            handle(.unwatch(target))
            flushLater()
        }
        flushLater()
        return Watch(end: end)
    }

    /// Judges new targets, and reports to new watches what is known, once in this turn.
    private func flushLater() {
        guard !isFlushEnqueued, !isClosed else { return }
        isFlushEnqueued = true
        runLoop.enqueue { [weak self] in self?.flush() }
    }

    private func flush() {
        isFlushEnqueued = false
        guard !isClosed else { return }
        handle(.flush)
        watches.notifyNew(
            machine.path, watches.watchedTargets.compactMap { target in machine.reported(target).map { (target, $0) } })
    }

    // MARK: - What happens

    private func take(_ batch: EventSocket.Batch) {
        counters.messages &+= UInt64(batch.messages)
        counters.foreignMessages &+= UInt64(batch.foreign)
        if batch.isOverrun { counters.overruns &+= 1 }
        if let failure = batch.failure {
            counters.lastError =
                ReachabilityError(call: "recvfrom", errno: failure, advice: "events are missing").message
        }
        if !batch.events.isEmpty || batch.isOverrun { handle(.kernel(batch.events, isOverrun: batch.isOverrun)) }
        if fileWatch == nil { readResolverFile() }
    }

    private func readResolverFile() {
        let nameServers = ResolverConfiguration(path: resolverFile).nameServers
        // A change of the hosts file is not seen in the name servers.
        guard fileWatch != nil || nameServers != self.nameServers else { return }
        self.nameServers = nameServers
        handle(.resolverChanged(nameServers: nameServers))
    }

    /// Judges everything again: the machine has resumed, or something changed that the kernel does not report.
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
                resolver.resolve(name) { [weak self] answer in self?.handle(.resolved(name, answer)) }
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
            // The old one is still in force, and knows nothing of the new scope.
            counters.filterWhy = error.message
            counters.lastError = error.message
        }
    }

    // MARK: - Ending

    /// Ends every watch. The descriptors go with the object. Idempotent.
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
