internal import Cryptography
internal import DaemonConfiguration
internal import DeviceLink
internal import FileSystem
internal import FoundationEssentials
internal import Glibc
internal import HTTPServer
internal import LinkTransport
internal import ControlProtocol
internal import Logging
internal import MQTT5
internal import PushGateway
internal import Reachability
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
    /// Seconds between two keep-alives of the gateway, as it says.
    private(set) var keepAlive: UInt16?
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
    private var watch: NetworkMonitor.Watch?
    private var addresses: [IPAddress] = []
    private var hasPath = false
    private let receipts: ReceiptSender
    private var pairing: PairingAttempt?

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
        isClockUsable = earliestTime
        self.logger = logger
        self.deliver = deliver
        self.receipts = receipts
        self.synchronizer = synchronizer
        synchronizer.publish = { [weak self] message in
            guard let client = self?.client, client.isLinked else { return false }
            client.publish(message)
            return true
        }
        synchronizer.onAgreed = { [weak self] in self?.remember(epoch: $0) }
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

    /// What the link does, for a message.
    func messageState(at now: BootInstant) -> LinkMessage.State {
        guard let client else { return .stopped }
        // Without a way to it, nobody knows whether it still is.
        guard !client.isLinked || !hasPath else { return .linked }
        switch client.state {
        case .attempting, .linked: return .connecting
        case .stopped: return .stopped
        case .waiting: return addresses.isEmpty || !hasPath ? .unreachable : .waiting
        }
    }

    /// When the next attempt is; nil if it waits for something else.
    var retryAt: BootInstant? {
        guard hasPath, case .waiting(let until, _) = client?.state else { return nil }
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
        guard let target = ReachabilityTarget(gateway.host) else {
            throw RingwakeError(.badConfiguration, "'\(gateway.host)' is neither a name nor an address")
        }
        let client = LinkClient(
            runLoop: runLoop, key: keys.signing, device: keys.device,
            context: try Self.context(gateway, isClockUsable()),
            localPort: UInt16(clamping: settings.localPort), hasPath: false, wallClock: { unixMilliseconds() },
            logger: logger, owner: owner(gateway))
        self.client = client
        onLinkNeeded(true)
        do throws(RingwakeError) {
            watch = try network.requireWatch(target) { [weak self] in self?.pathChanged($0) }
        } catch {
            throw RingwakeError(.system, "the way to the gateway cannot be watched: \(error.message)")
        }
    }

    static func context(_ gateway: PairedGateway, _ earliest: Int64) throws(RingwakeError) -> TLSClientContext {
        try TLSClientContext(
            serverName: gateway.host, trust: try gateway.tlsTrust, alpn: [linkProtocol], earliestTime: earliest / 1000)
    }

    private func owner(_ gateway: PairedGateway) -> LinkClient.Owner {
        LinkClient.Owner(
            greeting: { [unowned self] in greeting },
            addresses: { [unowned self] in Self.addresses(addresses, port: gateway.port) },
            push: { [unowned self] push, age, settle in receive(push, age, settle) },
            welcomed: { [unowned self] in welcomed($0) },
            linked: { [unowned self] in linked() },
            published: { [synchronizer] reason, text in synchronizer.published(reason, text) },
            registrations: { [unowned self] in synchronizer.compared(with: $0, apps: apps()) },
            ended: { [unowned self] in ended($0) },
            problem: { [unowned self] problem in
                self.problem = problem
                logger.error("the link needs a person", metadata: ["why": "\(problem.text)"])
            })
    }

    /// Addresses that can be connected to, in the resolver's order. Link-local ones need a zone, which a name lacks.
    static func addresses(_ addresses: [IPAddress], port: UInt16) -> [SocketAddress] {
        addresses.compactMap { address in
            try? SocketAddress(
                parsing: address.family == .ipv6 ? "[\(address)]:\(port)" : "\(address):\(port)")
        }
    }

    private func pathChanged(_ reachability: TargetReachability) {
        addresses = reachability.addresses
        hasPath = reachability.isReachable && !addresses.isEmpty
        client?.pathChanged(hasPath: hasPath)
    }

    private var greeting: DeviceSession.Greeting {
        DeviceSession.Greeting(
            version: ProductVersion.current, revision: tokens.revision, slots: tokens.registrations.registrations.count,
            epoch: paired?.epoch, network: network.linkLabel, receiveMaximum: Self.receiveMaximum)
    }

    private func welcomed(_ welcome: LinkWelcome) {
        problem = nil
        keepAlive = welcome.keepAlive == 0 ? nil : welcome.keepAlive
        synchronizer.welcomed(welcome, known: paired?.epoch)
    }

    private func remember(epoch: String) {
        guard var gateway = paired, gateway.epoch != epoch else { return }
        gateway.epoch = epoch
        store(gateway)
    }

    private func store(_ gateway: PairedGateway) {
        do throws(RingwakeError) {
            try PairedGateway.file(in: directory).write(gateway)
            paired = gateway
        } catch {
            logger.error("the gateway's epoch cannot be stored", metadata: ["why": "\(error.message)"])
        }
    }

    private func linked() {
        linkedAt = now
        logger.notice(
            "linked to the gateway", metadata: ["gateway": "\(paired?.host ?? ""):\(paired?.port ?? 0)"])
        synchronizer.linked()
    }

    private func ended(_ end: LinkEnd) {
        if linkedAt != nil {
            logger.notice("the link to the gateway ended", metadata: ["why": "\(end.text ?? end.cause.text)"])
        } else {
            logger.info("the gateway cannot be reached", metadata: ["why": "\(end.text ?? end.cause.text)"])
        }
        linkedAt = nil
        synchronizer.unlinked()
        lastEnding = Ending(end: end, at: now)
    }

    /// The machine is about to sleep: no push reaches it through a link that is dead.
    ///
    /// - Parameter ready: called once, when the link is known to live, or when none can be had now.
    func prepareForSleep(_ ready: @escaping () -> Void) {
        guard let client else { return ready() }
        client.check(within: Self.answerTimeBeforeSleep, completion: ready)
    }

    /// The machine has resumed: the network may be another one, and the gateway may have given the link up.
    func resumed() { client?.pathChanged(hasPath: hasPath) }

    /// Leaves the gateway in order, for the end of the daemon.
    func close() {
        watch?.cancel()
        client?.stop()
        client = nil
    }

    // MARK: - Pushes

    private func receive(
        _ push: LinkPush, _ age: Duration, _ settle: @escaping (DeviceSession.Settlement) -> Void
    ) {
        received += 1
        guard let record = tokens.record(for: push.slot) else { return settle(.unknownSlot) }
        do throws(RingwakeError) {
            let verified = VerifiedPush(push, of: record.app, payload: try payload(of: push), age: age, now: now)
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

    private func payload(of push: LinkPush) throws(RingwakeError) -> [UInt8] {
        // A notice has none.
        guard push.notice == nil else { return Array("{}".utf8) }
        guard push.content == .sealed else { return push.payload }
        guard let keys else { throw RingwakeError(.badCredential, "there is no key to open it with") }
        return try HPKE.open(
            push.payload, with: keys.sealing, info: LinkSeal.info(keys.device),
            additionalData: LinkSeal.additionalData(of: push))
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
            gateway: gateway, code: code, name: settings.name ?? hostName(), keys: keys, earliestTime: isClockUsable(),
            runLoop: runLoop, network: network
        ) { [weak self] result in
            guard let self else { return }
            self.pairing = nil
            completion(result.flatMap { finish(gateway) })
        }
        self.pairing = pairing
        pairing.start()
    }

    private func finish(_ gateway: PairedGateway) -> Result<Void, RingwakeError> {
        do throws(RingwakeError) {
            var paired = gateway
            paired.pairedAt = unixMilliseconds()
            try PairedGateway.file(in: directory).write(paired)
            try link(to: paired)
            logger.notice("paired with a gateway", metadata: ["gateway": "\(paired.address)"])
            onPaired()
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Leaves the gateway for good. All tokens become new ones, which are valid on this machine alone.
    func unpair() throws(RingwakeError) {
        guard paired != nil else { throw RingwakeError(.conflict, "the device is not paired with a gateway") }
        // Best effort: the gateway may be gone. It forgets tokens also when it sees the device's registrations again.
        client?.publish(.unpair)
        tokens.onRegistrations = nil
        do throws(FileSystemError) {
            try PairedGateway.file(in: directory).remove()
        } catch {
            throw RingwakeError(.system, "the pairing cannot be removed: \(error.description)")
        }
        paired = nil
        watch?.cancel()
        watch = nil
        let leaving = client
        client = nil
        onLinkNeeded(false)
        linkedAt = nil
        // What was published goes first.
        runLoop.schedule(at: runLoop.now.advanced(by: .seconds(1)), tolerance: .seconds(1)) { leaving?.stop() }
        try tokens.bind(to: nil, at: unixMilliseconds())
        onPaired()
    }

    private func hostName() -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "device" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
