/// The limits of a link, as `Documentation/link.md` states them.
package struct LinkLimits: Hashable, Sendable {
    /// Maximum bytes of a packet of a device that has proven nothing yet, and of its CONNECT.
    package static let unprovenPacketBytes = 16 << 10
    /// Maximum bytes of a packet of a paired device.
    package static let packetBytes = 64 << 10
    /// The least Maximum Packet Size that a device may have: a push with its properties fits.
    package static let leastPacketBytes: UInt32 = 8 << 10
    /// Maximum bytes of a packet of a device that is pairing.
    package static let pairingPacketBytes = 1024
    /// What a device may publish without an acknowledgement.
    package static let receiveMaximum: UInt16 = 16
    /// Maximum pushes on their way to a device, whatever its Receive Maximum.
    package static let maximumInFlight = 64
    /// Maximum registrations of a device.
    package static let maximumRegistrations = 200
    /// Devices that a gateway may have when the next one pairs without a code.
    package static let maximumOpenDevices = 10_000

    /// How long a commit waits for the device's acknowledgement.
    package var holdTime: Duration = .milliseconds(50)
    /// Maximum waiting pushes of a device.
    package var maximumMail = 100
    /// Maximum bytes of their payloads.
    package var maximumMailBytes = 256 << 10
    /// Maximum waiting pushes of one registration.
    package var maximumMailOfSlot = 20
    /// How long a VoIP push waits for its device before it becomes a notice.
    package var maximumMailAge: Duration = .seconds(24 * 3600)
    /// When a push is offered again that the device could not take.
    package var offerAgainAfter: Duration = .seconds(60)

    package init() {}
}
