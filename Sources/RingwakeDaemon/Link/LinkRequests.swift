internal import CallService
internal import ControlProtocol
internal import Cryptography
internal import DaemonConfiguration
internal import DeviceLink
internal import FileSystem
internal import Glibc
internal import HTTPServer
internal import LinkTransport
internal import PushGateway
internal import RingwakeCore
internal import RunLoop

/// The requests about links: `/v1/gateway` of a gateway, `/v1/link` of a device.
final class LinkRequests {
    private unowned let daemon: Daemon

    init(daemon: Daemon) {
        self.daemon = daemon
    }

    func answer(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        switch (request.parts.first, request.parts.count) {
        case ("gateway", 1):
            try request.require("GET")
            exchange.respond(.success(message(of: try gateway())))
        case ("gateway", 2) where request.parts[1] == "devices":
            try request.require("GET")
            exchange.respond(.success(LinkedDeviceListMessage(devices: try devices())))
        case ("gateway", 3) where request.parts[1] == "devices": try device(request, exchange)
        case ("gateway", 2) where request.parts[1] == "invitations":
            try request.require("POST")
            exchange.respond(.success(try invite()))
        case ("gateway", 2) where request.parts[1] == "drain": try drain(request, exchange)
        case ("gateway", 3) where request.parts[1] == "pushes":
            try request.require("GET")
            _ = try gateway()
            exchange.respond(.success(try push(request.parts[2])))
        case ("gateway", 4) where request.parts[1] == "devices" && request.parts[3] == "reset":
            try request.require("POST")
            let (links, record) = try find(request.parts[2])
            links.provokeReset(of: record.id)
            respond(exchange, links) { [self] in message(of: links.machine.directory[record.id] ?? record, links) }
        case ("gateway", 4) where request.parts[1] == "devices" && request.parts[3] == "move":
            let (links, record) = try find(request.parts[2])
            try move([record], request, links)
            respond(exchange, links) { [self] in message(of: links.machine.directory[record.id] ?? record, links) }
        case ("gateway", 2) where request.parts[1] == "move":
            let links = try gateway()
            try move(Array(links.machine.directory.devices.values), request, links)
            respond(exchange, links) { [self] in message(of: links) }
        case ("link", 1): try link(request, exchange)
        case ("link", 2) where request.parts[1] == "reset": try reset(request, exchange)
        default: throw RingwakeError(.notFound, "there is nothing at \(request.target)")
        }
    }

    // MARK: - Gateway

    private func gateway() throws(RingwakeError) -> GatewayLinks {
        if let links = daemon.links { return links }
        let configuration = daemon.configuration
        if configuration.gateway.isOn {
            throw RingwakeError(.conflict, "the store is not open, so no device can link now; see 'ringwake status'")
        }
        let why =
            configuration.role == .device
            ? "this daemon's role is \"device\", so it is no gateway; for one set role = \"gateway\" or \"both\" and add"
            : "this daemon is no gateway; add"
        throw RingwakeError(.conflict, "\(why) [gateway] with 'listen' to \(configuration.file), and restart it")
    }

    /// The state of the gateway; nil if this daemon is none.
    func gatewayMessage() -> GatewayMessage? { daemon.links.map { message(of: $0) } }

    private func message(of links: GatewayLinks) -> GatewayMessage {
        var message = GatewayMessage(
            address: daemon.listeners?.links?.localAddress.description, onPushPorts: links.settings.onPushPorts,
            admission: links.settings.admission.rawValue,
            devices: links.machine.directory.devices.values.count { $0.revokedAt == nil },
            online: links.machine.onlineCount, waiting: links.machine.mailCount, invitations: links.openInvitations,
            linked: links.counters.linked, unlinked: links.counters.unlinked, refused: links.counters.refused,
            acknowledged: links.counters.acknowledged, dropped: links.counters.dropped)
        message.publicAddress = try? publicAddress(links)
        message.drainedMs = links.drainedTime?.milliseconds
        return message
    }

    /// POST moves devices to another gateway, DELETE lets them stay.
    private func move(
        _ records: [DeviceRecord], _ request: ServiceRequest, _ links: GatewayLinks
    ) throws(RingwakeError) {
        let present = records.filter { $0.revokedAt == nil }.map(\.id)
        guard !present.isEmpty || records.isEmpty else {
            throw RingwakeError(.conflict, "the device was revoked, or has moved")
        }
        guard request.method != "DELETE" else {
            try request.require("DELETE")
            return links.move(present, to: nil, isForGood: true)
        }
        try request.require("POST")
        let asked = try request.decode(DeviceMove.self, empty: nil)
        guard let reference = ServerReference(asked.to) else {
            throw RingwakeError(.invalidRequest, "'\(asked.to)' is no gateway; write it as push2.example.com:8883")
        }
        links.move(present, to: reference, isForGood: asked.temporary != true)
    }

    /// POST drains the gateway, DELETE lets it take links again.
    private func drain(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let isEnd = request.method == "DELETE"
        try request.require(isEnd ? "DELETE" : "POST")
        let links = try gateway()
        links.drain(!isEnd)
        exchange.respond(.success(message(of: links)))
    }

    private func devices() throws(RingwakeError) -> [LinkedDeviceMessage] {
        let links = try gateway()
        return links.machine.directory.devices.values
            .sorted { ($0.name, $0.id.rawValue) < ($1.name, $1.id.rawValue) }
            .map { message(of: $0, links) }
    }

    private func message(of record: DeviceRecord, _ links: GatewayLinks) -> LinkedDeviceMessage {
        let link = links.machine.link(of: record.id)
        let gone = record.movesTo == nil ? "revoked" : "moved"
        let state = record.revokedAt != nil ? gone : link == nil ? "offline" : "online"
        var message = LinkedDeviceMessage(
            device: record.id.rawValue, name: record.name, state: state,
            pairedAt: UTCTime(milliseconds: record.pairedAt).description,
            peer: link.flatMap { links.server.address(of: $0) },
            waiting: links.machine.mailbox(of: record.id)?.count ?? 0, sealed: record.sealing != nil,
            revision: record.revision,
            apps: record.registrations.map {
                .init(app: $0.app.rawValue, environment: $0.environment.rawValue, slot: $0.slot.description)
            })
        message.keepAliveSeconds = link.flatMap { links.keepAlives.state.interval(of: $0)?.components.seconds }
        message.network = link.flatMap { links.keepAlives.state.status(of: $0)?.word }
        message.movesTo = record.movesTo == record.server && record.revokedAt == nil ? nil : record.movesTo
        return message
    }

    /// A device by its name, or by the beginning of its id.
    private func find(_ name: String) throws(RingwakeError) -> (GatewayLinks, DeviceRecord) {
        let links = try gateway()
        let matches = links.machine.directory.devices.values.filter {
            $0.id.rawValue.hasPrefix(name) && name.utf8.count >= 4 || $0.name == name
        }
        guard let record = matches.first, matches.count == 1 else {
            throw RingwakeError(
                matches.isEmpty ? .notFound : .invalidRequest,
                matches.isEmpty
                    ? "no device '\(name)' is paired; 'ringwake gateway devices' shows those that are"
                    : "'\(name)' fits \(matches.count) devices; give more of the id")
        }
        return (links, record)
    }

    private func device(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let (links, record) = try find(request.parts[2])
        guard request.method == "DELETE" else {
            try request.require("GET")
            return exchange.respond(.success(message(of: record, links)))
        }
        try request.require("DELETE")
        try links.revoke(record.id)
        respond(exchange, links) { [self] in message(of: links.machine.directory[record.id] ?? record, links) }
    }

    /// Answers when everything that was ordered is durable: what a person was told must not be undone by a power cut.
    private func respond(
        _ exchange: any HTTPExchange, _ links: GatewayLinks, _ message: @escaping () -> some Encodable & Sendable
    ) {
        links.store.whenDurable { result in
            do throws(RingwakeError) {
                try result.get()
                exchange.respond(.success(message()))
            } catch {
                let text =
                    "it holds now, but cannot be stored (\(error.message)): a restart undoes it, so order it again"
                exchange.respond(.failure(RingwakeError(error.code, text)))
            }
        }
    }

    private func push(_ id: String) throws(RingwakeError) -> PushReceiptMessage {
        let found = daemon.receipts.find(id: id)
        guard let receipt = found.first else {
            throw RingwakeError(.notFound, "no push '\(id)' for a linked device is known; it is kept for a day")
        }
        let ids = Set(found.map(\.pushId)).sorted()
        guard ids.count == 1 else {
            let more = ids.count - Self.maximumNamed
            let names = ids.prefix(Self.maximumNamed).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
            throw RingwakeError(
                .conflict, "several pushes begin with '\(id)': \(names); give more characters of the id")
        }
        guard found.count == 1 else {
            throw RingwakeError(
                .conflict, "\(found.count) senders or apps have a push '\(receipt.pushId)'; ask as the sender does")
        }
        return receipt
    }

    /// Pushes in an error, so that it stays readable.
    private static let maximumNamed = 5

    private func invite() throws(RingwakeError) -> InvitationMessage {
        let links = try gateway()
        let address = try publicAddress(links)
        let codes = try links.invite()
        let pin = try self.pin()
        var link = "ringwake://\(address)/pair?code=\(codes.long)"
        var (digest, owner): (String?, String?) = (nil, nil)
        switch pin {
        case .none: break
        case .authority(let hash): (digest, owner) = (encodeHex(hash), "ca")
        case .key(let hash): (digest, owner) = (encodeHex(hash), "key")
        }
        if let digest { link += "&pin=\(digest)" }
        let left = BootInstant(nanoseconds: BootClock.now().nanoseconds).duration(to: codes.expires)
        return InvitationMessage(
            code: codes.typed, link: link, gateway: address, pin: digest, pins: owner,
            expiresInMs: max(0, left.milliseconds))
    }

    private func pin() throws(RingwakeError) -> ServerPin {
        guard let file = daemon.configuration.server?.certificateFile else { return .none }
        do throws(FileSystemError) {
            return try serverPin(FileSystem.read(file, maximumSize: 1 << 20))
        } catch {
            throw RingwakeError(.system, "\(file) cannot be read: \(error.reason)")
        }
    }

    private func serverPin(_ pem: [UInt8]) -> ServerPin { (try? ServerPin(chainPEM: pem)) ?? .none }

    /// What devices connect to.
    private func publicAddress(_ links: GatewayLinks) throws(RingwakeError) -> String {
        let ports = [daemon.listeners?.links?.localAddress.port] + daemon.pushPorts.map { $0 }
        let port = ports.compactMap { $0 }.first ?? 8883
        if let address = links.settings.address { return address.contains(":") ? address : "\(address):\(port)" }
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else {
            throw RingwakeError(.badConfiguration, "this host has no name; set 'address' in [gateway]")
        }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(name):\(port)"
    }

    // MARK: - Device

    private func link(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        guard let outbound = daemon.outbound else {
            throw RingwakeError(.conflict, "this daemon is a gateway, and links to no other")
        }
        switch request.method {
        case "POST":
            try request.require("POST")
            let asked = try request.decode(LinkPairing.self, empty: nil)
            let gateway = try PairedGateway(asked)
            try outbound.pair(with: gateway, code: asked.code) { [weak self] result in
                exchange.respond(result.flatMap { self?.linkMessage().map { .success($0) } ?? .failure(.gone) })
            }
        case "DELETE":
            try request.require("DELETE")
            try outbound.unpair()
            exchange.respond(.success(linkMessage() ?? LinkMessage(state: .unpaired)))
        default:
            try request.require("GET")
            exchange.respond(.success(linkMessage() ?? LinkMessage(state: .unpaired)))
        }
    }

    /// Settles a disagreement with the gateway.
    private func reset(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("POST", parameters: ["mode"])
        guard let outbound = daemon.outbound else {
            throw RingwakeError(.conflict, "this daemon is a gateway, and links to no other")
        }
        var mode: LinkResetMode?
        if let text = request.query["mode"] {
            mode = LinkResetMode(rawValue: text)
            guard mode != nil else {
                let words = LinkResetMode.allCases.map(\.rawValue).joined(separator: ", ")
                throw RingwakeError(.invalidRequest, "'mode' is one of \(words), not '\(text)'")
            }
        }
        try outbound.synchronizer.reset(mode)
        exchange.respond(.success(linkMessage() ?? LinkMessage(state: .unpaired)))
    }

    /// The state of this device's link; nil if the daemon is a gateway only.
    func linkMessage() -> LinkMessage? {
        guard let outbound = daemon.outbound else { return nil }
        let now = BootInstant(nanoseconds: BootClock.now().nanoseconds)
        guard let gateway = outbound.paired else {
            var message = LinkMessage(state: .unpaired)
            message.leaving = outbound.former.names.first
            return message
        }
        var message = LinkMessage(state: outbound.messageState(at: now))
        message.gateway = gateway.reference.description
        message.visiting = outbound.route?.visit.map { "\($0.gateway)" }
        message.notFollowed = outbound.route?.failure.map { .init(gateway: $0.gateway, why: $0.why) }
        message.leaving = outbound.former.names.first
        message.trust = gateway.trust.rawValue
        message.device = outbound.keys?.device.rawValue
        message.linkedMs = outbound.linkedAt.map { $0.duration(to: now).milliseconds }
        if outbound.isLinked, let timing = outbound.timing, timing.keepAlive > 0 {
            message.keepAliveSeconds = Int64(timing.keepAlive)
            message.keepAliveTriedSeconds = outbound.triedKeepAlive.map { Int64($0) }
            message.keepAliveLongestSeconds = timing.longest.map { Int64($0) }
            message.keepAliveFailedSeconds = timing.failed.map { Int64($0) }
        }
        message.retryInMs = outbound.retryAt.map { max(0, now.duration(to: $0).milliseconds) }
        message.lastEnd = outbound.lastEnding.map {
            .init(why: $0.end.text ?? $0.end.cause.text, agoMs: $0.at.duration(to: now).milliseconds)
        }
        message.wakeup = outbound.path.interface.map {
            let wakeup = NetworkWakeup(of: $0)
            return .init(interface: wakeup.interface, state: wakeup.state, file: wakeup.file)
        }
        message.received = outbound.received
        message.revision = daemon.tokens.revision
        message.gatewayRevision = outbound.synchronizer.acknowledgedRevision
        message.problem = outbound.problem?.text ?? outbound.synchronizer.problem
        message.reset = outbound.synchronizer.lastReset.map { LinkMessage.Reset($0) }
        return message
    }
}

extension RingwakeError {
    fileprivate static let gone = RingwakeError(.failed, "the daemon is stopping")
}

extension PairedGateway {
    /// The gateway of a request to pair.
    fileprivate init(_ asked: LinkPairing) throws(RingwakeError) {
        if asked.pin != nil, asked.authorities != nil {
            throw RingwakeError(.invalidRequest, "give a pin or the CAs of the gateway, not both")
        }
        self.init(
            host: asked.host, port: asked.port,
            trust: asked.pin != nil ? .pin : asked.authorities != nil ? .authorities : .system,
            pin: asked.pin?.lowercased(), authorities: asked.authorities, pairedAt: 0)
        _ = try tlsTrust
    }
}

extension LinkMessage.Reset {
    init(_ report: ClientResets.Report) {
        self.init(
            code: report.why.rawValue, why: report.text, mode: report.mode, result: report.result,
            at: UTCTime(milliseconds: report.at).description, copies: report.folder)
    }
}

extension KeepaliveLearner.Status {
    /// As the control API writes it.
    fileprivate var word: String {
        switch self {
        case .searching: "searching"
        case .settled: "settled"
        case .atCeiling: "at-ceiling"
        case .belowFloor: "below-floor"
        }
    }
}
