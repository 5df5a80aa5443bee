internal import MQTT5
internal import RingwakeCore

/// Decides which devices may pair.
struct Admission: Sendable {
    /// The open invitations.
    var invitations = Invitations()
    /// Of new devices that need no code, by network.
    private var rates = LinkRates<String>(burst: 20, interval: .seconds(180))

    /// Lets a device in that asks for it with a code, which is used up then. Where none is needed, quotas hold.
    ///
    /// - Throws: why it is refused, in words for the device.
    mutating func admit(
        _ device: DeviceID, code: String, from network: String, among directory: DeviceDirectory, isOpen: Bool,
        at now: BootInstant
    ) throws(UplinkMessage.Defect) {
        if isOpen { return try admit(device, from: network, among: directory, at: now) }
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
