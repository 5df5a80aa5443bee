internal import Cryptography
internal import DaemonConfiguration
internal import DeviceLink
internal import FoundationEssentials
internal import HTTPServer
internal import LinkTransport
internal import Logging
internal import MQTT5
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// The gateway's part of the daemon: drives the ``LinkGatewayStateMachine`` with connections of devices, the journal and
/// the senders' pushes.
///
///     PushGateway --push--> GatewayLinks(LinkGatewayStateMachine) <--packets--> LinkServer <-- devices
///          ^                   |            ^
///          +---- answer -------+            +---- PushJournal: records of devices, waiting pushes
final class GatewayLinks {
    private(set) var machine: LinkGatewayStateMachine
    let server: LinkServer
    private let runLoop: RunLoop
    private let journal: PushJournal
    let store: DeviceStore
    private let logger: Logger
    private var log: LinkLog
    private let isServed: (Topic, String?) -> Bool
    private(set) var settings: GatewaySettings
    private var answers: [PushTicket: (DeliveryOutcome) -> Void] = [:]
    private var lastTicket: UInt64 = 0
    private(set) var counters = LinkCounters()
    let keepAlives: GatewayKeepAlives
    private var receipts = ReceiptBook()
    private let onReceipt: (ReceiptKey, DeviceID) -> Void
    /// The names of waiting pushes, for what becomes of them.
    private var waitingNames: [MailKey: ReceiptKey] = [:]
    private var removed: [MailKey] = []
    private lazy var driver = StateMachineDriver<LinkGatewayEvent>(
        runLoop: runLoop, tolerance: GatewayLinks.tolerance, deadlineReached: .deadlineReached,
        nextDeadline: { [unowned self] in
            machine.nextDeadline.map { BootClock.Instant(nanoseconds: $0.nanoseconds) }
        },
        apply: { [unowned self] event in
            for effect in machine.handle(event, at: now, asking: host) { run(effect) }
            // A drop may be told after the removal.
            for key in removed { waitingNames[key] = nil }
            removed = []
        })
    private lazy var host = makeHost()

    /// How late a deadline may fire: a tenth of the time that a commit waits for a device.
    private static let tolerance = Duration.milliseconds(5)

    /// - Parameters:
    ///   - directory: the state directory.
    ///   - contents: what the last run left.
    ///   - limits: the places for connections.
    ///   - onReceipt: called when something new is known of a push.
    ///   - isServed: whether a team may send to a topic: this one, or any.
    /// - Throws: `failed` if there are no random numbers.
    init(
        directory: String, settings: GatewaySettings, contents: JournalContents, journal: PushJournal,
        runLoop: RunLoop, limits: ConnectionLimits, logger: Logger,
        onReceipt: @escaping (ReceiptKey, DeviceID) -> Void, isServed: @escaping (Topic, String?) -> Bool
    ) throws(RingwakeError) {
        self.settings = settings
        self.journal = journal
        store = DeviceStore(journal: journal, runLoop: runLoop, logger: logger)
        self.runLoop = runLoop
        self.logger = logger
        log = LinkLog(logger)
        self.onReceipt = onReceipt
        self.isServed = isServed
        var rules = LinkLimits()
        rules.holdTime = settings.hold
        let run = try SecureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        machine = LinkGatewayStateMachine(run: run, epoch: contents.epoch, limits: rules)
        server = LinkServer(runLoop: runLoop, limits: limits, logger: logger)
        keepAlives = GatewayKeepAlives(
            directory: directory, settings: settings, server: server, runLoop: runLoop, logger: logger)
        restore(contents)
        server.onEvent = { [unowned self] event in
            if case .received(let link, let packet, _) = event { keepAlives.received(packet, on: link) }
            driver.submit(event)
        }
        store.onStored = { [unowned self] in driver.submit(.stored($0, isDurable: $1)) }
        keepAlives.endProbe = { [unowned self] in driver.submit(.endProbe($0, $1)) }
        server.deadline = { [unowned self] link in
            machine.deadline(of: link).map { BootClock.Instant(nanoseconds: $0.nanoseconds) }
        }
    }

    private func restore(_ contents: JournalContents) {
        var records: [DeviceRecord] = []
        for row in contents.devices {
            do throws(RingwakeError) {
                guard let id = DeviceID(row.id) else { throw RingwakeError(.system, "its id is not one") }
                records.append(try DeviceRecord(id: id, version: row.version, data: row.data))
            } catch {
                // It stays in the store: a newer version may read it.
                logger.error(
                    "a linked device is left out", metadata: ["device": "\(row.id)", "why": "\(error.message)"])
            }
        }
        let mail = contents.mail.compactMap { row -> (device: DeviceID, push: LinkPush, payloadBytes: Int)? in
            guard let device = DeviceID(row.device), let push = LinkPush(row) else { return nil }
            return (device, push, row.payloadBytes)
        }
        if mail.count < contents.mail.count {
            logger.error(
                "waiting pushes are left out: they cannot be read",
                metadata: ["pushes": "\(contents.mail.count - mail.count)"])
        }
        for case .remove(_, let keys) in machine.restore(records, mail: mail) {
            journal.remove(keys.map { MailRowKey($0) })
        }
        for row in mail {
            let key = ReceiptKey(slot: row.push.slot, sender: row.push.sender, id: row.push.pushID)
            waitingNames[row.push.key] = key
            note(.queued, key, of: row.device, wall: row.push.arrivedWall)
        }
    }

    private var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    // MARK: - Pushes

    /// Whose token has this SHA-256 (in hex).
    func owner(ofTokenHash hash: String) -> DeviceDirectory.Owner? { machine.directory.owner(ofTokenHash: hash) }

    /// Takes a push for a linked device. Answers when it is durable, here or there.
    func receive(
        _ push: VerifiedPush, _ device: DeviceID, _ slot: LinkSlot, answer: @escaping (DeliveryOutcome) -> Void
    ) {
        lastTicket += 1
        let ticket = PushTicket(rawValue: lastTicket)
        let key = ReceiptKey(slot: slot, sender: push.provenance.sender, id: push.pushID)
        answers[ticket] = { [weak self] outcome in
            if case .relayed(let relay) = outcome {
                self?.counters.count(relay)
                self?.note(relay == .forwarded ? .forwarded : .queued, key, of: device)
            }
            answer(outcome)
        }
        driver.submit(.push(push, device, slot, ticket))
    }

    private func note(
        _ fate: ReceiptBook.Fate, _ key: ReceiptKey, of device: DeviceID, wall: Int64 = unixMilliseconds()
    ) {
        if receipts.note(fate, key, of: device, wall: wall, at: now) { onReceipt(key, device) }
    }

    /// What became of a push; nil if nobody knows.
    func receipt(_ key: ReceiptKey, of device: DeviceID) -> ReceiptBook.Entry? {
        receipts.entry(key, of: device, at: now)
    }

    /// What became of all pushes with this id.
    func receipts(id: String) -> [ReceiptBook.Entry] { receipts.entries(id: id, at: now) }

    /// The same for all pushes whose ids begin with this.
    func receipts(beginningWith start: String) -> [(id: String, entry: ReceiptBook.Entry)] {
        receipts.entries(beginningWith: start, at: now)
    }

    /// Pushes of which the gateway knows what became.
    var receiptCount: Int { receipts.size.count }

    // MARK: - Requests

    /// Invitations that can be used.
    var openInvitations: Int { machine.invitations.count(at: now) }

    /// Makes an invitation.
    func invite() throws(RingwakeError) -> Invitations.Codes {
        guard
            let codes = machine.invitations.make(
                random: try SecureRandom.bytes(Invitations.randomBytes), at: now)
        else {
            throw RingwakeError(
                .limitReached, "\(Invitations.maximumOpen) invitations are open already; wait until some expire")
        }
        return codes
    }

    /// Takes a device out: its tokens end, its link closes.
    func revoke(_ device: DeviceID) throws(RingwakeError) {
        guard machine.directory[device] != nil else {
            throw RingwakeError(
                .notFound, "no device '\(device)' is paired; 'ringwake gateway devices' shows those that are")
        }
        driver.submit(.revoke(device))
    }

    /// Applies other settings. The hold time stays until a restart.
    func reconfigure(_ settings: GatewaySettings) {
        self.settings = settings
        host = makeHost()
    }

    private func makeHost() -> LinkGatewayHost {
        var host = LinkGatewayHost(
            wall: { unixMilliseconds() }, isServed: { [isServed] in isServed($0, nil) },
            isSigned: { DeviceKey.isSigned($0, $1, by: $2) }, isKey: { DeviceKey.isKey($0) },
            isOpen: settings.admission == .open)
        host.hasRoom = { [unowned self] in server.hasRoom(for: $0.rawValue) }
        host.allowsRecovery = settings.allowsRecovery
        host.accepted = { [keepAlives] in keepAlives.accepted($0, $1) }
        return host
    }

    /// Makes a device compare its registrations with the gateway's.
    func provokeReset(of device: DeviceID) { driver.submit(.disagree(device)) }

    /// Moves devices to another gateway, for good or for now; without one, they stay.
    func move(_ devices: [DeviceID], to reference: ServerReference?, isForGood: Bool) {
        guard let reference, !isForGood else { return driver.submit(.move(devices, to: reference)) }
        driver.submit(.refer(devices, to: reference))
    }

    /// Takes no links, and lets those that there are end; or takes links again.
    func drain(_ isDrained: Bool) {
        logger.notice("\(isDrained ? "the gateway is drained" : "the gateway takes links again")")
        driver.submit(.drain(isDrained))
    }

    /// How long the gateway has been drained; nil if it takes links.
    var drainedTime: Duration? { machine.drainedSince.map { $0.duration(to: now) } }

    /// Tells all devices to come back later, and accepts none any more.
    func stop() { driver.submit(.stop) }

    /// Closes all links at once, for the end of the daemon.
    func close() {
        server.closeNow()
        keepAlives.save()
    }

    // MARK: - Effects

    private func run(_ effect: LinkGatewayEffect) {
        switch effect {
        case .send(let link, let packet):
            if case .publish = packet { keepAlives.sentPush(on: link) }
            server.send(packet, to: link)
        case .close(let link, let cause):
            logger.debug("a link ends", metadata: ["peer": "\(server.address(of: link) ?? "")", "cause": "\(cause)"])
            server.close(link)
        case .allow(let link, let bytes):
            server.allow(link, packetBytes: bytes, device: machine.device(of: link)?.rawValue ?? "")
        case .append(let device, let push, let replaced):
            waitingNames[push.key] = ReceiptKey(slot: push.slot, sender: push.sender, id: push.pushID)
            append(push, of: device, replacing: replaced)
        case .remove(_, let keys):
            journal.remove(keys.map { MailRowKey($0) })
            removed += keys
        case .read(let device, let keys): read(keys, of: device)
        case .receipts(let device, let some):
            let own = some.filter { isOwn($0, of: device) }
            for key in receipts.take(own, of: device, at: now) { onReceipt(key, device) }
        case .answer(let ticket, let answer):
            answers.removeValue(forKey: ticket)?(DeliveryOutcome(answer))
        case .store(let device, let change): store.store(machine.directory[device], of: device, change)
        case .note(let note):
            counters.count(note, at: now)
            if case .acknowledged(let device, let key, .success, _) = note, let name = waitingNames[key] {
                self.note(.forwarded, name, of: device)
            }
            if case .dropped(let device, let key, let why) = note, let name = waitingNames[key] {
                self.note(.dropped(why), name, of: device)
            }
            log.note(note, at: runLoop.now, address: server.address)
            keepAlives.note(note)
        }
    }

    /// Whether a device may say what became of a push: this gateway knows the push, or it is for an app of the device and
    /// from a team that may push to that. Other teams must not be told what never was.
    private func isOwn(_ receipt: LinkReceipt, of device: DeviceID) -> Bool {
        let key = ReceiptKey(slot: receipt.slot, sender: receipt.sender, id: receipt.id)
        guard receipts.entry(key, of: device, at: now) == nil else { return true }
        let registration = machine.directory[device]?.registrations.first { $0.slot == receipt.slot }
        return registration?.topics.contains { isServed($0, receipt.sender) } ?? false
    }

    private func append(_ push: LinkPush, of device: DeviceID, replacing replaced: [MailKey]) {
        do throws(RingwakeError) {
            let row = try MailRow(try sealed(push, for: device), of: device)
            journal.append(row, replacing: replaced.map { MailRowKey($0) }) { [weak self] result in
                self?.committed(push.key, of: device, result)
            }
        } catch {
            runLoop.enqueue { [weak self] in self?.committed(push.key, of: device, .failure(error)) }
        }
    }

    private func committed(_ key: MailKey, of device: DeviceID, _ result: Result<Void, RingwakeError>) {
        if case .failure(let error) = result {
            logger.debug(
                "push for a device is not durable",
                metadata: ["device": "\(device.short)", "why": "\(error.message)"])
        }
        driver.submit(.committed(device, key, isDurable: (try? result.get()) != nil))
    }

    /// Nothing that the sender wrote comes to the disk of a gateway in plain, if the device has given a key.
    private func sealed(_ push: LinkPush, for device: DeviceID) throws(RingwakeError) -> LinkPush {
        guard push.content == .plain, let key = machine.directory[device]?.sealing,
            let bytes = Data(base64Encoded: key)
        else { return push }
        var sealed = push
        sealed.payload = try HPKE.seal(
            push.payload, to: try P256PublicKey(subjectPublicKeyInfo: Array(bytes)), info: LinkSeal.info(device),
            additionalData: LinkSeal.additionalData(of: push))
        sealed.content = .sealed
        return sealed
    }

    private func read(_ keys: [MailKey], of device: DeviceID) {
        journal.payloads(keys.map { MailRowKey($0) }) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let rows):
                var found: [MailKey: Mailbox.StoredPayload] = [:]
                for (key, row) in rows {
                    guard let facts = MailFacts(version: MailFacts.version, row.facts) else { continue }
                    found[MailKey(key)] = .init(content: facts.content, bytes: row.payload)
                }
                driver.submit(.read(device, keys, found))
            case .failure(let error):
                logger.warning("waiting pushes cannot be read now", metadata: ["why": "\(error.message)"])
                driver.submit(.read(device, keys, nil))
            }
        }
    }
}

extension DeliveryOutcome {
    init(_ answer: Mailbox.Answer) {
        switch answer {
        case .delivered: self = .relayed(.forwarded)
        case .queued: self = .relayed(.queued)
        case .refused(let why): self = .refused(why)
        }
    }
}
