@testable import ControlProtocol

/// Gateways and links.
enum LinkSamples {
    static let all: [(path: String, message: any Encodable & Sendable)] = [
        ("GatewayMessage/own-port", gateway), ("GatewayMessage/push-ports", pushPorts),
        ("GatewayMessage/drained", drained),
        ("LinkedDeviceMessage/online", online), ("LinkedDeviceMessage/new", new),
        ("LinkedDeviceMessage/moved", moved), ("DeviceMove/for-good", DeviceMove(to: "push2.example.com")),
        ("DeviceMove/temporary", DeviceMove(to: "192.0.2.8:443", temporary: true)), ("LinkMessage/visiting", visiting),
        ("LinkedDeviceListMessage/two", devices),
        ("LinkedDeviceListMessage/empty", LinkedDeviceListMessage(devices: [])),
        ("PushReceiptMessage/queued", queued), ("PushReceiptMessage/ended", ended),
        ("WebhookStatusMessage/failing", failing),
        ("WebhookBodyMessage/two", WebhookBodyMessage([queued, posted], at: "2026-11-21T18:59:01.000Z")),
        ("InvitationMessage/pin", invitation), ("InvitationMessage/public-ca", publicInvitation),
        ("LinkMessage/unpaired", LinkMessage(state: .unpaired)), ("LinkMessage/linked", linked),
        ("LinkMessage/waiting", waiting), ("LinkPairing/pin", pairing),
        (
            "LinkPairing/authorities",
            LinkPairing(
                host: "192.0.2.7", port: 443, code: "AB-1234-5678",
                authorities: "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n")
        ),
    ]

    private static let device = String(repeating: "qxd4f2", count: 8) + "abcd"
    private static let pin = String(repeating: "0f", count: 32)

    static let gateway: GatewayMessage = {
        var message = GatewayMessage(
            address: "0.0.0.0:8883", onPushPorts: false, admission: "invite", devices: 2, online: 1, waiting: 3,
            invitations: 1, linked: 5, unlinked: 4, refused: 2, acknowledged: 40, dropped: 1)
        message.publicAddress = "push.example.com:8883"
        return message
    }()

    private static let pushPorts = GatewayMessage(
        address: nil, onPushPorts: true, admission: "open", devices: 0, online: 0, waiting: 0, invitations: 0,
        linked: 0, unlinked: 0, refused: 0, acknowledged: 0, dropped: 0)

    private static let drained: GatewayMessage = {
        var message = gateway
        message.drainedMs = 90_000
        return message
    }()

    private static let online: LinkedDeviceMessage = {
        var message = LinkedDeviceMessage(
            device: device, name: "door-station", state: "online", pairedAt: "2026-11-21T18:58:52.123Z",
            peer: "198.51.100.7:49152", waiting: 0, sealed: true, revision: 7,
            apps: [.init(app: "com.example.phone", environment: "production", slot: "1a2b3c4d")])
        message.keepAliveSeconds = 240
        message.network = "searching"
        return message
    }()

    private static let new = LinkedDeviceMessage(
        device: String(device.reversed()), name: "gate", state: "offline", pairedAt: "2026-11-22T06:00:00.000Z",
        peer: nil, waiting: 3, sealed: false, revision: nil, apps: [])

    private static let moved: LinkedDeviceMessage = {
        var message = new
        (message.state, message.movesTo, message.waiting) = ("moved", "push2.example.com:8883", 0)
        return message
    }()

    static let devices = LinkedDeviceListMessage(devices: [online, new])

    private static let queued = PushReceiptMessage(
        pushId: "A-1", state: "queued", receivedAt: "2026-11-21T18:58:52.123Z")

    static let ended = PushReceiptMessage(
        pushId: "a-2", state: "ended", reason: "declined", attempt: 1, receivedAt: "2026-11-21T18:58:52.123Z",
        timeline: [Hop(stage: "received", atUs: 0), Hop(stage: "hungUp", atUs: 2_127_047)])

    private static let failing = WebhookStatusMessage(
        team: "DEVTEAM001", url: "https://example.org/receipts", waiting: 3, delivered: 40, failed: 2, dropped: 1,
        problem: "its server answered 500", retryInMs: 2_000)

    private static let posted: PushReceiptMessage = {
        var message = ended
        message.tokenHash = pin
        return message
    }()

    static let invitation = InvitationMessage(
        code: "AB-1234-5678", link: "ringwake://push.example.com:8883/pair?code=AB0123456789ABCDEF&pin=\(pin)",
        gateway: "push.example.com:8883", pin: pin, pins: "ca", expiresInMs: 600_000)

    private static let publicInvitation = InvitationMessage(
        code: "CD-1234-5678", link: "ringwake://push.example.com:443/pair?code=CD0123456789ABCDEF",
        gateway: "push.example.com:443", pin: nil, pins: nil, expiresInMs: 599_999)

    static let linked: LinkMessage = {
        var message = LinkMessage(state: .linked)
        message.gateway = "push.example.com:8883"
        message.trust = "pin"
        message.device = device
        message.linkedMs = 3_600_000
        message.keepAliveSeconds = 240
        message.keepAliveTriedSeconds = 300
        message.keepAliveLongestSeconds = 900
        message.keepAliveFailedSeconds = 340
        message.wakeup = .init(
            interface: "wlan0", state: .disabled, file: "/sys/class/net/wlan0/device/power/wakeup")
        message.received = 12
        message.revision = 7
        message.gatewayRevision = 7
        message.lastEnd = .init(why: "the connection broke", agoMs: 3_601_000)
        message.reset = .init(
            code: "gateway-ahead", why: "the gateway has revision 6, the device 5", mode: "recover",
            result: "recovered", at: "2026-11-21T18:58:52.123Z", copies: "/var/lib/ringwake/resets/1795287532123")
        return message
    }()

    private static let visiting: LinkMessage = {
        var message = LinkMessage(state: .connecting)
        message.gateway = "push.example.com:8883"
        message.visiting = "push2.example.com:8883"
        message.leaving = "push0.example.com:8883"
        message.notFollowed = .init(gateway: "push3.example.com:8883", why: "192.0.2.9:8883: Connection refused")
        message.trust = "pin"
        message.device = device
        return message
    }()

    private static let waiting: LinkMessage = {
        var message = LinkMessage(state: .waiting)
        message.gateway = "push.example.com:8883"
        message.trust = "system"
        message.device = device
        message.retryInMs = 86_000_000
        message.received = 0
        message.revision = 8
        message.lastEnd = .init(why: "the gateway refused with reason 135", agoMs: 400_000)
        message.problem = "the gateway doesn't know this device any more; run 'ringwake link unpair', and pair it again"
        return message
    }()

    static let pairing = LinkPairing(host: "push.example.com", port: 8883, code: "AB0123456789ABCDEF", pin: pin)
}
