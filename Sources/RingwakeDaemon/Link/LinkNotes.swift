internal import ControlProtocol
internal import DeviceLink
internal import HTTPServer
internal import Logging
internal import MQTT5
internal import RingwakeCore
internal import RunLoop

/// What has happened on the links since the start.
struct LinkCounters {
    private(set) var linked: UInt64 = 0
    private(set) var unlinked: UInt64 = 0
    private(set) var refused: UInt64 = 0
    private(set) var refusedByReason: [MQTTReason: UInt64] = [:]
    private(set) var acknowledged: UInt64 = 0
    /// From a push's arrival to its acknowledgement.
    private(set) var acknowledgementTimes = TimeHistogram()
    private(set) var dropped: UInt64 = 0
    /// Pushes that were answered because the device has them, and because they are on the disk.
    private(set) var forwarded: UInt64 = 0
    private(set) var queued: UInt64 = 0

    mutating func count(_ relay: PushRelay) {
        switch relay {
        case .forwarded: forwarded += 1
        case .queued: queued += 1
        }
    }

    mutating func count(_ note: LinkNote, at now: BootInstant) {
        switch note {
        case .linked: linked += 1
        case .unlinked: unlinked += 1
        case .refused(_, _, let reason, _):
            refused += 1
            refusedByReason[reason, default: 0] += 1
        case .acknowledged(_, _, let reason, let arrived):
            acknowledged += 1
            guard reason == .success, let arrived else { return }
            acknowledgementTimes.add(milliseconds: now.nanoseconds / 1_000_000 - arrived)
        case .dropped: dropped += 1
        case .paired, .registered, .messageRefused, .divergence, .unregistered, .moved, .probeEnded: break
        }
    }
}

/// Logs what happens on links: what strangers cause at will at debug, and what a device can cause at will once a minute.
struct LinkLog {
    private nonisolated struct Kind: Hashable, Sendable {
        let device: DeviceID
        let text: String
    }

    private let logger: Logger
    private var throttle = LogThrottle<Kind>(maximumKinds: 10_000)

    init(_ logger: Logger) { self.logger = logger }

    private mutating func note(
        _ level: Logger.Level, _ text: String, _ device: DeviceID, _ facts: Logger.Metadata, at now: BootClock.Instant
    ) {
        guard let unlogged = throttle.note(Kind(device: device, text: text), at: now) else { return }
        var metadata = facts
        metadata["device"] = "\(device.short)"
        if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
        logger.log(level: level, "\(text)", metadata: metadata)
    }

    mutating func note(_ note: LinkNote, at now: BootClock.Instant, address: (LinkID) -> String?) {
        switch note {
        case .linked(let link, let device, let version):
            logger.info(
                "device linked",
                metadata: [
                    "device": "\(device.short)", "peer": "\(address(link) ?? "")", "version": "\(version ?? "stock")",
                ])
        case .unlinked(_, let device, let cause):
            logger.info("device unlinked", metadata: ["device": "\(device.short)", "cause": "\(cause)"])
        case .paired(let device, let name):
            logger.notice("device paired", metadata: ["device": "\(device)", "name": "\(name)"])
        case .refused(let link, _, let reason, let text):
            logger.debug(
                "device refused",
                metadata: [
                    "peer": "\(address(link) ?? "")", "reason": "\(reason.rawValue)", "cause": "\(text)",
                ])
        case .registered(let device, let count, let revision):
            self.note(
                .info, "registrations of a device", device, ["count": "\(count)", "revision": "\(revision)"], at: now)
        case .messageRefused(let device, let why):
            self.note(.notice, "a device's message was refused", device, ["why": "\(why)"], at: now)
        case .divergence(let device, let why):
            self.note(.warning, "gateway and device do not agree", device, ["why": "\(why)"], at: now)
        case .moved(let device):
            logger.notice("device has moved to another gateway", metadata: ["device": "\(device)"])
        case .unregistered(let device, let slot):
            logger.info("a registration ended", metadata: ["device": "\(device.short)", "slot": "\(slot)"])
        case .dropped(let device, let key, let why):
            logger.notice(
                "a push ended without reaching its app",
                metadata: ["device": "\(device.short)", "push": "\(key.text)", "why": "\(why.rawValue)"])
        // GatewayKeepAlives logs it, with what was learned.
        case .probeEnded: break
        case .acknowledged(let device, let key, let reason, _):
            logger.debug(
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
            "the gateway doesn't know this device any more; if its store was put back, restart ringwaked, else run "
                + "'ringwake link unpair', and pair it again"
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
