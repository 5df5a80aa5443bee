package import Cryptography
package import DeviceLink
package import RingwakeCore

/// How a device proves its key (`Documentation/link.md`, "Who is who").
package enum DeviceKey {
    /// The label of the TLS exporter (RFC 8446 section 7.5).
    static let exporterLabel = "EXPERIMENTAL-ringwake-link"
    static let exporterBytes = 32
    private static let label = Array("ringwake link 1".utf8)
    private static let timeBytes = 8
    private static let signatureBytes = 64

    /// The id of a key.
    ///
    /// - Parameter publicKey: SubjectPublicKeyInfo.
    package static func id(of publicKey: [UInt8]) -> DeviceID? { DeviceID(Base32.encode(SHA256.digest(publicKey))) }

    /// Authentication Data for ``LinkHello/method``.
    ///
    /// - Parameter time: the wall clock in ms since 1970. The gateway doesn't rely on it.
    package static func authenticationData(
        of key: P256PrivateKey, on connection: TLSConnection, time: Int64
    ) throws(RingwakeError) -> [UInt8] {
        let publicKey = key.subjectPublicKeyInfo
        guard let device = id(of: publicKey) else {
            throw RingwakeError(.failed, "the device's key has no id; report this as a bug")
        }
        let timeBytes = bytes(of: time)
        let exporter = try connection.exportKeyingMaterial(label: exporterLabel, context: nil, count: exporterBytes)
        return publicKey + timeBytes
            + (try key.rawSignature(for: message(device, timeBytes, exporter)))
    }

    /// What a connection has proven: by its certificate, or by the authentication data of its CONNECT.
    package static func proof(of connection: TLSConnection, authenticationData: [UInt8]?) -> LinkProof {
        guard let authenticationData else {
            guard let publicKey = connection.peerCertificate?.subjectPublicKeyInfo else { return .none }
            guard isKey(publicKey), let device = id(of: publicKey) else {
                return .wrong("the certificate's key is not on the curve P-256")
            }
            return .key(device, publicKey)
        }
        let keyBytes = P256PublicKey.subjectPublicKeyInfoBytes
        guard authenticationData.count == keyBytes + timeBytes + signatureBytes else {
            return .wrong("the authentication data has not \(keyBytes + timeBytes + signatureBytes) bytes")
        }
        let publicKey = Array(authenticationData.prefix(keyBytes))
        let time = Array(authenticationData[keyBytes..<(keyBytes + timeBytes)])
        let signature = Array(authenticationData.suffix(signatureBytes))
        do throws(RingwakeError) {
            let key = try P256PublicKey(subjectPublicKeyInfo: publicKey)
            guard let device = id(of: publicKey) else { return .wrong("the key has no id") }
            let exporter = try connection.exportKeyingMaterial(
                label: exporterLabel, context: nil, count: exporterBytes)
            guard key.isValid(rawSignature: signature, for: message(device, time, exporter)) else {
                return .wrong("the signature is not that of the key over this connection")
            }
            return .key(device, publicKey)
        } catch {
            return .wrong(error.message)
        }
    }

    /// Whether these bytes are the SubjectPublicKeyInfo of a P-256 key.
    package static func isKey(_ bytes: [UInt8]) -> Bool { (try? P256PublicKey(subjectPublicKeyInfo: bytes)) != nil }

    /// Whether a raw ES256 signature over a message is of this key.
    package static func isSigned(_ message: [UInt8], _ signature: [UInt8], by publicKey: [UInt8]) -> Bool {
        guard let key = try? P256PublicKey(subjectPublicKeyInfo: publicKey) else { return false }
        return key.isValid(rawSignature: signature, for: message)
    }

    private static func message(_ device: DeviceID, _ time: [UInt8], _ exporter: [UInt8]) -> [UInt8] {
        label + Array(device.rawValue.utf8) + time + exporter
    }

    /// Big-endian.
    private static func bytes(of number: Int64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}
