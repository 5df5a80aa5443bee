package import RingwakeCore

/// A linked device, as its gateway keeps it.
package nonisolated struct DeviceRow: Hashable, Sendable {
    /// The device's id.
    package let id: String
    /// The version of the format of `data`, defined by its writer.
    package let version: Int
    package let data: [UInt8]

    package init(id: String, version: Int, data: [UInt8]) {
        self.id = id
        self.version = version
        self.data = data
    }
}

/// The key of a push that waits at the gateway.
package nonisolated struct MailRowKey: Hashable, Sendable {
    package let run: UInt64
    package let sequence: UInt64

    package init(run: UInt64, sequence: UInt64) {
        self.run = run
        self.sequence = sequence
    }
}

/// A push that waits at the gateway for its device.
package nonisolated struct MailRow: Hashable, Sendable {
    package let key: MailRowKey
    /// The device's id.
    package let device: String
    package let receivedAt: BootInstant
    /// In ms since 1970.
    package let receivedWall: Int64
    /// The version of the format of `facts`, defined by its writer.
    package let version: Int
    /// Everything else but the payload.
    package let facts: [UInt8]
    package let payload: [UInt8]

    package init(
        key: MailRowKey, device: String, receivedAt: BootInstant, receivedWall: Int64, version: Int, facts: [UInt8],
        payload: [UInt8]
    ) {
        self.key = key
        self.device = device
        self.receivedAt = receivedAt
        self.receivedWall = receivedWall
        self.version = version
        self.facts = facts
        self.payload = payload
    }
}

/// A push that waited at the gateway when the store was opened: all but its payload.
package nonisolated struct StoredMail: Hashable, Sendable {
    package let key: MailRowKey
    package let device: String
    /// On the clock of this boot; before it, if it is of an earlier one.
    package let receivedAt: BootInstant
    package let receivedWall: Int64
    package let version: Int
    package let facts: [UInt8]
    package let payloadBytes: Int
}

/// Changes of devices and of their waiting pushes.
nonisolated enum LinkWork: Sendable {
    case append(MailRow, replacing: [MailRowKey])
    case remove([MailRowKey])
    case put(DeviceRow)
    case removeDevice(String)
}

/// What one read of payloads has found.
package typealias MailPayloads = [MailRowKey: (facts: [UInt8], payload: [UInt8])]
