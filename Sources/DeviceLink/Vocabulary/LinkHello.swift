package import MQTT5
package import RingwakeCore

/// How a connection has proven its key, if at all. TLS and signatures are the driver's.
package enum LinkProof: Hashable, Sendable {
    /// By a client certificate, or by the method ``LinkHello/method``: the id of the key, and the key
    /// (SubjectPublicKeyInfo).
    case key(DeviceID, [UInt8])
    /// No certificate, and no authentication data.
    case none
    /// Authentication data that is wrong, in words.
    case wrong(String)
}

/// A device's CONNECT, checked for what every device must keep to.
package struct LinkHello: Hashable, Sendable {
    /// What the connection is for.
    package enum Purpose: Hashable, Sendable {
        case link
        /// To become known, with a code.
        case pair
        /// To find out which keep-alive the way to the gateway needs.
        case probe
    }

    /// MQTT's Authentication Method for a signature over the TLS connection.
    package static let method = "ringwake-es256"

    package let device: DeviceID
    package let purpose: Purpose
    /// The version of the device's program; nil for a stock client.
    package let version: String?
    /// The revision of the device's registrations; nil: the gateway leaves them alone.
    package let revision: UInt64?
    /// The number of the device's registrations; nil if it doesn't say.
    package let slots: Int?
    /// The mark of its registrations (``LinkRegistration/mark(of:)``); nil if it doesn't say.
    package let tokens: String?
    /// The epoch of the gateway's store that the device knows; nil if it knows none.
    package let epoch: String?
    /// A label of the network that the device is in, without saying which.
    package let network: String?
    /// Whether the device has another gateway, and comes for what waits for it here.
    package let hasMoved: Bool
    /// The gateway's address as the device knows it: `host:port`.
    package let server: String?
    /// Whether its machine slept or was off since the last link, which may have died of that.
    package let wasAway: Bool
    /// Seconds between two packets of the device at most; 0: no limit.
    package let keepAlive: UInt16
    /// How many pushes may be on their way to it.
    package let receiveMaximum: UInt16
    /// Maximum bytes of a packet to it.
    package let maximumPacketBytes: Int
    /// Whether PUBACK and SUBACK to it may have a reason string.
    package let takesReasons: Bool
    /// The authentication method, to be repeated in CONNACK.
    package let authenticationMethod: String?

    /// Bytes of its packets at most. A probe sends only DISCONNECT.
    var packetBytes: Int { purpose == .link ? LinkLimits.packetBytes : LinkLimits.pairingPacketBytes }

    enum Name {
        static let version = "version"
        static let revision = "revision"
        static let slots = "slots"
        static let tokens = "tokens"
        static let epoch = "epoch"
        static let network = "network"
        static let pair = "pair"
        static let probe = "probe"
        static let moved = "moved"
        static let away = "away"
        static let server = "server"
    }

    /// Why a CONNECT is refused.
    package struct Refusal: Error, Hashable, Sendable {
        package let reason: MQTTReason
        package let text: String
        /// When it may try again.
        package let retryAfter: Duration?
        /// Where else it may try.
        package let serverReference: String?

        package init(
            _ reason: MQTTReason, _ text: String, retryAfter: Duration? = nil, serverReference: String? = nil
        ) {
            self.reason = reason
            self.text = text
            self.retryAfter = retryAfter
            self.serverReference = serverReference
        }
    }

    /// Checks a CONNECT.
    ///
    /// - Throws: the reason code for CONNACK, with its text.
    package init(_ packet: MQTTConnect, proof: LinkProof) throws(Refusal) {
        if let method = packet.authenticationMethod, method != LinkHello.method {
            throw Refusal(.badAuthenticationMethod, "the authentication method is not \(LinkHello.method)")
        }
        if packet.hasWill { throw Refusal(.implementationSpecificError, "a will is not supported; connect without") }
        guard let device = DeviceID(packet.clientID) else {
            throw Refusal(
                .clientIDNotValid, "the client id is not a device id: base32 of the key's SHA-256, 52 characters")
        }
        switch proof {
        case .key(device, _): break
        case .key: throw Refusal(.clientIDNotValid, "the client id is not that of the key")
        case .none:
            throw Refusal(
                .notAuthorized, "no key was proven: show a client certificate, or use \(LinkHello.method)")
        case .wrong(let text): throw Refusal(.notAuthorized, text)
        }
        let size = packet.maximumPacketSize ?? UInt32(LinkLimits.packetBytes)
        guard size >= LinkLimits.leastPacketBytes else {
            throw Refusal(
                .implementationSpecificError, "Maximum Packet Size is below \(LinkLimits.leastPacketBytes)")
        }
        let values = LinkProperties(packet.userProperties)
        var revision: UInt64?
        if let text = values[Name.revision] {
            guard let number = UInt64(text), Int64(exactly: number) != nil else {
                throw Refusal(.implementationSpecificError, "the user property 'revision' is not a number")
            }
            revision = number
        }
        self.device = device
        purpose = values[Name.pair] != nil ? .pair : values[Name.probe] != nil ? .probe : .link
        version = values[Name.version].map { shortText($0, bytes: 64) }
        self.revision = revision
        slots = values[Name.slots].flatMap { Int($0) }
        tokens = values[Name.tokens].map { shortText($0, bytes: 64) }
        epoch = values[Name.epoch].map { shortText($0, bytes: 64) }
        network = values[Name.network].map { shortText($0, bytes: 64) }
        hasMoved = values[Name.moved] != nil
        wasAway = values[Name.away] != nil
        server = values[Name.server].map { shortText($0, bytes: 300) }
        keepAlive = packet.keepAlive
        receiveMaximum = packet.receiveMaximum ?? .max
        maximumPacketBytes = Int(clamping: size)
        takesReasons = packet.requestsProblemInformation
        authenticationMethod = packet.authenticationMethod
    }

    /// Why the device's registrations and the gateway's can't be brought together, in words; nil if they can.
    ///
    /// - Parameters:
    ///   - known: the gateway's revision.
    ///   - store: the gateway's epoch.
    func divergence(from known: UInt64?, epoch store: String) -> String? {
        // A device that has another gateway only fetches what waits here.
        guard !hasMoved else { return nil }
        if let epoch, epoch != store { return "the device knows another store of this gateway" }
        guard let revision, let known, known > revision else { return nil }
        return "the gateway has revision \(known), the device \(revision)"
    }
}

/// What a gateway says in CONNACK to a device that it accepts.
package struct LinkWelcome: Hashable, Sendable {
    /// This start of the gateway.
    package let run: UInt64
    /// The gateway's boot clock, in ms.
    package let now: Int64
    /// The revision of the registrations that it has; nil if it has none.
    package let revision: UInt64?
    /// The store that they are in.
    package let epoch: String
    /// About keep-alives. For a probe its ``LinkTiming/keepAlive`` is the idle time that it tries.
    package var timing: LinkTiming
    /// Whether the device may keep what only it has, if the two disagree.
    package let allowsRecovery: Bool

    package init(
        run: UInt64, now: Int64, revision: UInt64?, epoch: String, timing: LinkTiming, allowsRecovery: Bool = true
    ) {
        self.allowsRecovery = allowsRecovery
        self.run = run
        self.now = now
        self.revision = revision
        self.epoch = epoch
        self.timing = timing
    }

    /// 2^53 ms: no clock of a machine shows more, and calculations with it don't overflow.
    private static let latest: Int64 = 1 << 53

    private enum Name {
        static let run = "run"
        static let now = "now"
        static let revision = "revision"
        static let epoch = "epoch"
        static let recovery = "recovery"
    }

    /// The value of `recovery` that forbids it.
    private static let forbidden = "forbidden"

    /// The CONNACK for a device.
    func packet(for hello: LinkHello) -> MQTTConnack {
        var packet = MQTTConnack(.success)
        packet.sessionExpiryInterval = 0
        packet.receiveMaximum = hello.purpose == .pair ? 1 : LinkLimits.receiveMaximum
        packet.maximumQoS = 1
        packet.retainAvailable = false
        packet.maximumPacketSize = UInt32(
            clamping: hello.purpose == .pair ? LinkLimits.pairingPacketBytes : LinkLimits.packetBytes)
        packet.topicAliasMaximum = 0
        packet.wildcardSubscriptionAvailable = false
        packet.subscriptionIdentifiersAvailable = false
        packet.sharedSubscriptionAvailable = false
        packet.serverKeepAlive = LinkWelcome.serverKeepAlive(of: hello)
        packet.authenticationMethod = hello.authenticationMethod
        packet.userProperties = [
            MQTTUserProperty(Name.run, hexText(run)), MQTTUserProperty(Name.now, String(now)),
        ]
        if let revision { packet.userProperties.append(MQTTUserProperty(Name.revision, String(revision))) }
        packet.userProperties += [MQTTUserProperty(Name.epoch, epoch)] + timing.userProperties
        if !allowsRecovery { packet.userProperties.append(MQTTUserProperty(Name.recovery, Self.forbidden)) }
        return packet
    }

    /// A device that says its version never pings: the kernel's keep-alive finds a dead link.
    static func serverKeepAlive(of hello: LinkHello) -> UInt16 { hello.version == nil ? hello.keepAlive : 0 }

    /// Reads a CONNACK that accepts; nil if the peer isn't a gateway.
    package init?(_ packet: MQTTConnack) {
        let values = LinkProperties(packet.userProperties)
        guard let run = values[Name.run].flatMap({ parseHex64($0) }), let now = values[Name.now].flatMap({ Int64($0) }),
            (0...Self.latest).contains(now), let epoch = values[Name.epoch], epoch.utf8.count <= 64
        else { return nil }
        self.init(
            run: run, now: now, revision: values[Name.revision].flatMap { UInt64($0) }, epoch: epoch,
            timing: LinkTiming(values) ?? LinkTiming(keepAlive: 0),
            allowsRecovery: values[Name.recovery] != Self.forbidden)
    }
}
