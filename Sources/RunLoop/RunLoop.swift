internal import CRingwakeLinux
internal import Glibc

/// A single-threaded event loop on epoll: readiness of descriptors, timers with tolerance, signals and children.
///
///     let loop = try RunLoop()
///     let source = try loop.watch(socket, for: .read, cause: .init("control")) { _ in readFrom(socket) }
///     loop.schedule(at: loop.now.advanced(by: .seconds(5)), tolerance: .seconds(1)) { loop.stop() }
///     loop.run()
///
/// One turn: get the ready events from the kernel (and sleep only if there is nothing to do), call the bodies of ready
/// descriptors, then of due timers, then enqueued bodies. A body may add, change and cancel any source. All calls must
/// be on the thread that runs the loop.
package final class RunLoop {
    /// Maximum events per turn. The rest is handled in the next turn.
    static let maximumEventsPerTurn = 128
    /// Maximum enqueued bodies per turn. The rest runs in the next turn, after the ready descriptors.
    static let maximumBodiesPerTurn = 1_024

    /// Time at the start of this turn.
    package private(set) var now: BootClock.Instant
    /// Number of wakeups, by cause.
    package private(set) var statistics = WakeupStatistics()

    /// Called when the kernel refuses to start a process: the limit of the user or of the control group is reached.
    package var onProcessRefused: (() -> Void)?

    let signals = SignalTable()
    let signalledChildren = SignalledChildren()
    private let epoll: Int32
    private let timerDescriptor: TimerDescriptor
    private let events: UnsafeMutablePointer<epoll_event>
    private var sources = SourceTable()
    private var timers = TimerQueue()
    /// Timers that don't wake a suspended machine, and their kernel timer, which is created with the first of them.
    private var quietTimers = TimerQueue()
    private var quietDescriptor: TimerDescriptor?
    private var enqueued: [() -> Void] = []
    private var postponed: [() -> Void] = []
    /// The number of this turn.
    package private(set) var turnNumber: UInt64 = 0
    private var isInTurn = false
    private var isStopRequested = false

    /// Whether timers wake a suspended machine.
    package var wakesFromSuspend: Bool { timerDescriptor.wakesFromSuspend }

    /// - Parameter wakingFromSuspend: timers wake a suspended machine if the process has CAP_WAKE_ALARM; otherwise they
    ///   fire when it resumes. The capability must not be dropped later.
    /// - Throws: EMFILE, ENFILE or ENOMEM if a descriptor can't be created.
    package init(wakingFromSuspend: Bool = true) throws(RunLoopError) {
        timerDescriptor = try TimerDescriptor(wakingFromSuspend: wakingFromSuspend)
        epoll = ringwake_epoll_create()
        events = .allocate(capacity: Self.maximumEventsPerTurn)
        now = BootClock.now()
        guard epoll >= 0 else { throw RunLoopError(operation: "epoll_create1", errno: errno) }
        let timer = timerDescriptor
        _ = try add(timer.descriptor, interest: .read, cause: .timer, isOwned: false) { _ in timer.acknowledge() }
    }

    deinit {
        for source in sources.all where source.isOwned { close(source.descriptor) }
        if epoll >= 0 { close(epoll) }
        events.deallocate()
    }

    /// Updates ``now`` within a turn, after work that took long.
    @discardableResult
    package func refreshNow() -> BootClock.Instant {
        now = BootClock.now()
        return now
    }

    // MARK: - Descriptors

    /// Calls `body` in each turn in which `descriptor` is ready (level-triggered), until the source is cancelled.
    ///
    /// The caller owns the descriptor, and has to cancel the source before closing it.
    /// - Parameter cause: the cause by which wakeups are counted.
    /// - Throws: the kernel's error: EBADF, EPERM (a regular file), EEXIST (already watched), ENOSPC.
    package func watch(
        _ descriptor: Int32, for interest: Interest, cause: WakeupCause, _ body: @escaping (Readiness) -> Void
    ) throws(RunLoopError) -> ReadinessSource {
        let token = try add(descriptor, interest: interest, cause: cause, isOwned: false, body)
        return ReadinessSource(loop: self, token: token)
    }

    func add(
        _ descriptor: Int32, interest: Interest, cause: WakeupCause, isOwned: Bool,
        _ body: @escaping (Readiness) -> Void
    ) throws(RunLoopError) -> SourceToken {
        let token = sources.insert(
            Source(descriptor: descriptor, isOwned: isOwned, cause: cause, interest: interest, body: body))
        if !interest.isEmpty {
            do throws(RunLoopError) {
                try control(EPOLL_CTL_ADD, descriptor, interest, token)
            } catch {
                sources.remove(token)
                throw error
            }
        }
        return token
    }

    func update(_ token: SourceToken, to interest: Interest) throws(RunLoopError) {
        guard let source = sources[token], source.interest != interest else { return }
        // Remove a source without interest from the set: the kernel reports hang-ups and errors for every member.
        let operation =
            source.interest.isEmpty ? EPOLL_CTL_ADD : interest.isEmpty ? EPOLL_CTL_DEL : EPOLL_CTL_MOD
        try control(operation, source.descriptor, interest, token)
        sources.setInterest(interest, of: token)
    }

    func cancel(_ token: SourceToken) {
        guard let source = sources.remove(token) else { return }
        if !source.interest.isEmpty {
            let result = ringwake_epoll_control(epoll, EPOLL_CTL_DEL, source.descriptor, 0, 0)
            assert(result == 0, "a source must be cancelled before its descriptor is closed")
        }
        if source.isOwned { close(source.descriptor) }
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, _ interest: Interest, _ token: SourceToken
    ) throws(RunLoopError) {
        var mask: UInt32 = 0
        if interest.contains(.read) { mask |= RINGWAKE_EPOLL_IN }
        if interest.contains(.write) { mask |= RINGWAKE_EPOLL_OUT }
        guard ringwake_epoll_control(epoll, operation, descriptor, mask, token.rawValue) == 0 else {
            throw RunLoopError(operation: "epoll_ctl", errno: errno)
        }
    }

    // MARK: - Timers and work

    /// Runs `body` once, between `deadline` and `deadline + tolerance`.
    ///
    /// More tolerance lets more timers share a wakeup. When the loop is awake, it fires every timer whose deadline has
    /// passed. Timers that fire together do so in the order of their deadlines.
    /// - Parameters:
    ///   - tolerance: how late the timer may fire. A negative value counts as zero.
    ///   - wakingFromSuspend: whether to wake a suspended machine, if the loop can. Otherwise the timer fires after the
    ///     machine has resumed.
    @discardableResult
    package func schedule(
        at deadline: BootClock.Instant, tolerance: Duration, wakingFromSuspend: Bool = true,
        _ body: @escaping () -> Void
    ) -> Timer {
        let latest = deadline.advanced(by: max(.zero, tolerance))
        guard !wakingFromSuspend, hasQuietTimers() else {
            return timers.insert(deadline: deadline.nanoseconds, latest: latest.nanoseconds, body)
        }
        var timer = quietTimers.insert(deadline: deadline.nanoseconds, latest: latest.nanoseconds, body)
        timer.isQuiet = true
        return timer
    }

    /// False if the loop's timers don't wake the machine anyway, or if there is no descriptor for a second kernel
    /// timer: waking the machine is better than losing a timer.
    private func hasQuietTimers() -> Bool {
        if quietDescriptor != nil { return true }
        guard timerDescriptor.wakesFromSuspend else { return false }
        do throws(RunLoopError) {
            let timer = try TimerDescriptor(wakingFromSuspend: false)
            _ = try add(timer.descriptor, interest: .read, cause: .timer, isOwned: false) { _ in timer.acknowledge() }
            quietDescriptor = timer
            return true
        } catch {
            return false
        }
    }

    private func take(_ timer: Timer) -> (() -> Void)? {
        timer.isQuiet ? quietTimers.take(timer) : timers.take(timer)
    }

    /// Cancels the timer. It causes no wakeup and doesn't fire, not even in this turn. Idempotent.
    package func cancel(_ timer: Timer) {
        _ = take(timer)
    }

    /// Runs `body` later in this turn, before the loop sleeps.
    package func enqueue(_ body: @escaping () -> Void) {
        enqueued.append(body)
    }

    /// Runs `body` in the next turn, after the ready descriptors. For work that a peer can cause without an end: others
    /// get their turn in between.
    package func postpone(_ body: @escaping () -> Void) {
        postponed.append(body)
    }

    // MARK: - Running

    /// Runs turns until `stop`.
    package func run() {
        while !isStopRequested { turn(timeoutMilliseconds: -1) }
        isStopRequested = false
    }

    /// Ends `run` after this turn. If `run` isn't running, the next `run` returns at once.
    package func stop() {
        isStopRequested = true
    }

    /// A descriptor that is readable when a turn would have something to do. It is for a program with its own loop.
    /// That calls `prepareToWait` before waiting for the descriptor, and `runOnce(timeout: .zero)` afterwards.
    package var descriptor: Int32 { epoll }

    /// Sets the kernel timers of `descriptor`.
    /// - Returns: false if there is work already, so that a turn must be run at once.
    package func prepareToWait() -> Bool {
        refreshNow()
        if hasWork { return false }
        armTimers()
        return true
    }

    /// Runs one turn. For tests, and for programs with their own loop.
    /// - Parameter timeout: maximum time to sleep; nil for no limit. Rounded up to milliseconds.
    package func runOnce(timeout: Duration?) {
        guard let timeout else { return turn(timeoutMilliseconds: -1) }
        let nanoseconds = max(0, timeout.saturatingNanoseconds)
        let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
        turn(timeoutMilliseconds: Int32(clamping: milliseconds))
    }

    private func turn(timeoutMilliseconds: Int32) {
        precondition(!isInTurn, "a callback of the run loop must not run the loop")
        isInTurn = true
        defer { isInTurn = false }
        turnNumber += 1
        let count = takeEvents(timeoutMilliseconds: timeoutMilliseconds)
        enqueued += postponed
        postponed = []
        for index in 0..<count { dispatch(events[index]) }
        for timer in dueTimers() {
            let body = take(timer)
            body?()
        }
        drainEnqueued()
    }

    /// Gets the ready events. Sleeps if there is nothing to do.
    private func takeEvents(timeoutMilliseconds: Int32) -> Int {
        let capacity = Int32(Self.maximumEventsPerTurn)
        // Ask without sleeping first, so that the statistics count only real sleeps.
        var count = epoll_wait(epoll, events, capacity, 0)
        if count <= 0, timeoutMilliseconds != 0, !hasWork {
            armTimers()
            count = epoll_wait(epoll, events, capacity, timeoutMilliseconds)
            statistics.count(cause(ofFirstOf: count))
        }
        now = BootClock.now()
        // With valid arguments the only error is EINTR: a turn without events.
        return max(0, Int(count))
    }

    private var hasWork: Bool {
        if !enqueued.isEmpty || !postponed.isEmpty || isStopRequested { return true }
        let deadlines = [timers.nextDeadline(), quietTimers.nextDeadline()]
        return deadlines.contains { $0.map { $0 <= now.nanoseconds } ?? false }
    }

    private func armTimers() {
        timerDescriptor.arm(at: timers.nextWakeup())
        quietDescriptor?.arm(at: quietTimers.nextWakeup())
    }

    /// The clocks of the armed kernel timers.
    var armedClocks: [clockid_t] { [timerDescriptor, quietDescriptor].compactMap { $0?.armedClock } }

    private func dueTimers() -> [Timer] {
        timers.due(at: now.nanoseconds)
            + quietTimers.due(at: now.nanoseconds).map { timer in
                var timer = timer
                timer.isQuiet = true
                return timer
            }
    }

    private func cause(ofFirstOf count: Int32) -> WakeupCause {
        guard count > 0 else { return count == 0 ? .timeout : .interruption }
        return sources[SourceToken(rawValue: ringwake_epoll_token(events))]?.cause ?? .interruption
    }

    private func dispatch(_ event: epoll_event) {
        let raised = event.events
        let token = withUnsafePointer(to: event) { SourceToken(rawValue: ringwake_epoll_token($0)) }
        // A callback of this turn may have changed both since the kernel reported the event.
        guard let source = sources[token], !source.interest.isEmpty else { return }
        let asked = Readiness(rawValue: source.interest.rawValue)
        var readiness: Readiness = []
        if raised & RINGWAKE_EPOLL_IN != 0 { readiness.insert(.read) }
        if raised & RINGWAKE_EPOLL_OUT != 0 { readiness.insert(.write) }
        readiness.formIntersection(asked)
        if raised & RINGWAKE_EPOLL_HUP != 0 { readiness.formUnion(asked.union(.hangup)) }
        if raised & RINGWAKE_EPOLL_ERR != 0 { readiness.formUnion(asked.union(.error)) }
        if !readiness.isEmpty { source.body(readiness) }
    }

    /// Bodies that a body enqueues run after the present ones, within the same budget.
    private func drainEnqueued() {
        var budget = Self.maximumBodiesPerTurn
        while !enqueued.isEmpty, budget > 0 {
            let batch = enqueued
            enqueued = Array(batch.dropFirst(budget))
            for body in batch.prefix(budget) { body() }
            budget -= min(budget, batch.count)
        }
    }
}
