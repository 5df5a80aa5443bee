internal import Cryptography
internal import DeviceLink
internal import FileSystem
internal import HTTPServer
internal import LinkTransport
internal import PushGateway
internal import Reachability
internal import RingwakeCore

/// The gateway that this device is paired with: `gateway.json` in the state directory.
nonisolated struct PairedGateway: StateContents, Equatable {
    /// What the device checks the gateway's certificate against.
    enum Trust: String, Codable {
        /// The CAs of the system.
        case system
        /// The CAs in ``PairedGateway/authorities``.
        case authorities
        /// The key in ``PairedGateway/pin``.
        case pin
    }

    var schema = 1
    var check: String?
    /// The name or address that the device connects to, and that the certificate is for.
    var host: String
    var port: UInt16
    var trust: Trust
    /// SHA-256 of the SubjectPublicKeyInfo of the gateway's key or of a CA's, in hex.
    var pin: String?
    /// PEM.
    var authorities: String?
    /// In ms since 1970.
    var pairedAt: Int64
    /// The gateway's store, as it said at the last link.
    var epoch: String?
    /// The gateway that the device has moved away from, until that has let it go. It had the same `trust`.
    var former: Former?

    struct Former: Codable, Equatable {
        let host: String
        let port: UInt16
        /// In ms since 1970.
        let movedAt: Int64
    }

    /// How the device refers to it.
    var reference: ServerReference { ServerReference(host: host, port: port) }

    /// Another gateway, which the device checks as this one.
    func at(_ reference: ServerReference) -> PairedGateway {
        var other = self
        (other.host, other.port) = (reference.host, reference.port)
        return other
    }

    static func file(in directory: String) -> StateFile<PairedGateway> {
        StateFile(
            name: "gateway.json", directory: directory, maximumSize: 256 * 1024,
            loss: "this device would not know its gateway")
    }

    /// TLS to it.
    ///
    /// - Parameter earliestTime: the wall clock (ms since 1970) is later than this.
    @MainActor func context(_ earliestTime: Int64) throws(RingwakeError) -> TLSClientContext {
        try TLSClientContext(
            serverName: host, trust: try tlsTrust, alpn: [linkProtocol], earliestTime: earliestTime / 1000)
    }

    /// The same for TLS.
    var tlsTrust: TLSTrust {
        get throws(RingwakeError) {
            switch trust {
            case .system: return .system
            case .authorities: return .authorities(Array((authorities ?? "").utf8))
            case .pin:
                guard let bytes = pin.flatMap({ decodeHex(Array($0.utf8)) }), bytes.count == SHA256.digestBytes else {
                    throw RingwakeError(.badCredential, "the pin is not a SHA-256 in hex: 64 digits")
                }
                return .pin(sha256OfSPKI: bytes)
            }
        }
    }
}

/// The keys of this device, made at first use: `device.pem` proves who it is, `sealing.pem` opens sealed payloads.
nonisolated struct DeviceKeys {
    let signing: P256PrivateKey
    let sealing: P256PrivateKey
    let device: DeviceID
    /// Whether the sealing key was made now: the gateway has another one, or none.
    let hasNewSealingKey: Bool

    private static let maximumBytes = 8 * 1024

    /// Reads the keys of the state directory, or makes them.
    ///
    /// - Throws: `badCredential` if one is no key, `system` if it can't be read or written.
    init(directory: String, id: ([UInt8]) -> DeviceID?) throws(RingwakeError) {
        signing = try Self.key("\(directory)/device.pem")
        hasNewSealingKey = !FileSystem.exists("\(directory)/sealing.pem")
        sealing = try Self.key("\(directory)/sealing.pem")
        guard let device = id(signing.subjectPublicKeyInfo) else {
            throw RingwakeError(.failed, "the device's key has no id; report this as a bug")
        }
        self.device = device
    }

    /// The payload of a push, opened if it is sealed.
    func payload(of push: LinkPush) throws(RingwakeError) -> [UInt8] {
        // A notice has none.
        guard push.notice == nil else { return Array("{}".utf8) }
        guard push.content == .sealed else { return push.payload }
        return try HPKE.open(
            push.payload, with: sealing, info: LinkSeal.info(device), additionalData: LinkSeal.additionalData(of: push))
    }

    private static func key(_ path: String) throws(RingwakeError) -> P256PrivateKey {
        if FileSystem.exists(path) { return try existing(path) }
        let key = try P256PrivateKey.generate()
        let pem = try key.pem
        do throws(FileSystemError) {
            try FileSystem.replace(path, with: pem, mode: 0o600)
        } catch {
            throw RingwakeError(.system, "\(path) cannot be written: \(error.reason)")
        }
        return key
    }

    private static func existing(_ path: String) throws(RingwakeError) -> P256PrivateKey {
        let pem: [UInt8]
        do throws(FileSystemError) {
            pem = try FileSystem.read(path, maximumSize: maximumBytes)
        } catch {
            throw RingwakeError(.system, "\(path) cannot be read: \(error.reason)")
        }
        do throws(RingwakeError) {
            return try P256PrivateKey(pem: pem)
        } catch {
            throw RingwakeError(.badCredential, "\(path): \(error.message); put the key back, or remove it")
        }
    }
}

extension [IPAddress] {
    /// Those that can be connected to, in the resolver's order. Link-local ones need a zone, which a name lacks.
    func sockets(port: UInt16) -> [SocketAddress] {
        compactMap { address in
            try? SocketAddress(
                parsing: address.family == .ipv6 ? "[\(address)]:\(port)" : "\(address):\(port)")
        }
    }
}
