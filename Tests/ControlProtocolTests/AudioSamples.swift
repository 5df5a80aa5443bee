@testable import ControlProtocol
import RingwakeCore

/// What audio sessions bring into the messages.
enum AudioSamples {
    static let all: [(path: String, message: any Encodable & Sendable)] =
        statuses + sessions + notices + bodies

    static let receiver = AudioRoute(
        inputs: [
            AudioPort(
                kind: .builtInMicrophone, device: "alsa_input.platform-sound", port: "[In] Mic", name: "Microphone")
        ],
        outputs: [
            AudioPort(
                kind: .builtInReceiver, device: "alsa_output.platform-sound", port: "[Out] Earpiece", name: "Earpiece")
        ])

    /// No microphone is connected.
    static let listening = AudioRoute(outputs: receiver.outputs, isInputAvailable: false)

    static let headset = AudioRoute(
        inputs: [AudioPort(kind: .bluetoothHFP, device: "bluez_input.AA", name: "Alice's headset")],
        outputs: [AudioPort(kind: .bluetoothHFP, device: "bluez_output.AA", name: "Alice's headset")])

    static let connected = AudioStatusMessage(
        backend: "program", state: "connected", pid: 812,
        server: .init(name: "PulseAudio (on PipeWire 0.3.65)", version: "15.0.0", location: "alice@phone"),
        route: AudioRouteMessage(receiver), output: "builtInReceiver", sessions: 2, active: 1, call: true, effects: 3,
        counters: .init(
            activations: 4, activationUs: 9800, longestActivationUs: 4100, failures: ["mediaServicesFailed": 1],
            effectsMade: 9, effectsUndone: 5, effectsLeft: 1))

    private static let statuses: [(String, any Encodable & Sendable)] = [
        ("AudioStatusMessage/connected", connected),
        (
            "AudioStatusMessage/unavailable",
            AudioStatusMessage(
                backend: "socket", state: "unavailable", why: "nobody listens on /run/user/1000/ringwake/audio.sock",
                sessions: 1)
        ),
        (
            "AudioStatusMessage/no-microphone",
            AudioStatusMessage(
                backend: "program", state: "connected", route: AudioRouteMessage(listening), sessions: 1, active: 1,
                call: true)
        ),
        ("AudioStatusMessage/off", AudioStatusMessage(backend: "none", state: "off")),
    ]

    static let callSession = AudioSessionMessage(
        id: 0, name: "com.example.phone", app: "com.example.phone", call: "c1", pids: [812, 77],
        configuration: voice, state: "active", route: AudioRouteMessage(receiver), openMs: 12_000)

    private static let voice: AudioSessionConfiguration = {
        guard
            let configuration = try? AudioConfigurationBody(
                category: "playAndRecord", mode: "voiceChat", options: ["duckOthers", "allowBluetoothHFP"],
                preferredOutput: "bluetoothHFP"
            ).configuration()
        else { preconditionFailure("the sample does not fit itself") }
        return configuration
    }()

    private static let sessions: [(String, any Encodable & Sendable)] = [
        ("AudioSessionMessage/call", callSession),
        (
            "AudioSessionListMessage/one",
            AudioSessionListMessage(sessions: [
                AudioSessionMessage(
                    id: 16, name: "mpv", pids: [901], configuration: .standard, state: "interrupted", openMs: 500)
            ])
        ),
    ]

    private static let notices: [(String, any Encodable & Sendable)] = [
        ("AudioNoticeMessage/opened", AudioNoticeMessage(opened: AudioSessionID(number: 16))),
        (
            "AudioNoticeMessage/opened-without-microphone",
            AudioNoticeMessage(opened: AudioSessionID(number: 16), isInputAvailable: false)
        ),
        ("AudioNoticeMessage/active", AudioNoticeMessage(active: receiver)),
        ("AudioNoticeMessage/inactive", AudioNoticeMessage(event: "inactive")),
        ("AudioNoticeMessage/interrupted", AudioNoticeMessage(.interruptionBegan(.default))),
        ("AudioNoticeMessage/interruption-ended", AudioNoticeMessage(.interruptionEnded(shouldResume: true))),
        (
            "AudioNoticeMessage/route-changed",
            AudioNoticeMessage(.routeChanged(.newDeviceAvailable, previous: receiver, current: headset))
        ),
        (
            "AudioNoticeMessage/input-availability-changed",
            AudioNoticeMessage(.inputAvailabilityChanged(false))
        ),
        ("AudioNoticeMessage/silence-hint", AudioNoticeMessage(.secondaryAudioShouldBeSilenced(true))),
        ("AudioNoticeMessage/lost", AudioNoticeMessage(.mediaServicesWereLost)),
        ("AudioNoticeMessage/reset", AudioNoticeMessage(.mediaServicesWereReset)),
        ("AudioNoticeMessage/error", AudioNoticeMessage(busyCall)),
        ("ErrorMessage/audio", ErrorMessage(busyCall)),
    ]

    static let busyCall = AudioSessionError(.insufficientPriority, "a call is connected; wait until it has ended")

    private static let bodies: [(String, any Encodable & Sendable)] = [
        ("AudioConfigurationBody/category", AudioConfigurationBody(category: "ambient")),
        (
            "AudioConfigurationBody/all",
            AudioConfigurationBody(
                category: "playAndRecord", mode: "voiceChat", options: ["duckOthers"], preferredOutput: "headset",
                preferredInput: "alsa_input.usb")
        ),
        ("AudioSessionOpening/empty", AudioSessionOpening()),
        (
            "AudioSessionOpening/all",
            AudioSessionOpening(
                name: "mpv", category: "playback", mode: "moviePlayback", options: ["mixWithOthers"],
                preferredOutput: "hdmi", preferredInput: "builtInMicrophone", active: true)
        ),
        ("AudioRouteChoice/none", AudioRouteChoice()),
        ("AudioRouteChoice/speaker", AudioRouteChoice(output: "builtInSpeaker")),
        ("AudioSpeakerOverride/on", AudioSpeakerOverride(on: true)),
        (
            "ActionResult/audio",
            ActionResult(
                action: "answer", audio: AudioConfigurationBody(category: "playAndRecord", mode: "videoChat"))
        ),
    ]
}
