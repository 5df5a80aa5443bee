import ArgumentParser
import ControlProtocol
import ProviderAPI
import RingwakeCore

/// `ringwake app fault`
struct AppFaultCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "fault", "Test senders: refuse, delay or lose pushes to an app on purpose.",
        examples: """
            ringwake app fault com.example.phone BadDeviceToken
            ringwake app fault com.example.phone TooManyRequests --after 2 --count 3
            ringwake app fault com.example.phone delay --delay 5s --for 1m
            ringwake app fault com.example.phone goaway --count 1
            ringwake app fault com.example.phone --clear
            ringwake watch --pushes --json
            """,
        details: """
            The fault is a reason of APNs, with which valid pushes are refused, or one of
              delay     the push is delivered, and its answer is sent later
              goaway    the push is delivered and answered; the connection ends with GOAWAY
              reset     the stream is reset; the push is not delivered
              silence   there is no answer; the push is not delivered
            It replaces the one before, and ends with --count, with --for, with --clear, or
            with the daemon. Invalid pushes are refused as always, and are not counted.
            """)

    @Argument(help: .of("id", "The app's bundle id, or its first characters."), completion: .apps)
    var id: AppID

    @Argument(
        help: .of("fault", "A reason of APNs, delay, goaway, reset or silence."),
        completion: .list(AppFaultCommand.names))
    var fault: String?

    @Option(
        help: .of("environment", "Only for this device token: development or production (default: both)."),
        completion: .list(PushEnvironment.allCases.map(\.rawValue)))
    var environment: PushEnvironment?

    @Option(
        help: .of("duration", "With 'delay': how much later the answer is sent, at most 10 minutes."),
        transform: DurationArgument.init(parsing:))
    var delay: DurationArgument?

    @Option(help: .of("n", "Let this many pushes pass first."))
    var after: Int?

    @Option(help: .of("n", "End it after this many pushes."))
    var count: Int?

    @Option(
        name: .customLong("for"), help: .of("duration", "End it after this time, at most 7 days."),
        transform: DurationArgument.init(parsing:))
    var time: DurationArgument?

    @Flag(help: "End it now.")
    var clear = false

    @OptionGroup var control: ControlOptions

    private static var names: [String] {
        PushFaultMessage.Name.allCases.map(\.rawValue) + RejectionReason.allCases.map(\.rawValue)
    }

    func validate() throws {
        try require((fault == nil) == clear, "Name a fault, or give --clear.")
        let isLimited = delay != nil || after != nil || count != nil || time != nil
        try require(!clear || !isLimited, "Give --clear alone, or with --environment.")
        try require(
            (fault == PushFaultMessage.Name.delay.rawValue) == (delay != nil),
            "Give --delay with the fault 'delay', and with no other.")
        if let fault {
            try require(
                Self.names.contains(fault),
                "'\(fault)' is no fault. Give delay, goaway, reset, silence, or a reason of APNs such as "
                    + "BadDeviceToken.")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let app = try AppChoice(client: client).use(id) { (id) throws(RingwakeError) -> AppMessage in
            guard let fault else {
                return try client.delete(
                    RequestTarget("apps", id, "fault", query: [("environment", environment?.rawValue)]))
            }
            return try client.put(
                RequestTarget("apps", id, "fault"),
                PushFaultMessage(
                    environment: environment?.rawValue, fault: fault, delayMs: delay?.duration.milliseconds,
                    after: after, count: count, forMs: time?.duration.milliseconds))
        }
        return try show(app, AppText.text(of: app, style: context.style), in: context)
    }
}
