package import DeviceLink
internal import CRingwakeLinux
internal import Cryptography
internal import Glibc
package import HTTPServer
package import Logging
package import MQTT5
internal import RingwakeCore
package import RunLoop

/// The gateway's end of all links: packets of devices in, packets and ends out. It knows no devices: its events go to the
/// ``LinkGatewayStateMachine``, whose effects come back here.
///
/// A listener hands each connection over when its TLS handshake is done (``HTTP2TLSListener``).
package final class LinkServer {
    private let runLoop: RunLoop
    private let logger: Logger
    private var links: [LinkID: LinkConnection] = [:]
    private var places: ConnectionPlaces<LinkConnection>
    private var lastID: UInt64 = 0
    /// Links that find their death soon: something was sent on them not long ago.
    private var sent: [LinkID] = []
    private var sentTimer: Timer?
    /// Gets the events of the connections, from the loop.
    package var onEvent: (LinkGatewayEvent) -> Void = { _ in }
    /// When a connection's next deadline is; nil if it has none.
    package var deadline: (LinkID) -> BootClock.Instant? = { _ in nil }

    /// - Parameter limits: the places for connections that have proven nothing, and for all.
    package init(runLoop: RunLoop, limits: ConnectionLimits, logger: Logger) {
        self.runLoop = runLoop
        self.logger = logger
        places = ConnectionPlaces(limits)
    }

    /// Open connections.
    package var count: Int { links.count }
    /// Those that are no link of a known device: before CONNECT, pairing, probing.
    package var unprovenCount: Int { links.values.count { $0.account == nil } }

    /// Takes a connection whose TLS handshake is done.
    package func take(_ accepted: AcceptedTLS) {
        guard accepted.tls.protocolVersion == "TLSv1.3" else {
            logger.debug("a link needs TLS 1.3", metadata: ["peer": "\(accepted.address)"])
            return accepted.close()
        }
        lastID += 1
        let id = LinkID(rawValue: lastID)
        let link = LinkConnection(id: id, accepted, runLoop: runLoop, server: self)
        if let displaced = places.admit(link)?.connection {
            logger.debug(
                "a link is closed, because it proved nothing and others wait",
                metadata: ["peer": "\(displaced.address)"])
            guard displaced !== link else {
                places.remove(link)
                return link.close()
            }
            end(displaced)
        }
        links[id] = link
        onEvent(.opened(id, network: "\(accepted.network)"))
        link.begin()
    }

    /// Sends a packet.
    package func send(_ packet: MQTTPacket, to id: LinkID) {
        guard let link = links[id] else { return }
        link.stream.send(packet)
        link.sentAt = runLoop.now
        guard !link.findsDeathSoon else { return }
        link.findsDeathSoon = true
        sent.append(id)
        expectAcknowledgements()
    }

    /// Closes a connection when everything was sent.
    package func close(_ id: LinkID) { links[id]?.closeWhenSent() }

    /// The connection is of a known device: it gets a place among these, and may send larger packets.
    package func allow(_ id: LinkID, packetBytes: Int, device: String) {
        guard let link = links[id], link.account == nil else { return }
        link.stream.allow(packetBytes: packetBytes)
        if places.prove(link, as: device) { link.account = device }
    }

    /// Whether there is a place for one more link of a device.
    package func hasRoom(for device: String) -> Bool { places.hasRoom(for: device) }

    /// Nobody says when the peer's kernel has acknowledged all, so ours is asked, once in a while.
    private func expectAcknowledgements() {
        guard sentTimer == nil, !sent.isEmpty else { return }
        sentTimer = runLoop.schedule(
            at: runLoop.now.advanced(by: LinkConnection.deadAfter), tolerance: LinkConnection.deadAfter / 5
        ) { [weak self] in
            guard let self else { return }
            sentTimer = nil
            let before = runLoop.now.advanced(by: .zero - LinkConnection.deadAfter)
            sent = sent.filter { id in
                guard let link = links[id] else { return false }
                link.findsDeathSoon = link.sentAt > before || link.stream.hasUnacknowledgedOutput
                return link.findsDeathSoon
            }
            expectAcknowledgements()
        }
    }

    /// Sets after how long a silence the kernel sends a keep-alive.
    package func keepAlive(_ id: LinkID, _ silence: Duration) {
        links[id]?.stream.keepAlive(idle: Int32(clamping: silence.components.seconds))
    }

    /// Lets the kernel send keep-alives now. Set the usual ones after it.
    ///
    /// - Parameter completion: called once, after `time`: whether the peer's kernel has answered.
    package func ask(_ id: LinkID, within time: Duration, completion: @escaping (Bool) -> Void) {
        links[id]?.stream.keepAlive(idle: 1)
        runLoop.schedule(at: runLoop.now.advanced(by: time), tolerance: .zero) { [weak self] in
            completion((self?.links[id]?.stream.silence).map { $0 < time } ?? false)
        }
    }

    /// Whether the peer has stopped answering, without an end.
    package func isDead(_ id: LinkID) -> Bool { id == endingID && isEndingDead }

    /// The peer's address, for people.
    package func address(of id: LinkID) -> String? { links[id]?.address }

    /// Closes everything at once.
    package func closeNow() {
        if let sentTimer { runLoop.cancel(sentTimer) }
        sentTimer = nil
        for link in links.values { link.stream.close() }
        links = [:]
    }

    /// Logs why a connection broke, which its device doesn't say.
    func noteBreak(of link: LinkConnection, _ cause: String) {
        logger.debug("a link broke", metadata: ["peer": "\(link.address)", "cause": "\(cause)"])
    }

    func nextDeadline(of id: LinkID) -> BootClock.Instant? { deadline(id) }

    /// Ends a connection, whose machine is told.
    func end(_ link: LinkConnection) {
        guard links[link.id] != nil else { return }
        places.remove(link)
        link.close()
        (endingID, isEndingDead) = (link.id, link.isDead)
        onEvent(.closed(link.id))
        endingID = nil
        links[link.id] = nil
    }

    /// The connection whose end is being told.
    private var endingID: LinkID?
    private var isEndingDead = false
}

/// One connection of a device.
final class LinkConnection: PacketStreamOwner, PlacedConnection {
    let id: LinkID
    let address: String
    let network: PeerNetwork
    let acceptedAt: BootClock.Instant
    /// The device, once it is a known one.
    var account: String? { didSet { proof = LinkProof.none } }
    /// Nil before CONNECT.
    private var proof: LinkProof?
    /// When something was sent last.
    var sentAt: BootClock.Instant
    let stream: PacketStream
    var waitsForUs: Bool { stream.hasUnreadInput }
    private let runLoop: RunLoop
    private unowned let server: LinkServer
    private var timer = DeadlineTimer()
    private var isEnding = false

    /// How late a deadline may fire, to share a wakeup.
    private static let tolerance = Duration.seconds(1)
    /// How long the peer may take for the last packets.
    private static let lingerTime = Duration.seconds(2)

    init(id: LinkID, _ accepted: AcceptedTLS, runLoop: RunLoop, server: LinkServer) {
        self.id = id
        self.runLoop = runLoop
        self.server = server
        address = accepted.address
        network = accepted.network
        acceptedAt = runLoop.now
        sentAt = acceptedAt
        stream = PacketStream(
            runLoop: runLoop, tls: accepted.tls, descriptor: accepted.descriptor,
            maximumPacketBytes: LinkLimits.unprovenPacketBytes)
    }

    func begin() {
        stream.owner = self
        do throws(RunLoopError) {
            try stream.begin(cause: .link)
        } catch {
            server.end(self)
        }
        requireDeadline()
    }

    func received(_ packet: MQTTPacket) {
        // Once: a signature costs time.
        if case .connect(let connect) = packet, proof == nil {
            proof = DeviceKey.proof(of: stream.connection, authenticationData: connect.authenticationData)
        }
        server.onEvent(.received(id, packet, proof ?? .none))
        requireDeadline()
    }

    func failed(_ error: MQTTError) { server.onEvent(.failed(id, error.reason, error.text)) }

    /// How long sent bytes may lack the acknowledgement of the peer's kernel, before the connection is dead.
    static let deadAfter = Duration.seconds(10)

    /// Whether the kernel gives the connection up ``deadAfter`` after bytes that nobody acknowledges. Keep-alives don't find
    /// that: while the kernel repeats such bytes, for a quarter of an hour, it sends none. Without such bytes the limit would
    /// end the connection by a single lost keep-alive (tried).
    var findsDeathSoon = false {
        didSet {
            guard findsDeathSoon != oldValue else { return }
            stream.set(
                Int32(IPPROTO_TCP), Int32(TCP_USER_TIMEOUT), findsDeathSoon ? Int32(Self.deadAfter.milliseconds) : 0)
        }
    }

    /// The kernel has given the peer up (tcp(7), TCP_USER_TIMEOUT and keep-alives).
    private(set) var isDead = false

    func ended(_ cause: String) {
        isDead = cause == PacketStream.timedOut
        server.noteBreak(of: self, cause)
        server.end(self)
    }

    func closeWhenSent() {
        guard !isEnding else { return }
        isEnding = true
        stream.closeWhenSent()
        timer.cancel(on: runLoop)
        timer.require(runLoop.now.advanced(by: Self.lingerTime), on: runLoop, tolerance: Self.tolerance) {
            [weak self] in
            self?.timer.fired()
            if let self { server.end(self) }
        }
    }

    func close() {
        timer.cancel(on: runLoop)
        stream.close()
    }

    private func requireDeadline() {
        guard !isEnding else { return }
        // Once linked there may be none; the one for CONNECT must not wake the gateway then.
        guard let deadline = server.nextDeadline(of: id) else { return timer.cancel(on: runLoop) }
        timer.require(deadline, on: runLoop, tolerance: Self.tolerance) { [weak self] in
            guard let self else { return }
            timer.fired()
            server.onEvent(.linkDeadlineReached(id))
            requireDeadline()
        }
    }
}
