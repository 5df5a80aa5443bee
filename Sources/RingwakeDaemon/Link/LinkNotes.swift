internal import DeviceLink
internal import Logging
internal import MQTT5
internal import RingwakeCore

/// What has happened on the links since the start.
struct LinkCounters {
    private(set) var linked: UInt64 = 0
    private(set) var unlinked: UInt64 = 0
    private(set) var refused: UInt64 = 0
    private(set) var acknowledged: UInt64 = 0
    private(set) var dropped: UInt64 = 0

    mutating func count(_ note: LinkNote) {
        switch note {
        case .linked: linked += 1
        case .unlinked: unlinked += 1
        case .refused: refused += 1
        case .acknowledged: acknowledged += 1
        case .dropped: dropped += 1
        case .paired, .registered, .registrationsRefused, .divergence, .unregistered: break
        }
    }
}

extension Logger {
    /// Logs what happened on a link. What strangers cause at will is logged at debug.
    func log(_ note: LinkNote, address: (LinkID) -> String?) {
        switch note {
        case .linked(let link, let device, let version):
            info(
                "device linked",
                metadata: [
                    "device": "\(device.short)", "peer": "\(address(link) ?? "")", "version": "\(version ?? "stock")",
                ])
        case .unlinked(_, let device, let cause):
            info("device unlinked", metadata: ["device": "\(device.short)", "cause": "\(cause)"])
        case .paired(let device, let name):
            notice("device paired", metadata: ["device": "\(device)", "name": "\(name)"])
        case .refused(let link, _, let reason, let text):
            debug(
                "device refused",
                metadata: [
                    "peer": "\(address(link) ?? "")", "reason": "\(reason.rawValue)", "cause": "\(text)",
                ])
        case .registered(let device, let count, let revision):
            info(
                "registrations of a device",
                metadata: ["device": "\(device.short)", "count": "\(count)", "revision": "\(revision)"])
        case .registrationsRefused(let device, let why):
            notice("a device's message was refused", metadata: ["device": "\(device.short)", "why": "\(why)"])
        case .divergence(let device, let why):
            warning("gateway and device do not agree", metadata: ["device": "\(device.short)", "why": "\(why)"])
        case .unregistered(let device, let slot):
            info("a registration ended", metadata: ["device": "\(device.short)", "slot": "\(slot)"])
        case .dropped(let device, let key, let why):
            notice(
                "a push ended without reaching its app",
                metadata: ["device": "\(device.short)", "push": "\(key.text)", "why": "\(why.rawValue)"])
        case .acknowledged(let device, let key, let reason):
            debug(
                "push settled by its device",
                metadata: [
                    "device": "\(device.short)", "push": "\(key.text)", "reason": "\(reason.rawValue)",
                ])
        }
    }
}

extension ReconnectBackoff.Problem {
    /// What a person has to know, and to do.
    var text: String {
        switch self {
        case .takenOver:
            "another machine links with this device's key, as a copy of its disk does; remove device.pem and gateway.json "
                + "from the state directory of one of them, and pair it again"
        case .revoked:
            "the gateway doesn't know this device any more; run 'ringwake link unpair', and pair it again"
        }
    }
}

extension LinkEnd.Cause {
    /// In words, where the gateway gave none.
    var text: String {
        switch self {
        case .refused(let reason): "the gateway refused with reason \(reason.rawValue)"
        case .disconnected(let reason): "the gateway ended it with reason \(reason.rawValue)"
        case .broken: "the connection broke"
        case .left: "this device left"
        }
    }
}
