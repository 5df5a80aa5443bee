import RingwakeCore

@testable import ControlProtocol

/// Each event, with all of its members and without those that may be absent.
enum EventSamples {
    static let all: [(path: String, message: any Encodable & Sendable)] = events.map {
        ("EventMessage/\($0.path)", $0.event)
    }

    private static let app = "com.example.phone"

    static let events: [(path: String, event: EventMessage)] = [
        (
            "handler",
            .handler(
                .init(
                    app: app, features: ["actions", "claim"], secret: "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
                    socket: "/run/ringwake/control.sock", version: "0.1.0"))
        ),
        ("handler-again", .handler(.init(app: app, secret: nil, socket: "/run/ringwake/control.sock"))),
        ("call", .call(call)),
        ("call-muted", .call(muted)),
        ("call-conference", .call(conference)),
        ("call-outgoing", .call(outgoing)),
        ("action-start", .action(.init(app: app, call: "c8", action: "start", digits: nil, deadlineMs: 10_000))),
        ("call-lost", .call(lost)),
        ("call-ended", .call(ended)),
        ("action", .action(.init(app: app, call: "c1", action: "answer", digits: nil, deadlineMs: 10_000))),
        ("action-merge", .action(.init(app: app, call: "c1", action: "merge", with: "c7", deadlineMs: 10_000))),
        ("action-dtmf", .action(.init(app: app, call: "c1", action: "dtmf", digits: "12#", deadlineMs: 10_000))),
        ("push-ignored", .pushIgnored(.init(app: app, call: "c1", pushId: "A-1", outcome: "duplicate"))),
        ("push-request", .pushRequest(request)),
        ("push-request-refused", .pushRequest(refusedRequest)),
        ("push-waiting", .pushWaiting(.init(app: app, call: "c1", kind: "update"))),
        ("strike", .strike(.init(app: app, call: "c1", failure: "didNotReport"))),
        ("struck-out", .struckOut(.init(app: app, struckOut: true))),
        (
            "restricted",
            .restricted(
                .init(
                    app: app, call: "c1",
                    restriction: RestrictionMessage(kind: "doNotDisturb", detail: "do not disturb until 07:00")))
        ),
        (
            "missed",
            .missed(.init(app: app, call: "c1", endReason: "unanswered", caller: "sip:alice@example.org"))
        ),
        (
            "link-reset",
            .linkReset(
                .init(
                    gateway: "push.example.com:8883", device: "qxd4f2",
                    reset: .init(
                        code: "gateway-ahead", why: "the gateway has revision 9, this device 7", mode: "recover",
                        result: "recovered", at: "2026-11-21T18:58:52.123Z",
                        copies: "/var/lib/ringwake/resets/1795755532123")))
        ),
        ("cellular", .cellular(.init(active: false))),
        ("audio-activated", audio(.activated(AudioSamples.receiver))),
        ("audio-activated-listening", audio(.activated(AudioSamples.listening))),
        ("audio-deactivated", audio(.deactivated)),
        ("audio-failed", audio(.failed(AudioSessionError(.mediaServicesFailed, "no audio server answers")))),
        (
            "audio-route-changed",
            audio(
                .routeChanged(.newDeviceAvailable, previous: AudioSamples.receiver, current: AudioSamples.headset))
        ),
        ("path", .path(.init(app: nil, call: nil, path: NetworkSamples.noPath))),
        ("path-call", .path(.init(app: app, call: "c1", path: NetworkSamples.path))),
        ("connection", .connection(.init(app: nil, connection: "online", connectionReason: nil))),
        ("connection-app", .connection(.init(app: app, connection: "offline", connectionReason: "noRoute"))),
        ("credentials", .credentials(.init(app: app, valid: false))),
        ("reload", .reload(.init())),
        (
            "handler-locked",
            .handler(.init(app: app, protectedDataAvailable: false, secret: nil, socket: "/run/ringwake/control.sock"))
        ),
        ("protected-data", .protectedData(.init(.available))),
        ("protected-data-ends", .protectedData(.init(.willBecomeUnavailable, deadlineMs: 10_000))),
        (
            "handler-restricted",
            .handler(
                .init(
                    app: app, restrictions: ScreeningSamples.restrictions, secret: nil,
                    socket: "/run/ringwake/control.sock"))
        ),
        ("restrictions", .restrictions(.init(app: nil, restrictions: RestrictionsMessage()))),
        ("restrictions-app", .restrictions(.init(app: app, restrictions: ScreeningSamples.restrictions))),
        ("telephony", .telephony(.init(modems: NetworkSamples.modems))),
        ("state-dropped", .stateDropped(.init(app: app, reason: "crashed"))),
    ]

    private static let request = EventMessage.PushRequest(
        at: "2026-11-21T18:58:52.123Z", peer: "192.0.2.1:50000", environment: "development", team: "TEAM123456",
        app: app, method: "POST", path: "/3/device/" + String(repeating: "0f", count: 32),
        headers: [
            .init(name: "apns-topic", value: "com.example.phone.voip"),
            .init(name: "authorization", value: "bearer e30.e30.…"),
        ],
        payload: #"{"call":"c1"}"#, pushId: "A-1", status: 200, fault: "delay")

    private static let refusedRequest = EventMessage.PushRequest(
        at: "2026-11-21T18:58:52.123Z", peer: "192.0.2.1:50000", environment: "development", method: "POST",
        path: "/3/device/00", headers: [], payloadBinary: "/w==", pushId: "A-2", status: 400,
        pushReason: "PayloadEmpty", cause: "the payload is not a JSON object")

    private static let call = EventMessage.CallChange(
        app: app, call: "c1", number: 7, state: "ringing", endReason: nil, deadlineMs: 45_000, claimMs: nil,
        muted: false, caller: "sip:alice@example.org", identifiedAs: nil, atUs: 120_000)

    private static let muted = {
        var event = call
        (event.state, event.deadlineMs, event.muted) = ("connected", 14_400_000, true)
        (event.connectedMs, event.answeredBy) = (185_000, "app")
        event.identifiedAs = "Alice's office"
        (event.video, event.supportsHold, event.supportsDTMF) = (false, false, false)
        return event
    }()

    private static let conference = {
        var event = call
        (event.state, event.deadlineMs) = ("connected", 14_400_000)
        (event.supportsMerge, event.conference) = (true, 1)
        return event
    }()

    private static let outgoing = EventMessage.CallChange(
        app: app, call: "c8", number: 8, outgoing: true, state: "connecting", endReason: nil, deadlineMs: 180_000,
        claimMs: nil, muted: false, caller: "sip:bob@example.org", callerName: "Bob", video: true, identifiedAs: nil,
        atUs: 20_000)

    private static let lost = {
        var event = call
        (event.state, event.deadlineMs, event.claimMs, event.caller) = ("held", 14_400_000, 5000, nil)
        return event
    }()

    private static let ended = {
        var event = call
        (event.state, event.deadlineMs, event.endReason) = ("ended", nil, "remoteEnded")
        return event
    }()

    private static func audio(_ change: CallAudioChange) -> EventMessage {
        guard let app = AppID(app) else { preconditionFailure("a bundle id") }
        return EventMessage(audio: change, of: CallKey(app: app, id: CallID("c1")), activation: 2)
    }
}
