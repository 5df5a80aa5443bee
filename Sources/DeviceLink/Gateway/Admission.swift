internal import MQTT5
internal import RingwakeCore

/// Decides which devices may pair, and how often the others may connect and register.
struct Admission: Sendable {
    /// The open invitations.
    var invitations = Invitations()
    private var connectRates = LinkRates<DeviceID>(burst: 10, interval: connectionInterval)
    /// Of registrations, which are written to the disk.
    private var registrationRates = LinkRates<DeviceID>(burst: 20, interval: .seconds(3))
    /// Of new devices that need no code, by network.
    private var rates = LinkRates<String>(burst: 20, interval: .seconds(180))

    /// What the devices were whose pairing is not stored yet; nil: unknown.
    private var formerRecords: [LinkID: DeviceRecord?] = [:]

    private static let connectionInterval = Duration.seconds(6)
    /// When a device may try again for which there was no place.
    private static let fullInterval = Duration.seconds(60)

    /// Why a device may not connect now; nil if it may.
    ///
    /// - Parameter hasRoom: whether there is a place for its link.
    mutating func objection(
        to hello: LinkHello, among directory: DeviceDirectory, hasRoom: Bool, at now: BootInstant
    ) -> LinkHello.Refusal? {
        guard hello.purpose != .pair else { return nil }
        guard let record = directory[hello.device] else {
            return .init(.notAuthorized, "the device is not paired with this gateway")
        }
        if record.revokedAt != nil { return .init(.notAuthorized, "the device was revoked") }
        guard connectRates.take(hello.device, at: now) else {
            return .init(
                .connectionRateExceeded, "the device connects too often", retryAfter: Self.connectionInterval)
        }
        guard hasRoom || hello.purpose == .probe else {
            return .init(
                .serverBusy, "the gateway has as many links as it takes", retryAfter: Self.fullInterval)
        }
        return nil
    }

    /// Adds a device that asks for it with a code, which is used up then. Where none is needed, quotas hold.
    ///
    /// - Throws: why it is refused, in words for the device.
    mutating func pair(
        _ device: DeviceID, _ request: UplinkMessage.PairRequest, on link: LinkID, from network: String,
        in directory: inout DeviceDirectory, isOpen: Bool, at now: BootInstant, wall: Int64
    ) throws(UplinkMessage.Defect) {
        try admit(device, code: request.code, from: network, among: directory, isOpen: isOpen, at: now)
        formerRecords[link] = .some(directory[device])
        directory.pair(device, name: request.name, sealing: request.sealing, at: wall)
    }

    /// What the device was that has paired on a link; nil: unknown.
    mutating func takeFormer(of link: LinkID) -> DeviceRecord? { formerRecords.removeValue(forKey: link) ?? nil }

    private mutating func admit(
        _ device: DeviceID, code: String, from network: String, among directory: DeviceDirectory, isOpen: Bool,
        at now: BootInstant
    ) throws(UplinkMessage.Defect) {
        if isOpen, directory[device]?.isBarred != true {
            return try admit(device, from: network, among: directory, at: now)
        }
        switch invitations.redeem(code, from: network, at: now) {
        case .valid: break
        case .wrong:
            throw UplinkMessage.Defect(
                .notAuthorized, "the code is not valid, or no longer; ask for another with 'ringwake gateway invite'")
        case .tooManyTries:
            throw UplinkMessage.Defect(
                .notAuthorized, "too many wrong codes came from your network; try again in an hour")
        }
    }

    /// Lets a device register what it has.
    mutating func admitRegistrations(of device: DeviceID, at now: BootInstant) throws(UplinkMessage.Defect) {
        guard registrationRates.take(device, at: now) else {
            throw UplinkMessage.Defect(.quotaExceeded, "the device registers too often; try again in a minute")
        }
    }

    private mutating func admit(
        _ device: DeviceID, from network: String, among directory: DeviceDirectory, at now: BootInstant
    ) throws(UplinkMessage.Defect) {
        guard directory[device] == nil else { return }
        guard directory.devices.count < LinkLimits.maximumOpenDevices else {
            throw UplinkMessage.Defect(.quotaExceeded, "the gateway has as many devices as it takes without a code")
        }
        guard rates.take(network, at: now) else {
            throw UplinkMessage.Defect(.quotaExceeded, "too many devices of your network pair; try again later")
        }
    }
}
