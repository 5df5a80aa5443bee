package import RunLoop

/// The monitor itself, on a run loop: one for all that watch. Not thread-safe; it belongs to the loop's thread.
///
///     EventSocket --batch--> EventThrottle
///                  |
///                  v                  asks
///     PathStateMachine.handle(event) -----> KernelQueries
///                  |
///                  +--effects--> filter, NameResolver, one timer, the bodies of the watches
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

        /// Ends it: nothing is told after this. Idempotent.
        package func cancel() {
            let end = end
            self.end = nil
            end?()
        }
    }

    /// Targets that one monitor watches at most. Each takes a look-up an evaluation and four instructions of the filter.
    package static let maximumTargets = 1_024

    /// What the wakeups of its sources are counted as.
    package static let wakeupCauses = ["netlink", "resolver", "resume", "name-lookup"]

    /// Datagrams that are taken in one turn; the rest is taken in the next.
    private static let datagramsPerTurn = 512
    /// How often the filter may grow within one change. Each time needs an interface that was not known before.
    private static let maximumFilterRounds = 8
    private static let timerTolerance = Duration.milliseconds(20)

    private let runLoop: RunLoop
    private let kernel: KernelQueries
    private let events: EventSocket
    private let resolver: NameResolver
    private let resolverFile: String
    private var nameServers: [IPAddress]
    private var configuration: ReachabilityConfiguration
    private var machine: PathStateMachine
    private var throttle = EventThrottle()
    private var filter = AttachedFilter(level: 0, instructions: 0, why: nil)
    private var counts = Counts()
    private var eventSource: ReadinessSource?
    private var fileWatch: FileChangeWatch?
    private var resumeWatch: ResumeWatch?
    private var timer: (timer: Timer, deadline: BootClock.Instant)?
    private var restTimer: Timer?
    private var isFlushEnqueued = false
    private var untold: [PathStateMachine.Effect] = []
    private var isTelling = false
    private var isClosed = false
    private var pathWatches = WatchList<NetworkPath>()
    private var targetWatches: [ReachabilityTarget: WatchList<TargetReachability>] = [:]

    private struct Counts {
        var messages: UInt64 = 0
        var foreignMessages: UInt64 = 0
        var overruns: UInt64 = 0
        var resumes: UInt64 = 0
        var lastError: String?
    }

    /// - Throws: The kernel refuses a netlink socket, or a descriptor.
    package init(runLoop: RunLoop, configuration: ReachabilityConfiguration = .init()) throws(ReachabilityError) {
        self.runLoop = runLoop
        self.configuration = configuration
        resolverFile = configuration.resolverFile
        kernel = try KernelQueries()
        events = try EventSocket()
        resolver = try NameResolver(runLoop: runLoop)
        nameServers = ResolverConfiguration(path: configuration.resolverFile).nameServers
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
        do throws(RunLoopError) {
            eventSource = try runLoop.watch(events.descriptor, for: .read, cause: .init("netlink")) {
                [weak self] _ in self?.receive()
            }
        } catch {
            throw ReachabilityError(call: error.operation, errno: error.errno, advice: "raise the limit on descriptors")
        }
        // A user has few inotify descriptors and shares them with every program: without one the monitor still works.
        do throws(ReachabilityError) {
            fileWatch = try FileChangeWatch(
                runLoop: runLoop, paths: [configuration.resolverFile, configuration.hostsFile]
            ) { [weak self] in self?.readResolverFile() }
        } catch {
            counts.lastError = "\(error.message): the resolver's files are read when the network changes"
        }
        resumeWatch = try ResumeWatch(runLoop: runLoop) { [weak self] _ in self?.reevaluate() }
    }

    // MARK: - Asking

    /// The path as it was told last; the first is there at once.
    package var path: NetworkPath {
        machine.path ?? NetworkPath(status: .unsatisfied, unsatisfiedReason: .kernelError)
    }

    /// How it is doing.
    package var status: MonitorStatus {
        var status = MonitorStatus()
        status.filterLevel = filter.level
        status.wantedFilterLevel = configuration.filterLevel
        status.filterWhy = filter.why
        status.filterInstructions = filter.instructions
        status.messages = counts.messages
        status.foreignMessages = counts.foreignMessages
        status.overruns = counts.overruns
        status.resynchronizations = machine.statistics.resynchronizations
        status.interruptedDumps = kernel.interruptedDumps
        status.evaluations = machine.statistics.evaluations
        status.throttles = throttle.rests
        status.resumes = counts.resumes
        status.lookups = resolver.lookups
        status.targets = machine.targetCount
        status.lastError = machine.statistics.lastError ?? counts.lastError ?? fileWatch?.problem?.message
        return status
    }

    /// Takes another configuration; what changes by it is told. The files stay what they were.
    package func reconfigure(_ configuration: ReachabilityConfiguration) {
        guard !isClosed else { return }
        let isOtherLevel = configuration.filterLevel != self.configuration.filterLevel
        self.configuration = configuration
        handle(.reconfigured(configuration))
        // Asks for everything again: a lower level may have been kept for want of memory that is there now.
        if isOtherLevel { attachFilter(machine.attachedScope) }
        if isOtherLevel { handle(.resumed) }
    }

    // MARK: - Watching

    /// Calls `body` with the path now and at each change, until the watch ends.
    package func watchPath(_ body: @escaping (NetworkPath) -> Void) -> Watch {
        let id = pathWatches.add(body)
        flushLater()
        return Watch { [weak self] in
            let body = self?.pathWatches.remove(id)
            withExtendedLifetime(body) {}
        }
    }

    /// Calls `body` with the target's reachability once it is known, and at each change, until the watch ends.
    /// - Throws: `limit` when ``maximumTargets`` are watched; `closed`.
    package func watch(
        _ target: ReachabilityTarget, _ body: @escaping (TargetReachability) -> Void
    ) throws(ReachabilityError) -> Watch {
        guard !isClosed else { throw ReachabilityError(.closed, "the monitor was closed") }
        if targetWatches[target] == nil {
            guard targetWatches.count < Self.maximumTargets else {
                throw ReachabilityError(
                    .limit, "\(Self.maximumTargets) targets are watched, which is the most; cancel a watch first")
            }
            handle(.watch(target))
        }
        let id = targetWatches[target, default: WatchList()].add(body)
        flushLater()
        return Watch { [weak self] in self?.endWatch(id, of: target) }
    }

    private func endWatch(_ id: UInt64, of target: ReachabilityTarget) {
        let body = targetWatches[target]?.remove(id)
        defer { withExtendedLifetime(body) {} }
        guard targetWatches[target]?.isEmpty ?? false else { return }
        targetWatches[target] = nil
        guard !isClosed else { return }
        handle(.unwatch(target))
        flushLater()
    }

    /// Judges what is new, and tells new watches what is known, once in this turn.
    private func flushLater() {
        guard !isFlushEnqueued, !isClosed else { return }
        isFlushEnqueued = true
        runLoop.enqueue { [weak self] in self?.flush() }
    }

    private func flush() {
        isFlushEnqueued = false
        guard !isClosed else { return }
        handle(.flush)
        let known = targetWatches.keys.compactMap { target in machine.told(target).map { (target, $0) } }
        // What a body changes is told after this, or a watch would get the older value last.
        isTelling = true
        if let path = machine.path { tell(path: path, onlyNew: true) }
        for (target, value) in known { tell(target, value, onlyNew: true) }
        isTelling = false
        tellAll()
    }

    // MARK: - What happens

    private func receive() {
        let batch = events.receive(maximumDatagrams: Self.datagramsPerTurn)
        counts.messages &+= UInt64(batch.messages)
        counts.foreignMessages &+= UInt64(batch.foreign)
        if batch.isOverrun { counts.overruns &+= 1 }
        if let failure = batch.failure {
            counts.lastError = ReachabilityError(call: "recvfrom", errno: failure, advice: "events are missing").message
        }
        if !batch.events.isEmpty || batch.isOverrun { handle(.kernel(batch.events, isOverrun: batch.isOverrun)) }
        if fileWatch == nil { readResolverFile() }
        if let pause = throttle.handledBatch(at: runLoop.now) { rest(for: pause) }
    }

    /// Leaves the event socket alone for a while; the kernel keeps what comes.
    private func rest(for pause: Duration) {
        guard restTimer == nil, let eventSource else { return }
        do throws(RunLoopError) {
            try eventSource.update([])
        } catch {
            counts.lastError = error.description
            return
        }
        restTimer = runLoop.schedule(
            at: runLoop.now.advanced(by: pause), tolerance: pause / 10, wakingFromSuspend: false
        ) { [weak self] in
            self?.endRest()
        }
    }

    private func endRest() {
        restTimer = nil
        do throws(RunLoopError) {
            try eventSource?.update(.read)
        } catch {
            counts.lastError = error.description
            // Without the events nothing is told any more: try again rather than fall silent.
            restTimer = runLoop.schedule(
                at: runLoop.now.advanced(by: EventThrottle.longestRest), tolerance: .zero, wakingFromSuspend: false
            ) { [weak self] in self?.endRest() }
        }
    }

    private func readResolverFile() {
        let nameServers = ResolverConfiguration(path: resolverFile).nameServers
        // A change of the hosts file is not seen in the name servers.
        guard fileWatch != nil || nameServers != self.nameServers else { return }
        self.nameServers = nameServers
        handle(.resolverChanged(nameServers: nameServers))
    }

    /// Judges everything anew: the machine has resumed, or something that the kernel does not tell has changed.
    package func reevaluate() {
        guard !isClosed else { return }
        counts.resumes &+= 1
        handle(.resumed)
    }

    private func handle(_ event: PathStateMachine.Event) {
        var next: PathStateMachine.Event? = event
        var rounds = 0
        while let event = next, !isClosed {
            next = nil
            for effect in machine.handle(event, at: runLoop.now, asking: kernel) {
                switch effect {
                case .attachFilter(let scope):
                    attachFilter(scope)
                    rounds += 1
                    if rounds <= Self.maximumFilterRounds { next = .filterAttached }
                case .resolve(let name):
                    resolver.resolve(name) { [weak self] answer in self?.handle(.resolved(name, answer)) }
                case .tellPath, .tell:
                    untold.append(effect)
                }
            }
        }
        scheduleTimer()
        tellAll()
    }

    private func attachFilter(_ scope: FilterScope) {
        do throws(ReachabilityError) {
            filter = try FilterAttachment.attach(scope, wanted: configuration.filterLevel, to: events.descriptor)
        } catch {
            // The old one is still in force, and knows nothing of what is new.
            filter = AttachedFilter(level: filter.level, instructions: filter.instructions, why: error.message)
            counts.lastError = error.message
        }
    }

    private func scheduleTimer() {
        let deadline = isClosed ? nil : machine.nextDeadline
        guard deadline != timer?.deadline else { return }
        if let timer { runLoop.cancel(timer.timer) }
        timer = deadline.map { deadline in
            let timer = runLoop.schedule(at: deadline, tolerance: Self.timerTolerance, wakingFromSuspend: false) {
                [weak self] in
                self?.timer = nil
                self?.handle(.deadline)
            }
            return (timer, deadline)
        }
    }

    // MARK: - Telling

    /// A body may change anything here, and what follows from that is told after what is being told.
    private func tellAll() {
        guard !isTelling else { return }
        isTelling = true
        defer { isTelling = false }
        while !untold.isEmpty {
            switch untold.removeFirst() {
            case .tellPath(let path): tell(path: path, onlyNew: false)
            case .tell(let target, let value): tell(target, value, onlyNew: false)
            case .attachFilter, .resolve: break
            }
        }
    }

    private func tell(path: NetworkPath, onlyNew: Bool) {
        for id in pathWatches.listeners(onlyNew: onlyNew) {
            let body = pathWatches.body(id)
            body?(path)
        }
    }

    private func tell(_ target: ReachabilityTarget, _ value: TargetReachability, onlyNew: Bool) {
        for id in targetWatches[target]?.listeners(onlyNew: onlyNew) ?? [] {
            let body = targetWatches[target]?.body(id)
            body?(value)
        }
    }

    // MARK: - Ending

    /// Ends every watch. The descriptors go with the object. Idempotent.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        scheduleTimer()
        if let restTimer { runLoop.cancel(restTimer) }
        restTimer = nil
        eventSource?.cancel()
        eventSource = nil
        fileWatch?.close()
        resumeWatch?.close()
        resolver.close()
        let ended = (pathWatches, targetWatches)
        pathWatches = WatchList()
        targetWatches = [:]
        withExtendedLifetime(ended) {}
    }

    deinit { close() }
}
