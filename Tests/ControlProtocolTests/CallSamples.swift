@testable import ControlProtocol

/// What the rules of calls bring into the messages: holding, muting, digits, handlers that are lost, calls kept out.
enum CallSamples {
    static let all: [(path: String, message: any Encodable & Sendable)] = [
        ("CallMessage/held", held), ("CallMessage/talking", talking), ("CallMessage/silent", silent),
        ("CallMessage/answered-by-app", byApp), ("CallMessage/conference", conference),
        ("CallMessage/lost", lost), ("CallMessage/restricted", restricted), ("CallMessage/outgoing", outgoing),
        ("PushMessage/restricted", restrictedPush), ("PushMessage/withheld", withheldPush),
        ("CallAnswer/end-others", CallAnswer(others: "end")), ("CallAnswer/empty", CallAnswer()),
        ("CallMerge/other", CallMerge(with: "c7")),
        ("CallDigits/all", CallDigits(digits: "0123456789*#ABCD,")),
        (
            "CallStart/all",
            CallStart(
                app: "com.example.phone", to: "sip:bob@example.org", name: "Bob", video: true, call: "c8", others: "end"
            )
        ),
        ("CallStart/least", CallStart(to: "112")),
        ("ActionResult/start", ActionResult(action: "start")),
        ("ActionResult/dtmf", ActionResult(action: "dtmf")),
    ]

    static let held = CallMessage(
        call: "c3", app: "com.example.phone", topic: "com.example.phone.voip", environment: "production",
        team: "TEAM123456", state: "held", reason: nil, detail: nil, missed: false, pushId: "A-3",
        caller: "+4989123456", callerName: nil, identifiedAs: "Dr. Bauer", video: false, muted: true, ringer: "daemon",
        pending: [
            PendingActionMessage(action: "unhold", deadlineMs: 9000),
            PendingActionMessage(action: "dtmf", digits: "12#", deadlineMs: 9500),
        ],
        attempt: 1, pid: 77, deadlineMs: 14_400_000, receivedAt: "2026-11-21T18:58:52.123Z",
        timeline: [Hop(stage: "received", atUs: 0)])

    private static let lost = CallMessage(
        call: "c4", app: "com.example.phone", topic: "com.example.phone.voip", environment: "production",
        team: "TEAM123456", state: "connected", reason: nil, detail: nil, missed: false, pushId: "A-4",
        caller: "sip:alice@example.org", callerName: "Alice", video: true, attempt: 1, pid: nil, claimMs: 4200,
        deadlineMs: 14_000_000, receivedAt: "2026-11-21T18:58:52.123Z", timeline: [Hop(stage: "received", atUs: 0)])

    private static let outgoing = CallMessage(
        call: "c8", app: "com.example.phone", outgoing: true, topic: nil, environment: nil, team: nil,
        state: "dialling", reason: nil, detail: nil, missed: false, pushId: nil, caller: "sip:bob@example.org",
        callerName: "Bob", video: true, pending: [PendingActionMessage(action: "start", deadlineMs: 9500)], attempt: 1,
        pid: 79, deadlineMs: 9500, receivedAt: "2026-11-21T18:58:52.123Z", timeline: [Hop(stage: "received", atUs: 0)])

    private static let talking = {
        var call = lost
        (call.call, call.claimMs, call.pid) = ("c6", nil, 78)
        call.audio = CallAudioMessage(
            state: "active", activation: 2,
            route: AudioRouteMessage(outputs: [AudioPortMessage(kind: "headset", device: "usb", name: "A headset")]))
        return call
    }()

    private static let byApp = {
        var call = talking
        call.timeline = [
            Hop(stage: "received", atUs: 0), Hop(stage: "answered", atUs: 2_000_000, by: "app"),
        ]
        (call.supportsHold, call.supportsDTMF) = (false, false)
        return call
    }()

    private static let conference = {
        var call = talking
        (call.supportsMerge, call.conference) = (true, 1)
        call.pending = [PendingActionMessage(action: "merge", with: "c7", deadlineMs: 9000)]
        return call
    }()

    private static let silent = {
        var call = talking
        call.audio = CallAudioMessage(
            state: "failed", activation: 0, code: "mediaServicesFailed", why: "no audio server: connection refused")
        return call
    }()

    static let restricted = CallMessage(
        call: "c5", app: "com.example.phone", topic: "com.example.phone.voip", environment: "production",
        team: "TEAM123456", state: "ended", reason: "blocked", detail: "blocked by the list 'spam'",
        missed: false, pushId: "A-5", caller: "+49900123456", callerName: nil, video: false,
        restriction: RestrictionMessage(kind: "blocked", detail: "blocked by the list 'spam'"), attempt: 0,
        pid: nil, deadlineMs: nil, receivedAt: "2026-11-21T18:58:52.123Z",
        timeline: [Hop(stage: "received", atUs: 0)])

    private static let restrictedPush = PushMessage(
        pushId: "A-5", app: "com.example.phone", topic: "com.example.phone.voip", environment: "production",
        team: "TEAM123456", priority: 10, collapseId: nil, call: "c5", outcome: "restricted", state: "restricted",
        reason: "restricted", detail: "do not disturb until 07:00",
        restriction: RestrictionMessage(kind: "doNotDisturb", detail: "do not disturb until 07:00"), attempt: 0,
        receivedAt: "2026-11-21T18:58:52.123Z", timeline: [Hop(stage: "received", atUs: 0)])

    private static let withheldPush = PushMessage(
        pushId: "A-6", app: "com.example.phone", topic: "com.example.phone.voip", environment: "production",
        team: "TEAM123456", priority: 10, collapseId: nil, call: "c6", outcome: "withheld", state: "withheld",
        reason: "handlerFailed", detail: nil, attempt: 0, receivedAt: "2026-11-21T18:58:52.123Z",
        timeline: [Hop(stage: "received", atUs: 0)])
}
