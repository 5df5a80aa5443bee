internal import MQTT5
package import RingwakeCore

/// A gateway: all devices with their tokens and mailboxes, and all their connections. It knows no clock and no disk.
///
/// A device is one of these:
///
/// | | in ``directory`` | link | mailbox |
/// |---|---|---|---|
/// | unknown | - | refused, but to pair | - |
/// | offline | yes | - | keeps what comes |
/// | online | yes | one: the newest | sends what comes |
/// | revoked | yes, without registrations | refused | empty |
///
/// A record changes in memory at once and is stored then. The device is answered when that is durable; it repeats the rest.
package struct LinkGatewayStateMachine {
    /// This start of the gateway.
    package let run: UInt64
    /// The store.
    package let epoch: String
    /// The devices and their tokens.
    package private(set) var directory = DeviceDirectory()
    /// The open invitations.
    package var invitations: Invitations {
        get { admission.invitations }
        set { admission.invitations = newValue }
    }
    private var admission = Admission()
    private var links = LinkTable()
    private var mail: MailRoom
    private var intake: PushIntake
    private var drain = GatewayDrain()
    private var moves = DeviceMoves()
    /// Of the event that is being handled.
    private var effects: [LinkGatewayEffect] = []
    private var now = BootInstant(nanoseconds: 0)
    private var wall: Int64 = 0

    /// `run` is 64 random bits, `epoch` names the store that the devices are in.
    package init(run: UInt64, epoch: String, limits: LinkLimits = LinkLimits()) {
        self.run = run
        self.epoch = epoch
        mail = MailRoom(limits: limits)
        intake = PushIntake(run: run)
    }

    /// Takes what the last runs left.
    ///
    /// - Parameter mail: in the order in which it was written.
    /// - Returns: the removal of rows of revoked devices, for which the last run had no time. Rows of devices without a
    ///   record stay: a newer version may read it.
    @discardableResult
    package mutating func restore(
        _ records: [DeviceRecord], mail: [(device: DeviceID, push: LinkPush, payloadBytes: Int)]
    ) -> [LinkGatewayEffect] {
        for record in records { directory.put(record) }
        let rest = self.mail.restore(mail) { directory[$0].map { $0.revokedAt == nil } ?? false }
        return rest.compactMap { directory[$0] == nil ? nil : .remove($0, $1) }
    }

    // MARK: - For status

    package var onlineCount: Int { links.onlineCount }
    package func link(of device: DeviceID) -> LinkID? { links.link(of: device) }
    package func device(of link: LinkID) -> DeviceID? { links[link]?.device }
    package func hello(of link: LinkID) -> LinkHello? { links[link]?.session.hello }
    package func mailbox(of device: DeviceID) -> Mailbox? { mail[device] }
    /// Pushes that wait, of all devices.
    package var mailCount: Int { mail.count }
    package var mailBytes: Int { mail.byteCount }

    /// When an administrator drained the gateway; nil if it takes links.
    package var drainedSince: BootInstant? { drain.drainedSince }

    /// When ``LinkGatewayEvent/deadlineReached`` is due.
    package var nextDeadline: BootInstant? {
        [mail.nextDeadline, drain.nextDeadline, moves.nextDeadline].compactMap(\.self).min()
    }

    /// When ``LinkGatewayEvent/linkDeadlineReached(_:)`` is due for a connection.
    package func deadline(of link: LinkID) -> BootInstant? { links[link]?.session.deadline }

    // MARK: - Events

    package mutating func handle(
        _ event: LinkGatewayEvent, at now: BootInstant, asking host: LinkGatewayHost
    ) -> [LinkGatewayEffect] {
        (effects, self.now) = ([], now)
        wall = host.wall()
        switch event {
        case .opened(let link, let network): links.open(link, network: network, at: now)
        case .received(let link, let packet, let proof):
            withSession(of: link, proof, host) { $0.receive(packet, proof: proof, at: now) }
        case .failed(let link, let reason, let text): withSession(of: link, .none, host) { $0.fail(reason, text) }
        case .linkDeadlineReached(let link): withSession(of: link, .none, host) { $0.deadlineReached(at: now) }
        case .closed(let link):
            left(link, "the connection broke", probe: .broken)
            links.remove(link)
        case .push(let push, let device, let slot, let ticket): accept(push, device, slot, ticket)
        case .committed(let device, let key, let isDurable):
            withMailbox(of: device) { $0.committed(key, isDurable: isDurable, room: $1, at: now) }
        case .read(let device, let keys, let found):
            withMailbox(of: device) { $0.read(found, of: keys, room: $1, at: now) }
        case .stored(let change, let isDurable): stored(change, isDurable, host)
        case .revoke(let device): revoke(device, host)
        case .disagree(let device):
            directory.raiseRevision(of: device)
            effects.append(.store(device, .administrative(device)))
            end(links.link(of: device), .success, "the registrations are to be compared", host)
        case .unregister(let device, let slots): end(slots, of: device, isUnknownToDevice: true)
        case .endProbe(let link, let timing):
            withSession(of: link, .none, host) { $0.end(.success, "the probe is over", timing: timing) }
        case .move(let devices, let reference):
            let changed = moves.begin(devices, to: reference, links, in: &directory, at: now)
            effects += changed.map { .store($0, .administrative($0)) }
        case .refer(let devices, let reference):
            let linked = devices.compactMap { links.link(of: $0) }
            depart(linked.map { .reference("\(reference)", to: $0, isForGood: false) }, host)
        case .drain(true): drain.drain(links.ids, at: now)
        case .drain(false): drain.reopen()
        case .stop: depart(drain.stop(links.ids, retryAfter: drainTime), host)
        case .deadlineReached:
            for device in mail.due(at: now) { withMailbox(of: device) { $0.deadlineReached(at: now, room: $1) } }
        }
        depart(drain.takeDue(at: now, retryAfter: drainTime) + moves.takeDue(links, directory, at: now), host)
        if !moves.leaving.isEmpty { letGo(host) }
        return effects
    }

    // MARK: - Connections

    private mutating func run(
        _ outputs: [GatewaySession.Output], of id: LinkID, _ proof: LinkProof, _ host: LinkGatewayHost
    ) {
        for output in outputs {
            switch output {
            case .send(let packet): effects.append(.send(id, packet))
            case .end(let cause):
                effects.append(.close(id, cause))
                left(id, cause)
            case .survived: effects.append(.note(.probeEnded(id, .survived)))
            case .hello(let hello): greet(hello, on: id, proof, host)
            case .subscribed:
                guard let device = links[id]?.device else { continue }
                let now = now
                withMailbox(of: device) { $0.linkHasRoom($1, at: now) }
            case .acknowledged(let key, let reason): acknowledged(key, reason, on: id)
            case .published(let packetID, let json): published(json, packetID, on: id, proof, host)
            }
        }
    }

    /// Changes a session, and runs what follows.
    private mutating func withSession(
        of id: LinkID, _ proof: LinkProof, _ host: LinkGatewayHost,
        _ change: (inout GatewaySession) -> [GatewaySession.Output]
    ) {
        run(links.change(id) { change(&$0.session) } ?? [], of: id, proof, host)
    }

    private mutating func greet(
        _ hello: LinkHello, on id: LinkID, _ proof: LinkProof, _ host: LinkGatewayHost
    ) {
        let (device, network) = (hello.device, links[id]?.network ?? "")
        if let refusal = objection(to: hello, host) {
            effects.append(.note(.refused(id, network: network, refusal.reason, refusal.text)))
            let text = "the device was sent to another gateway by a newer connection"
            if refusal.reason == .serverMoved { end(links.rival(of: hello), .sessionTakenOver, text, host) }
            return withSession(of: id, proof, host) { $0.refuse(refusal) }
        }
        end(links.rival(of: hello), .sessionTakenOver, "a newer connection of the device took over", host)
        let (timing, tried) = host.accepted(hello, id)
        let isRaised = directory.raiseRevision(above: hello)
        let welcome = LinkWelcome(
            run: run, now: now.nanoseconds / 1_000_000, revision: directory[device]?.revision, epoch: epoch,
            timing: timing, allowsRecovery: host.allowsRecovery)
        let outputs = links.change(id) { [now] in $0.session.accept(hello, welcome, tried: tried, at: now) } ?? []
        links.accepted(id, hello, epoch: epoch)
        if hello.purpose != .pair { effects.append(.allow(id, packetBytes: hello.packetBytes)) }
        if hello.purpose == .link {
            let text = hello.divergence(from: directory[device]?.revision, epoch: epoch)
            if let text { effects.append(.note(.divergence(device, text))) }
            effects.append(.note(.linked(id, device, version: hello.version)))
            let isChanged = moves.accepted(hello, in: &directory) || isRaised
            if isChanged { effects.append(.store(device, .administrative(device))) }
        }
        run(outputs, of: id, proof, host)
    }

    /// Ends a connection, if there is one.
    private mutating func end(_ id: LinkID?, _ reason: MQTTReason, _ text: String, _ host: LinkGatewayHost) {
        if let id { withSession(of: id, .none, host) { $0.end(reason, text) } }
    }

    private mutating func objection(to hello: LinkHello, _ host: LinkGatewayHost) -> LinkHello.Refusal? {
        if let refusal = drain.refusal(retryAfter: drainTime) { return refusal }
        let move = moves.refusal(of: hello, directory[hello.device], at: now)
        // A newer link takes the place of the one before.
        let hasRoom = links.link(of: hello.device) != nil || host.hasRoom(hello.device)
        return move ?? admission.objection(to: hello, among: directory, hasRoom: hasRoom, at: now)
    }

    private var drainTime: Duration { LinkSlices.time(for: directory.devices.count) }

    /// A connection sends no more: its pushes go back to the mailbox. Late acknowledgements still count.
    private mutating func left(_ id: LinkID, _ cause: String, probe end: ProbeEnd = .left) {
        if let device = links[id]?.device, links.probe(of: device) == id { effects.append(.note(.probeEnded(id, end))) }
        guard let device = links.left(id) else { return }
        moves.stays(device)
        effects.append(.note(.unlinked(id, device, cause: cause)))
        withMailbox(of: device) { mailbox, _ in mailbox.linkLost() }
    }

    private mutating func acknowledged(_ key: MailKey, _ reason: MQTTReason, on id: LinkID) {
        guard let link = links[id], let device = link.device else { return }
        effects.append(.note(.acknowledged(device, key, reason, arrived: mail[device]?.arrival(of: key))))
        let now = now
        let isNewest = links.link(of: device) == id
        let hasSame = link.revision != nil && link.revision == directory[device]?.revision
        withMailbox(of: device) {
            $0.acknowledged(
                key, reason, isNewestLink: isNewest, hasSameRegistrations: hasSame, room: $1, at: now)
        }
    }

    private mutating func depart(_ departures: [LinkDeparture], _ host: LinkGatewayHost) {
        for one in departures {
            withSession(of: one.link, .none, host) {
                $0.end(one.reason, one.text, retryAfter: one.retryAfter, serverReference: one.serverReference)
            }
        }
    }

    // MARK: - Pushes

    private mutating func accept(
        _ push: VerifiedPush, _ device: DeviceID, _ slot: LinkSlot, _ ticket: PushTicket
    ) {
        let now = now
        switch intake.take(push, slot, ticket, of: directory[device], wall: wall, at: now) {
        case .taken(let linked): withMailbox(of: device) { $0.accept(linked, room: $1, at: now) }
        case .refused(let why): effects.append(.answer(ticket, .refused(why)))
        }
    }

    /// Changes a mailbox, and runs what follows.
    ///
    /// - Parameter change: gets the mailbox, and how many pushes the device's link can take; nil without a link.
    private mutating func withMailbox(
        of device: DeviceID, _ change: (inout Mailbox, Int?) -> [Mailbox.Effect]
    ) {
        let room = links.room(of: device)
        let list = mail.change(device) { change(&$0, room) }
        for effect in list { run(effect, of: device) }
    }

    private mutating func run(_ effect: Mailbox.Effect, of device: DeviceID) {
        switch effect {
        case .send(let push):
            guard let id = links.link(of: device) else { return }
            let (floor, now) = (mail[device]?.floor, now.nanoseconds / 1_000_000)
            if let packet = links.change(id, { $0.session.send(push, floor: floor, now: now) }) ?? nil {
                effects.append(.send(id, packet))
            }
        case .answer(let key, let answer):
            if let ticket = intake.redeem(key) { effects.append(.answer(ticket, answer)) }
        case .ended(let slot): end([slot], of: device, isUnknownToDevice: false)
        case .append, .remove, .read, .disagreement, .dropped: effects += LinkGatewayEffect.plain(effect, of: device)
        }
    }

    // MARK: - What devices publish

    private mutating func published(
        _ json: [UInt8], _ packetID: UInt16, on id: LinkID, _ proof: LinkProof, _ host: LinkGatewayHost
    ) {
        guard let link = links[id], let device = link.device, let hello = link.session.hello else { return }
        do throws(UplinkMessage.Defect) {
            let message = try UplinkMessage(json: json)
            guard message.purpose == hello.purpose else {
                throw UplinkMessage.Defect(
                    .notAuthorized, hello.purpose == .pair ? "pair first" : "connect with 'pair' for that")
            }
            switch message {
            case .pair(let request):
                try request.checkSealingKey(proof, host)
                try admission.pair(
                    device, request, on: id, from: link.network, in: &directory, isOpen: host.isOpen, at: now,
                    wall: wall)
                effects.append(.store(device, .paired(id, packetID: packetID, device)))
            case .registrations(let set): try register(set, device, on: id, packetID, host)
            case .receipts(let receipts):
                effects.append(.receipts(device, receipts))
                withSession(of: id, proof, host) { $0.acknowledge(packetID, .success) }
            case .compare(let tokens):
                let known = directory.registrations(of: device, comparing: tokens)
                withSession(of: id, proof, host) { $0.send(known) + $0.acknowledge(packetID, .success) }
            case .unpair:
                forget(device, isBarred: false)
                effects.append(.store(device, .left(id, packetID: packetID, device)))
            }
        } catch {
            let network = link.network
            effects.append(
                .note(
                    hello.purpose == .pair
                        ? .refused(id, network: network, error.reason, error.text)
                        : .messageRefused(device, error.text)))
            withSession(of: id, proof, host) { $0.acknowledge(packetID, error.reason, text: error.text) }
            if hello.purpose == .pair { end(id, .success, error.text, host) }
        }
    }

    private mutating func register(
        _ set: LinkRegistrations, _ device: DeviceID, on id: LinkID, _ packetID: UInt16, _ host: LinkGatewayHost
    ) throws(UplinkMessage.Defect) {
        try admission.admitRegistrations(of: device, at: now)
        _ = try SealingKey.bytes(of: set.sealing, host)
        let record = try directory.record(of: device, after: set, at: wall)
        // Pushes belong to a token, not to the name of its registration.
        let former = Set(directory[device]?.registrations.map(\.token) ?? [])
        let kept = Set(record.registrations.filter { former.contains($0.token) }.map(\.slot))
        directory.put(record)
        _ = links.change(id) { $0.revision = set.revision }
        withMailbox(of: device) { mailbox, _ in mailbox.remove { !kept.contains($0) } }
        effects.append(.store(device, .registrations(id, packetID: packetID, device)))
    }

    private mutating func stored(_ change: DeviceChange, _ isDurable: Bool, _ host: LinkGatewayHost) {
        let reason: MQTTReason = isDurable ? .success : .implementationSpecificError
        let text = isDurable ? nil : "the gateway cannot store it now; try again later"
        switch change {
        case .paired(let id, let packetID, let device):
            let former = admission.takeFormer(of: id)
            if isDurable {
                effects.append(.note(.paired(device, name: directory[device]?.name ?? "")))
            } else {
                undoPairing(of: device, former, host)
            }
            withSession(of: id, .none, host) { $0.acknowledge(packetID, reason, text: text) }
            end(id, .success, text ?? "paired", host)
        case .registrations(let id, let packetID, let device):
            let complaint = text ?? directory.complaint(of: device, isServed: host.isServed)
            withSession(of: id, .none, host) { $0.acknowledge(packetID, reason, text: complaint) }
            guard isDurable, let record = directory[device] else { return }
            effects.append(
                .note(.registered(device, count: record.registrations.count, revision: record.revision ?? 0)))
        case .left(let id, let packetID, _):
            withSession(of: id, .none, host) { $0.acknowledge(packetID, reason, text: text) }
            end(id, .success, text ?? "unpaired", host)
        case .administrative: break
        }
    }

    /// A device that is not in the store is not paired.
    private mutating func undoPairing(of device: DeviceID, _ former: DeviceRecord?, _ host: LinkGatewayHost) {
        if let former { return directory.put(former) }
        forget(device, isBarred: false)
        directory.remove(device)
        end(links.link(of: device), .administrativeAction, "the gateway could not store the device", host)
    }

    // MARK: - What administrators do

    /// The device is out: its tokens end now, and its link is closed.
    private mutating func revoke(_ device: DeviceID, _ host: LinkGatewayHost) {
        guard directory[device] != nil else { return }
        forget(device, isBarred: true)
        effects.append(.store(device, .administrative(device)))
        end(links.link(of: device), .administrativeAction, "the device was revoked", host)
        end(links.probe(of: device), .administrativeAction, "the device was revoked", host)
    }

    /// Devices that have another gateway leave as soon as nothing waits for them here.
    private mutating func letGo(_ host: LinkGatewayHost) {
        for device in moves.leaving where mail[device] == nil {
            moves.stays(device)
            effects.append(.note(.moved(device)))
            forget(device, isBarred: false, hasMoved: true)
            effects.append(.store(device, .administrative(device)))
            end(links.link(of: device), .success, "the device has moved", host)
        }
    }

    /// Ends all tokens of a device. Its record stays, so that its senders get 410.
    private mutating func forget(_ device: DeviceID, isBarred: Bool, hasMoved: Bool = false) {
        directory.revoke(device, at: wall, isBarred: isBarred, hasMoved: hasMoved)
        withMailbox(of: device) { mailbox, _ in mailbox.remove { _ in true } }
    }

    /// Ends registrations, whose tokens are no longer valid.
    private mutating func end(_ slots: [LinkSlot], of device: DeviceID, isUnknownToDevice: Bool) {
        let gone = directory.end(slots, of: device, at: wall, raisingRevision: isUnknownToDevice)
        guard !gone.isEmpty else { return }
        for slot in gone { effects.append(.note(.unregistered(device, slot))) }
        withMailbox(of: device) { mailbox, _ in mailbox.remove { gone.contains($0) } }
        effects.append(.store(device, .administrative(device)))
    }
}
