internal import FoundationEssentials
package import RingwakeCore

/// What a gateway keeps of a device. One row of the store, replaced as a whole.
package struct DeviceRecord: Hashable, Sendable, Codable {
    /// A token that ended. Its senders get 410 with the time.
    package struct EndedToken: Hashable, Sendable, Codable {
        /// SHA-256 in hex.
        package let token: String
        /// In ms since 1970.
        package let at: Int64
    }

    /// The version of the format.
    package static let version = 1
    /// Ended tokens that are remembered at most, the newest.
    static let maximumEnded = 1_000
    /// Maximum UTF-8 bytes of a name.
    static let maximumNameBytes = 120

    package let id: DeviceID
    package var name: String
    /// In ms since 1970.
    package var pairedAt: Int64
    /// SubjectPublicKeyInfo of the key for sealed payloads, in base64; nil: payloads are not sealed.
    package var sealing: String?
    /// Nil: the device has never sent its registrations.
    package var revision: UInt64?
    package var registrations: [LinkRegistration] = []
    package var ended: [EndedToken] = []
    /// When it was revoked, in ms since 1970.
    package var revokedAt: Int64?
    /// Whether an administrator revoked it: it needs a code to come back. Nil: no.
    package var isBarred: Bool?
    /// The gateway that it is to move to, or, if it is revoked, that it has moved to: `host:port`. Nil: it stays.
    package var movesTo: String?
    /// The gateway's address that the device used last, as it says: `host:port`. Nil: it doesn't say.
    package var server: String?

    package init(id: DeviceID, name: String, pairedAt: Int64, sealing: String?) {
        self.id = id
        self.name = name
        self.pairedAt = pairedAt
        self.sealing = sealing
    }

    /// Ends the tokens of registrations.
    mutating func end(_ gone: [LinkRegistration], at time: Int64) {
        ended += gone.map { EndedToken(token: $0.token, at: time) }
        ended = Array(ended.suffix(Self.maximumEnded))
    }

    /// The row's contents.
    package func encoded() throws(RingwakeError) -> [UInt8] {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return Array(try encoder.encode(self))
        } catch {
            throw RingwakeError(.failed, "the record of device \(id) cannot be encoded: \(error); report this as a bug")
        }
    }

    /// Reads a row.
    ///
    /// - Throws: `system`, with what is wrong with it.
    package init(id: DeviceID, version: Int, data: [UInt8]) throws(RingwakeError) {
        guard version <= Self.version else {
            throw RingwakeError(.conflict, "a newer version wrote it (\(version)); start that version again")
        }
        do {
            self = try JSONDecoder().decode(DeviceRecord.self, from: Data(data))
        } catch {
            throw RingwakeError(.system, "it cannot be read: \(error)")
        }
        guard self.id == id else { throw RingwakeError(.system, "it is of another device") }
    }
}
