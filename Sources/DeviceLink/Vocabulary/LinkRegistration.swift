package import RingwakeCore

/// An app of a device, as the gateway knows it. The device makes them and owns them.
package struct LinkRegistration: Hashable, Sendable, Codable {
    package let slot: LinkSlot
    package let app: AppID
    /// The topics that pushes to it may have.
    package let topics: [Topic]
    package let environment: PushEnvironment
    /// SHA-256 of the device token, in hex.
    package let token: String

    package init(slot: LinkSlot, app: AppID, topics: [Topic], environment: PushEnvironment, token: String) {
        self.slot = slot
        self.app = app
        self.topics = topics
        self.environment = environment
        self.token = token
    }

    /// Tells sets of registrations apart, whatever their order: the hashes of their tokens, combined by exclusive or, in hex.
    package static func mark(of registrations: [LinkRegistration]) -> String {
        var mark = [UInt8](repeating: 0, count: 32)
        for one in registrations {
            for (index, byte) in (decodeHex(Array(one.token.utf8)) ?? []).prefix(mark.count).enumerated() {
                mark[index] ^= byte
            }
        }
        return encodeHex(mark)
    }
}

/// All registrations of a device, and their revision, which rises with each change.
package struct LinkRegistrations: Hashable, Sendable, Codable {
    package var revision: UInt64
    package var registrations: [LinkRegistration]
    /// The device's key for sealed payloads, in base64; nil: the gateway keeps the one that it has.
    package var sealing: String?

    package init(revision: UInt64, registrations: [LinkRegistration], sealing: String? = nil) {
        self.revision = revision
        self.registrations = registrations
        self.sealing = sealing
    }
}

/// A linked device token: 16 random bytes, and 16 bytes that bind them to their device, so that nobody who has seen a
/// token can register it for another device.
package enum LinkedToken {
    /// Bytes of each half.
    package static let half = 16

    private static let label = "ringwake token 1"

    /// - Parameters:
    ///   - random: 16 random bytes.
    ///   - sha256: the digest of bytes.
    /// - Returns: nil unless `random` has 16 bytes.
    package static func make(
        device: DeviceID, environment: PushEnvironment, random: [UInt8], sha256: ([UInt8]) -> [UInt8]
    ) -> DeviceToken? {
        guard random.count == half else { return nil }
        return DeviceToken(bytes: random + binding(device, environment, random, sha256))
    }

    /// Whether a token was made for this device.
    package static func isBound(
        _ token: DeviceToken, to device: DeviceID, environment: PushEnvironment, sha256: ([UInt8]) -> [UInt8]
    ) -> Bool {
        let random = Array(token.bytes.prefix(half))
        return token.bytes.suffix(half).elementsEqual(binding(device, environment, random, sha256))
    }

    private static func binding(
        _ device: DeviceID, _ environment: PushEnvironment, _ random: [UInt8], _ sha256: ([UInt8]) -> [UInt8]
    ) -> ArraySlice<UInt8> {
        sha256(Array(label.utf8) + Array(device.rawValue.utf8) + Array(environment.rawValue.utf8) + random)
            .prefix(half)
    }
}
