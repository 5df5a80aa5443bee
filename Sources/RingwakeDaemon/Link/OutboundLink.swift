internal import Cryptography
internal import DaemonConfiguration
internal import DeviceLink
internal import FileSystem
internal import FoundationEssentials
internal import HTTPServer
internal import LinkTransport
internal import ControlProtocol
internal import Logging
internal import MQTT5
internal import PushGateway
internal import RingwakeCore
internal import RunLoop

/// The device's part of the daemon: its link to the gateway that it is paired with, and its registrations there.
final class OutboundLink {
    /// How the last link, or attempt to make it, ended.
    struct Ending {
        let end: LinkEnd
        let at: BootInstant
    }

    /// Called when a link is wanted, and when none is any more.
    var onLinkNeeded: (Bool) -> Void = { _ in }
    /// The apps of this device.
    var apps: () -> Set<AppID> = { [] }
    /// Called when the device is paired, or not any more: its apps have new tokens.
    var onPaired: () -> Void = {}
    private(set) var paired: PairedGateway?
    private(set) var keys: DeviceKeys?
    /// The gateway's keep-alives, as it says.
    private(set) var timing: LinkTiming?
    private(set) var linkedAt: BootInstant?
    private(set) var lastEnding: Ending?
    private(set) var problem: ReconnectBackoff.Problem?
    let synchronizer: LinkSynchronizer
    private(set) var received: UInt64 = 0

    private let directory: String
    private let settings: LinkSettings
    private let runLoop: RunLoop
    private let tokens: TokenStore
    private let network: NetworkWatch
    private let isClockUsable: () -> Int64
    private let deliver: (VerifiedPush, @escaping (DeliveryOutcome) -> Void) -> Void
    private let logger: Logger
    private var client: LinkClient?
    let path: LinkPath
    private var absence = LinkAbsence()
    private let receipts: ReceiptSender
    private var pairing: PairingAttempt?
    /// Which gateway it connects to; nil without one.
    private(set) var route: LinkRoute?
    private(set) lazy var former = FormerGateways(
        earliestTime: isClockUsable, runLoop: runLoop, network: network, logger: logger,
        greeting: { [unowned self] in greeting },
        push: { [unowned self] push, age, settle in receive(push, age, settle) },
        onLeft: { [unowned self] in left() })

    /// Pushes that the gateway may send before the first is settled.
    private static let receiveMaximum: UInt16 = 64
    /// How long the gateway may take to answer before a sleep. The rest of ``SleepDelay/longest`` is for another link.
    private static let answerTimeBeforeSleep = Duration.seconds(3)

    /// - Parameters:
    ///   - directory: the state directory.
    ///   - earliestTime: the wall clock (ms since 1970) is later than this.
    ///   - deliver: takes a push, and answers when it is durable.
    init(
        directory: String, settings: LinkSettings, runLoop: RunLoop, tokens: TokenStore, network: NetworkWatch,
        receipts: ReceiptSender, synchronizer: LinkSynchronizer, earliestTime: @escaping () -> Int64, logger: Logger,
        deliver: @escaping (VerifiedPush, @escaping (DeliveryOutcome) -> Void) -> Void
    ) {
        self.directory = directory
        self.settings = settings
        self.runLoop = runLoop
        self.tokens = tokens
        self.network = network
        path = LinkPath(network: network)
        isClockUsable = earliestTime
        self.logger = logger
        self.deliver = deliver
        self.receipts = receipts
        self.synchronizer = synchronizer
        path.onChange = { [weak self] in self?.pathChanged() }
        synchronizer.publish = { [weak self] message in
            guard let client = self?.client, client.isLinked else { return false }
            client.publish(message)
            return true
        }
        synchronizer.onRegistered = { [weak self] in self?.registered() }
        synchronizer.onAgreed = { [weak self] in self?.remember(epoch: $0) }
        synchronizer.onUseless = { [weak self] why in
            guard self?.route?.visit != nil else { return }
            self?.route?.refuse(why)
            self?.runLoop.enqueue { [weak self] in self?.turn() }
        }
        synchronizer.onReset = { [weak self] in self?.onPaired() }
    }

    /// Links to the gateway that the device is paired with, if there is one.
    ///
    /// - Throws: what is wrong with the files.
    func begin() throws(RingwakeError) {
        switch try PairedGateway.file(in: directory).read({ (file) throws(RingwakeError) in file }) {
        case .absent: return
        case .lost(let damage): throw RingwakeError(.system, "\(damage); pair the device again")
        case .found(let gateway, let damage):
            if let damage { logger.error("damaged, but mended", metadata: ["why": "\(damage)"]) }
            try link(to: gateway)
        }
    }

    private var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    var isLinked: Bool { client?.isLinked ?? false }
    /// The interval that is being tried, in seconds.
    var triedKeepAlive: UInt16? { client?.triedKeepAlive }

    /// What the link does, for a message.
    func messageState(at now: BootInstant) -> LinkMessage.State {
        guard let client else { return .stopped }
        // Without a way to it, nobody knows whether it still is.
        guard !client.isLinked || !path.isOpen else { return .linked }
        switch client.state {
        case .attempting, .linked: return .connecting
        case .stopped: return .stopped
        case .waiting: return path.isOpen ? .waiting : .unreachable
        }
    }

    /// When the next attempt is; nil if it waits for something else.
    var retryAt: BootInstant? {
        guard path.isOpen, case .waiting(let until, _) = client?.state else { return nil }
        return until
    }

    // MARK: - The link

    private func link(to gateway: PairedGateway) throws(RingwakeError) {
        let keys = try DeviceKeys(directory: directory) { DeviceKey.id(of: $0) }
        self.keys = keys
        paired = gateway
        // Completes what a crash left between the two files.
        if tokens.device != keys.device { try tokens.bind(to: keys.device, at: unixMilliseconds()) }
        synchronizer.sealing = Data(keys.sealing.subjectPublicKeyInfo).base64EncodedString()
        if keys.hasNewSealingKey { try tokens.raiseRevision() }
        tokens.onRegistrations = { [synchronizer] in synchronizer.tokensChanged() }
        route = LinkRoute(own: gateway.reference)
        let client = LinkClient(
            runLoop: runLoop, key: keys.signing, device: keys.device,
            context: try gateway.context(isClockUsable()),
            localPort: UInt16(clamping: settings.localPort), hasPath: false, wallClock: { unixMilliseconds() },
            logger: logger, owner: owner())
        self.client = client
        onLinkNeeded(true)
        try path.lead(to: gateway.host)
        former.leave(gateway, keys: keys)
    }

    private func owner() -> LinkClient.Owner {
        LinkClient.Owner(
            greeting: { [unowned self] in greeting },
            addresses: { [unowned self] in path.addresses.sockets(port: route?.target.port ?? 0) },
            push: { [unowned self] push, age, settle in receive(push, age, settle) },
            welcomed: { [unowned self] in welcomed($0) }, retimed: { [unowned self] in timing = $0 },
            linked: { [unowned self] in linked() },
            published: { [synchronizer] reason, text in synchronizer.published(reason, text) },
            registrations: { [unowned self] in synchronizer.compared(with: $0, apps: apps()) },
            ended: { [unowned self] in ended($0) },
            problem: { [unowned self] problem in
                self.problem = problem
                logger.error("the link needs a person", metadata: ["why": "\(problem.text)"])
            })
    }

    private func pathChanged() { client?.pathChanged(hasPath: path.isOpen) }

    private var greeting: DeviceSession.Greeting {
        var greeting = DeviceSession.Greeting(
            version: ProductVersion.current, revision: tokens.revision,
            registrations: tokens.registrations.registrations, epoch: knownEpoch, network: network.linkLabel,
            receiveMaximum: Self.receiveMaximum)
        greeting.wasAway = absence.isLikely
        greeting.server = route.map { "\($0.visit?.isForGood ?? true ? $0.target : $0.own)" }
        return greeting
    }

    private func welcomed(_ welcome: LinkWelcome) {
        problem = nil
        timing = welcome.timing
        synchronizer.welcomed(welcome, known: knownEpoch, isVisit: route?.visit != nil)
    }

    /// The store of the gateway that it connects to, as known.
    private var knownEpoch: String? { route?.visit == nil ? paired?.epoch : route?.visit?.epoch }

    private func remember(epoch: String) {
        route?.visit?.epoch = epoch
        guard route?.visit == nil, var gateway = paired, gateway.epoch != epoch else { return }
        gateway.epoch = epoch
        store(gateway)
    }

    @discardableResult
    private func store(_ gateway: PairedGateway) -> Bool {
        do throws(RingwakeError) {
            try PairedGateway.file(in: directory).write(gateway)
            paired = gateway
            return true
        } catch {
            logger.error("what is known of the gateway cannot be stored", metadata: ["why": "\(error.message)"])
            return false
        }
    }

    private func linked() {
        linkedAt = now
        if route?.visit == nil {
            absence.linked()
            former.resume(own: paired?.reference)
        }
        route?.linked()
        logger.notice("linked to the gateway", metadata: ["gateway": "\(route.map { "\($0.target)" } ?? "")"])
        synchronizer.linked()
    }

    private func ended(_ end: LinkEnd) {
        let (level, what): (Logger.Level, Logger.Message) =
            linkedAt == nil ? (.info, "the gateway cannot be reached") : (.notice, "the link to the gateway ended")
        logger.log(level: level, what, metadata: ["why": "\(end.text ?? end.cause.text)"])
        (linkedAt, lastEnding) = (nil, Ending(end: end, at: now))
        absence.ended(at: now)
        synchronizer.unlinked()
        // Not from within a call of the client.
        if route?.ended(end, mayMove: paired?.former == nil) == true { runLoop.enqueue { [weak self] in self?.turn() } }
    }

    // MARK: - Another gateway

    /// Connects to the gateway that the route leads to now.
    private func turn() {
        guard let client, let paired, let route else { return }
        logger.notice("the gateway is another one now", metadata: ["gateway": "\(route.target)"])
        path.close()
        do throws(RingwakeError) {
            synchronizer.unlinked()
            linkedAt = nil
            client.retarget(try paired.at(route.target).context(isClockUsable()), isOwn: route.visit == nil)
            try path.lead(to: route.target.host)
        } catch {
            logger.error("the link has no gateway now", metadata: ["why": "\(error.message)"])
        }
        // Without a path to it there is no attempt, and so no end of one.
        guard let visited = route.visit?.gateway else { return }
        runLoop.schedule(at: runLoop.now.advanced(by: LinkRoute.visitTime), tolerance: .seconds(1)) { [weak self] in
            if self?.route?.giveUp(visited) == true { self?.turn() }
        }
    }

    /// The gateway has the registrations: if it is to be this device's own, it is now.
    private func registered() {
        guard let gateway = paired, var moved = route, let epoch = moved.visit?.epoch, moved.settled() else { return }
        var own = gateway.at(moved.own)
        own.epoch = epoch
        own.former = .init(host: gateway.host, port: gateway.port, movedAt: unixMilliseconds())
        guard store(own) else { return }
        route = moved
        client?.isOwn = true
        synchronizer.isVisit = false
        logger.notice(
            "moved to another gateway", metadata: ["from": "\(gateway.reference)", "to": "\(own.reference)"])
        if let keys { former.leave(own, keys: keys) }
    }

    /// A gateway has let the device go.
    private func left() {
        guard var paired, paired.former != nil else { return }
        paired.former = nil
        store(paired)
    }

    /// The machine is about to sleep: no push reaches it through a link that is dead.
    ///
    /// - Parameter ready: called once, when the link is known to live, or when none can be had now.
    func prepareForSleep(_ ready: @escaping () -> Void) {
        guard let client else { return ready() }
        client.check(within: Self.answerTimeBeforeSleep, completion: ready)
    }

    /// The machine has resumed: the network may be another one, and the gateway may have given the link up.
    func resumed() {
        absence.resumed(at: now)
        pathChanged()
    }

    /// Leaves the gateway in order, for the end of the daemon.
    func close() {
        path.close()
        former.pause()
        client?.stop()
        client = nil
    }

    // MARK: - Pushes

    private func receive(
        _ push: LinkPush, _ age: Duration, _ settle: @escaping (DeviceSession.Settlement) -> Void
    ) {
        received += 1
        guard let keys, let record = tokens.record(for: push.slot) else { return settle(.unknownSlot) }
        do throws(RingwakeError) {
            let verified = VerifiedPush(push, of: record.app, payload: try keys.payload(of: push), age: age, now: now)
            deliver(verified) { [receipts] outcome in
                if case .accepted(let what) = outcome { receipts.accepted(verified, slot: push.slot, outcome: what) }
                switch outcome {
                case .accepted, .relayed: settle(.durable)
                case .refused(.tooManyCalls), .refused(.tooManyPushes), .refused(.mailboxFull): settle(.full)
                case .refused(.unavailable): settle(.failing)
                case .refused(.unregistered): settle(.unknownSlot)
                }
            }
        } catch {
            logger.error(
                "a push of the gateway cannot be read",
                metadata: ["push": "\(push.pushID)", "why": "\(error.message)"])
            settle(.badPayload)
        }
    }

    // MARK: - Pairing

    /// Pairs the device with a gateway, and links to it. All its tokens become new ones.
    ///
    /// - Parameter completion: called once, from the loop.
    func pair(
        with gateway: PairedGateway, code: String, completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) throws(RingwakeError) {
        guard pairing == nil else { throw RingwakeError(.conflict, "the device is pairing already; wait for its end") }
        guard paired == nil else {
            throw RingwakeError(
                .conflict, "the device is paired with \(paired?.host ?? ""); run 'ringwake link unpair' first")
        }
        let keys = try DeviceKeys(directory: directory) { DeviceKey.id(of: $0) }
        let pairing = try PairingAttempt(
            gateway: gateway, code: code, name: settings.name, keys: keys, earliestTime: isClockUsable(),
            runLoop: runLoop, network: network
        ) { [weak self] result in
            guard let self else { return }
            self.pairing = nil
            completion(result.flatMap { finish(gateway) })
            if paired == nil { former.resume(own: nil) }
        }
        self.pairing = pairing
        // It would be a second connection with this key, if the gateway is the same one.
        former.pause()
        pairing.start()
    }

    private func finish(_ gateway: PairedGateway) -> Result<Void, RingwakeError> {
        do throws(RingwakeError) {
            var paired = gateway
            paired.pairedAt = unixMilliseconds()
            try PairedGateway.file(in: directory).write(paired)
            try link(to: paired)
            logger.notice("paired with a gateway", metadata: ["gateway": "\(paired.reference)"])
            onPaired()
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Leaves the gateway for good. All tokens become new ones, which are valid on this machine alone.
    func unpair() throws(RingwakeError) {
        guard var own = paired else { throw RingwakeError(.conflict, "the device is not paired with a gateway") }
        let isTold = isLinked && route?.visit == nil
        client?.publish(.unpair)
        tokens.onRegistrations = nil
        do throws(FileSystemError) {
            try PairedGateway.file(in: directory).remove()
        } catch {
            throw RingwakeError(.system, "the pairing cannot be removed: \(error.description)")
        }
        (paired, route) = (nil, nil)
        path.close()
        let last = client
        (client, linkedAt) = (nil, nil)
        onLinkNeeded(false)
        // What was published goes first.
        runLoop.schedule(at: runLoop.now.advanced(by: .seconds(1)), tolerance: .seconds(1)) { last?.stop() }
        try tokens.bind(to: nil, at: unixMilliseconds())
        // What was published went to the gateway that is visited, or to none.
        if !isTold {
            own.former = .init(host: own.host, port: own.port, movedAt: unixMilliseconds())
            if let keys { former.leave(own, keys: keys) }
        }
        onPaired()
    }
}
