internal import ControlProtocol
internal import HTTPServer
internal import NetworkMessages
internal import Reachability
internal import RingwakeCore
internal import RunLoop

/// Network queries of control socket clients, until they are answered or the client leaves.
final class NetworkQueries {
    /// Maximum targets of all queries together; strangers have a limit of their own.
    static let maximumTargets = 256
    static let maximumTargetsOfStrangers = 64
    /// Maximum host names that strangers watch: each is looked up again when the network changes, or when it cannot
    /// be reached any more.
    static let maximumNamesOfStrangers = 8
    /// Time for a host name lookup. After that the query reports what was known before, or that nothing is.
    static let timeout = Duration.seconds(10)
    private static let tolerance = Duration.milliseconds(500)

    private let network: NetworkWatch
    private let runLoop: RunLoop
    private let timeout: Duration
    private var open: [ObjectIdentifier: Query] = [:]
    private let names: NameTurns

    init(network: NetworkWatch, runLoop: RunLoop, timeout: Duration = NetworkQueries.timeout) {
        self.network = network
        self.runLoop = runLoop
        self.timeout = timeout
        names = NameTurns(runLoop: runLoop)
    }

    /// Answers with the reachability of `targets` when all are known. If watching, sends a line for each target and for
    /// each change until the client leaves.
    ///
    /// - Parameter user: for whose packets; nil for the daemon's.
    /// - Throws: `limitReached`; `system` if the network isn't monitored.
    func begin(
        _ targets: [ReachabilityTarget], isWatching: Bool, _ exchange: any HTTPExchange, isStrangers: Bool,
        user: UInt32?
    ) throws(RingwakeError) {
        let monitor = try network.requireMonitor()
        let query = Query(targets, isWatching: isWatching, isStrangers: isStrangers, user: user, exchange)
        try requireRoom(for: query)
        do throws(ReachabilityError) {
            for (index, target) in targets.enumerated() {
                if isStrangers, case .host = target {
                    names.take(target, of: query, on: monitor) { [weak self, weak query] in
                        guard let query else { return }
                        // There is room: the limits of queries and apps together are within the monitor's.
                        try? self?.watch(index, of: query, on: monitor)
                    }
                } else {
                    try watch(index, of: query, on: monitor)
                }
            }
        } catch {
            release(query)
            throw RingwakeError(error.code == .limit ? .limitReached : .system, error.message)
        }
        query.timer = runLoop.schedule(
            at: BootClock.now().advanced(by: timeout), tolerance: NetworkQueries.tolerance, wakingFromSuspend: false
        ) { [weak self, weak query] in
            guard let query else { return }
            query.timer = nil
            self?.giveUpWaiting(query)
        }
        add(query)
    }

    /// Sends a line for the path, and one for each change, until the client leaves.
    func watchPath(_ exchange: any HTTPExchange, isStrangers: Bool) throws(RingwakeError) {
        let monitor = try network.requireMonitor()
        let query = Query([], isWatching: true, isStrangers: isStrangers, user: nil, exchange)
        try requireRoom(for: query)
        query.watches = [
            monitor.watchPath { [weak self, weak query] path in
                guard let query else { return }
                let message = PathMessage(path)
                self?.send(isStrangers ? message.withoutAddresses : message, to: query)
            }
        ]
        add(query)
    }

    /// Ends every stream and answers every query with what is known, because the daemon is stopping.
    func finish() {
        names.close()
        for query in open.values {
            if query.isWatching {
                end(query)
                query.exchange.finish()
            } else {
                giveUpWaiting(query)
            }
        }
    }

    // MARK: - One query

    private func requireRoom(for query: Query) throws(RingwakeError) {
        let others = open.values.filter { $0.isStrangers == query.isStrangers }
        let bound = query.isStrangers ? NetworkQueries.maximumTargetsOfStrangers : NetworkQueries.maximumTargets
        let taken = others.reduce(0) { $0 + $1.weight }
        guard taken + query.weight <= bound else {
            throw RingwakeError(
                .limitReached,
                "clients ask about \(taken) targets at this time, and \(bound) are as many as may be; try again later")
        }
        guard query.isStrangers, query.isWatching else { return }
        let names = others.reduce(query.names) { $0 + ($1.isWatching ? $1.names : 0) }
        guard names <= NetworkQueries.maximumNamesOfStrangers else {
            throw RingwakeError(
                .limitReached,
                "users without rights here watch at most \(NetworkQueries.maximumNamesOfStrangers) host names together; "
                    + "ask without watch, or watch addresses")
        }
    }

    private func add(_ query: Query) {
        if query.isWatching { query.exchange.beginLines() }
        // `onClose` isn't called for a client that has already left.
        guard query.exchange.isOpen else { return release(query) }
        open[ObjectIdentifier(query)] = query
        query.exchange.onClose = { [weak self, weak query] in
            guard let query else { return }
            self?.end(query)
        }
    }

    private func end(_ query: Query) {
        open[ObjectIdentifier(query)] = nil
        release(query)
    }

    private func release(_ query: Query) {
        names.leave(query)
        query.end(runLoop)
    }

    private func watch(_ index: Int, of query: Query, on monitor: NetworkMonitor) throws(ReachabilityError) {
        query.watches.append(
            try monitor.watch(query.targets[index], forUser: query.user) { [weak self, weak query] reachability in
                guard let query else { return }
                self?.heard(reachability, of: index, query)
            })
    }

    private func heard(_ reachability: TargetReachability, of index: Int, _ query: Query) {
        query.known[index] = reachability
        // Avoid a wakeup for a timeout that isn't needed any more.
        if query.timer != nil, query.isComplete { query.stopTimer(runLoop) }
        if query.isWatching { return send(message(query.targets[index], reachability, to: query), to: query) }
        if query.isComplete { respond(query) }
    }

    /// Reports the targets without a result as they were last known, or as unknown.
    private func giveUpWaiting(_ query: Query) {
        guard let monitor = try? network.requireMonitor() else { return }
        for (index, target) in query.targets.enumerated() where query.known[index] == nil {
            let known = monitor.reachability(of: target, forUser: query.user) ?? .resolving(on: monitor.path)
            query.known[index] = known
            if query.isWatching { send(message(target, known, to: query), to: query) }
        }
        if !query.isWatching { respond(query) }
    }

    /// Answers with the reachability at this moment: the values of the watches may lack a loss that is still held, or
    /// messages of the kernel that the monitor hasn't read yet.
    private func respond(_ query: Query) {
        let current = network.current(query.targets, forUser: query.user)
        let messages = query.targets.indices.compactMap { index in
            (current[index] ?? query.known[index]).map { message(query.targets[index], $0, to: query) }
        }
        end(query)
        query.exchange.respond(.success(TargetListMessage(targets: messages, networkNamespace: network.namespace)))
    }

    private func message(
        _ target: ReachabilityTarget, _ reachability: TargetReachability, to query: Query
    ) -> TargetMessage {
        let message = TargetMessage(target, reachability, resolvedAt: network.resolvedAt(target))
        return query.isStrangers ? message.withoutAddresses : message
    }

    private func send(_ message: some Encodable, to query: Query) {
        if !query.exchange.send(controlLine(message)) { end(query) }
    }
}

/// The query of one client.
private final class Query {
    let targets: [ReachabilityTarget]
    let isWatching: Bool
    let isStrangers: Bool
    /// The user to answer for; nil for the daemon's.
    let user: UInt32?
    let exchange: any HTTPExchange
    /// Results, by index of the target.
    var known: [TargetReachability?]
    var watches: [NetworkMonitor.Watch] = []
    var timer: Timer?
    var isComplete: Bool { !known.contains { $0 == nil } }

    /// A watched path counts as one target.
    var weight: Int { max(1, targets.count) }
    var names: Int { targets.count { if case .host = $0 { true } else { false } } }

    init(
        _ targets: [ReachabilityTarget], isWatching: Bool, isStrangers: Bool, user: UInt32?,
        _ exchange: any HTTPExchange
    ) {
        self.targets = targets
        self.isWatching = isWatching
        self.isStrangers = isStrangers
        self.user = user
        self.exchange = exchange
        known = Array(repeating: nil, count: targets.count)
    }

    /// Cancels the watches and the timer.
    func end(_ runLoop: RunLoop) {
        for watch in watches { watch.cancel() }
        watches = []
        stopTimer(runLoop)
    }

    func stopTimer(_ runLoop: RunLoop) {
        if let timer { runLoop.cancel(timer) }
        timer = nil
    }
}
