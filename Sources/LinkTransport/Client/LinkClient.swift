package import Cryptography
package import DeviceLink
package import HTTPServer
package import Logging
package import MQTT5
package import RingwakeCore
package import RunLoop

/// The device's end of its link: connects to the gateway, keeps one connection, and connects again when there is a reason.
/// It never polls: without a path it waits for one, and a held link has no timer.
package final class LinkClient {
    /// What the owner knows and does.
    package struct Owner {
        /// What CONNECT says of the device.
        package var greeting: () -> DeviceSession.Greeting
        /// The addresses of the gateway now; empty while its name is not resolved.
        package var addresses: () -> [SocketAddress]
        /// A push came. Call the function once, with how it was settled.
        package var push: (LinkPush, _ age: Duration, @escaping (DeviceSession.Settlement) -> Void) -> Void
        /// The gateway has accepted the device.
        package var welcomed: (LinkWelcome) -> Void
        /// The gateway has changed its keep-alives.
        package var retimed: (LinkTiming) -> Void
        /// The link is there: pushes come.
        package var linked: () -> Void
        /// The gateway has taken what was published, or has refused it.
        package var published: (MQTTReason, String?) -> Void
        /// The gateway's registrations, as they were asked for.
        package var registrations: (GatewayRegistrations) -> Void
        /// The link, or an attempt to make it, has ended.
        package var ended: (LinkEnd) -> Void
        /// A person has to know it.
        package var problem: (ReconnectBackoff.Problem) -> Void

        package init(
            greeting: @escaping () -> DeviceSession.Greeting, addresses: @escaping () -> [SocketAddress],
            push: @escaping (LinkPush, _ age: Duration, @escaping (DeviceSession.Settlement) -> Void) -> Void,
            welcomed: @escaping (LinkWelcome) -> Void, retimed: @escaping (LinkTiming) -> Void,
            linked: @escaping () -> Void,
            published: @escaping (MQTTReason, String?) -> Void,
            registrations: @escaping (GatewayRegistrations) -> Void, ended: @escaping (LinkEnd) -> Void,
            problem: @escaping (ReconnectBackoff.Problem) -> Void
        ) {
            self.greeting = greeting
            self.addresses = addresses
            self.push = push
            self.welcomed = welcomed
            self.retimed = retimed
            self.linked = linked
            self.published = published
            self.registrations = registrations
            self.ended = ended
            self.problem = problem
        }
    }

    private let runLoop: RunLoop
    private let key: P256PrivateKey
    private let device: DeviceID
    private var context: TLSClientContext
    /// Whether it connects to the device's own gateway. What another one says of the device ends nothing.
    package var isOwn = true
    private let localPort: UInt16
    private let wallClock: () -> Int64
    private let logger: Logger
    private let owner: Owner
    private var backoff: ReconnectBackoff
    private var random = SystemRandomNumberGenerator()
    private var connector: LinkConnector?
    private var connection: LinkClientConnection?
    /// Of the held link, with its first wait in seconds.
    private var probe: (probe: LinkProbe, firstAfter: UInt32?)?
    private var timer: (timer: Timer, deadline: BootInstant)?
    private var isStopped = false
    /// What waits until the link is known to live.
    private var checks: [() -> Void] = []
    /// No link is to be expected until then; see ``check(within:completion:)``.
    private var checkLimit = Duration.zero
    /// Asks the gateway for a sign of life now and then; see ``pingInterval``.
    private var pingTimer: Timer?

    /// A link that died unnoticed is found after this time at the latest, with a tolerance that lets it share a wakeup.
    private static let pingInterval = Duration.seconds(6 * 3600)
    private static let pingTolerance = Duration.seconds(3600)

    /// How late a wait may end, to share a wakeup.
    private static let tolerance = Duration.milliseconds(500)

    /// - Parameters:
    ///   - key: the device's key.
    ///   - context: TLS to the gateway.
    ///   - localPort: see ``LinkConnector``.
    ///   - wallClock: in ms since 1970.
    package init(
        runLoop: RunLoop, key: P256PrivateKey, device: DeviceID, context: TLSClientContext, localPort: UInt16,
        hasPath: Bool, wallClock: @escaping () -> Int64, logger: Logger, owner: Owner
    ) {
        self.runLoop = runLoop
        self.key = key
        self.device = device
        self.context = context
        self.localPort = localPort
        self.wallClock = wallClock
        self.logger = logger
        self.owner = owner
        backoff = ReconnectBackoff(hasPath: hasPath, at: BootInstant(nanoseconds: BootClock.now().nanoseconds))
    }

    /// What the link does now.
    package var state: ReconnectBackoff.State { backoff.state }
    package var isLinked: Bool { connection?.isLinked ?? false }
    /// The idle time that is being tried, in seconds.
    package var triedKeepAlive: UInt16? { probe?.probe.tried }

    /// Connects to another gateway from now on. A link to the former one ends in order, without a call of its owner; what is
    /// known of the path there is forgotten.
    ///
    /// - Parameter isOwn: whether it is the device's own gateway.
    package func retarget(_ context: TLSClientContext, isOwn: Bool) {
        self.context = context
        self.isOwn = isOwn
        if isLinked {
            linkIsGone()
            connection?.leave()
            connection = nil
            _ = backoff.linkLost(at: now, using: &random)
        }
        run(backoff.pathChanged(hasPath: false, at: now, using: &random))
    }

    /// Starts to connect, if there is a path.
    package func start() { run(backoff.advance(to: now)) }

    /// Leaves the gateway in order, and does nothing more.
    package func stop() {
        isStopped = true
        cancelTimer()
        linkIsGone()
        connector?.cancel()
        connector = nil
        connection?.leave()
        connection = nil
        checked()
    }

    /// The path to the gateway has changed.
    ///
    /// - Parameter hasPath: whether the gateway can be reached now.
    package func pathChanged(hasPath: Bool) {
        guard !isStopped else { return }
        run(backoff.pathChanged(hasPath: hasPath, at: now, using: &random))
        probe?.probe.abandon()
        // Whether a link survives a change of the path only the gateway knows.
        if hasPath { connection?.ping() }
    }

    /// Looks whether the link lives, and waits for another one if it doesn't.
    ///
    /// - Parameters:
    ///   - limit: how long the gateway may take to answer before the link counts as dead.
    ///   - completion: called once: when the gateway has answered, when there is another link, or when none is to be
    ///     expected within the limit.
    package func check(within limit: Duration, completion: @escaping () -> Void) {
        // What asks for it is a suspend, in which this machine answers nothing.
        probe?.probe.abandon()
        checks.append(completion)
        checkLimit = limit
        guard let connection, connection.isLinked else { return giveUpChecks() }
        connection.ping(within: limit)
    }

    /// Ends the checks if nobody connects, and nobody will soon.
    private func giveUpChecks() {
        guard !checks.isEmpty, !isStopped else { return }
        switch backoff.state {
        case .attempting, .linked: return
        case .waiting, .stopped: break
        }
        if let deadline = backoff.nextDeadline, deadline <= now.advanced(by: checkLimit) { return }
        checked()
    }

    private func checked() {
        let waiting = checks
        checks = []
        for completion in waiting { completion() }
    }

    /// Publishes a message, if the link is there.
    package func publish(_ message: UplinkMessage) { connection?.publish(message) }

    private var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    private func run(_ actions: [ReconnectBackoff.Action]) {
        for action in actions {
            switch action {
            case .connect: connect()
            case .abandon:
                connector?.cancel()
                connector = nil
                linkIsGone()
                connection?.close()
                connection = nil
            case .report(let problem): owner.problem(problem)
            }
        }
        setTimer()
        giveUpChecks()
    }

    private func setTimer() {
        let deadline = isStopped ? nil : backoff.nextDeadline
        guard deadline != timer?.deadline else { return }
        cancelTimer()
        guard let deadline else { return }
        let timer = runLoop.schedule(
            at: BootClock.Instant(nanoseconds: deadline.nanoseconds), tolerance: Self.tolerance
        ) { [weak self] in
            guard let self else { return }
            self.timer = nil
            run(backoff.advance(to: now))
        }
        self.timer = (timer, deadline)
    }

    private func cancelTimer() {
        if let timer { runLoop.cancel(timer.timer) }
        timer = nil
    }

    // MARK: - Attempts

    private func connect() {
        let connector = LinkConnector(
            addresses: owner.addresses(), context: context, localPort: localPort, runLoop: runLoop
        ) { [weak self] result in
            guard let self else { return }
            self.connector = nil
            switch result {
            case .success(let made): begin(made)
            case .failure(let error): attemptFailed(LinkEnd(.broken, error.message))
            }
        }
        self.connector = connector
        connector.start()
    }

    private func begin(_ made: LinkConnector.Made) {
        do throws(RingwakeError) {
            let connection = try connection(over: made, for: .link)
            self.connection = connection
            connection.onOutput = { [weak self, weak connection] output in
                guard let self, let connection, connection === self.connection else { return }
                handle(output, of: connection)
            }
            probe = (makeProbe(to: made.address), nil)
        } catch {
            attemptFailed(LinkEnd(.broken, error.message))
        }
    }

    /// Introduces the device. What comes of it comes later, from the loop.
    private func connection(
        over made: LinkConnector.Made, for purpose: DeviceSession.Purpose
    ) throws(RingwakeError) -> LinkClientConnection {
        let connection = LinkClientConnection(
            runLoop: runLoop, tls: made.tls, descriptor: made.descriptor, device: device, purpose: purpose)
        do throws(RingwakeError) {
            let proof = try DeviceKey.authenticationData(of: key, on: made.tls, time: wallClock())
            try connection.begin(owner.greeting(), authentication: proof)
        } catch {
            connection.close()
            throw error
        }
        return connection
    }

    /// A probe takes the way of the link, from any port.
    private func makeProbe(to address: SocketAddress) -> LinkProbe {
        let probe = LinkProbe(
            runLoop: runLoop,
            way: LinkProbe.Way(
                connect: { [context, runLoop] in
                    LinkConnector(
                        addresses: [address], context: context, localPort: 0, runLoop: runLoop, completion: $0)
                },
                begin: { [unowned self] (made) throws(RingwakeError) in try connection(over: made, for: .probe) }))
        probe.onTiming = { [weak self] timing in
            self?.connection?.setKeepAlive(timing.keepAlive)
            self?.owner.retimed(timing)
        }
        return probe
    }

    private func attemptFailed(_ end: LinkEnd) {
        let actions = backoff.attemptFailed(retryAfter: end.retryAfter, at: now, using: &random)
        owner.ended(end)
        run(actions)
    }

    private func handle(_ output: DeviceSession.Output, of connection: LinkClientConnection) {
        switch output {
        case .send: break
        case .welcomed(let welcome):
            probe?.firstAfter = welcome.timing.probeAfter
            owner.welcomed(welcome)
        case .linked:
            if let probe { probe.probe.schedule(after: probe.firstAfter) }
            backoff.established(at: now)
            pingLater()
            owner.linked()
            setTimer()
            checked()
        case .push(let packetID, let push):
            owner.push(push, connection.age(of: push)) { [weak connection] settlement in
                connection?.settle(packetID, settlement)
            }
        case .published(let reason, let text): owner.published(reason, text)
        case .registrations(let state): owner.registrations(state)
        case .alive: checked()
        case .end(let end):
            self.connection = nil
            linkIsGone()
            ended(end)
        }
    }

    private func pingLater() {
        cancelPing()
        pingTimer = runLoop.schedule(
            at: runLoop.now.advanced(by: Self.pingInterval), tolerance: Self.pingTolerance, wakingFromSuspend: false
        ) { [weak self] in
            self?.pingTimer = nil
            self?.connection?.ping()
            self?.pingLater()
        }
    }

    /// What is done for a held link ends with it.
    private func linkIsGone() {
        cancelPing()
        probe?.probe.cancel()
        probe = nil
    }

    private func cancelPing() {
        if let pingTimer { runLoop.cancel(pingTimer) }
        pingTimer = nil
    }

    private func ended(_ end: LinkEnd) {
        let actions: [ReconnectBackoff.Action]
        switch end.cause {
        case .disconnected(.sessionTakenOver): actions = backoff.takenOver(at: now, using: &random)
        case .refused(.notAuthorized) where isOwn, .disconnected(.administrativeAction) where isOwn:
            actions = backoff.revoked(at: now, using: &random)
        default:
            actions =
                if case .linked = backoff.state {
                    backoff.linkLost(retryAfter: end.retryAfter, at: now, using: &random)
                } else {
                    backoff.attemptFailed(retryAfter: end.retryAfter, at: now, using: &random)
                }
        }
        owner.ended(end)
        run(actions)
    }
}
