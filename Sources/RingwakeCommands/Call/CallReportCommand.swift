import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call report`
struct CallReportCommand: CallSubcommand {
    static let configuration = CommandConfiguration(
        "report", "Handler: report the call before the report deadline.",
        examples: """
            ringwake call report --caller sip:alice@example.com --name Alice --ring
            ringwake call report
            ringwake call report 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 --video
            """,
        details: """
            A reported call rings once it is confirmed: with --ring, else by 'ringwake
            call ring'. Both return once it rings and the journal has recorded that.
            """)

    @Argument(help: .handlersCall, completion: .calls(.report))
    var id: String?

    @Option(help: .of("uri", "Who calls: a SIP URI, a number, any handle."))
    var caller: String?

    @Option(help: .of("name", "The caller's name to show."))
    var name: String?

    @Flag(help: "The call has video.")
    var video = false

    @Flag(help: "Confirm the call too, so that it rings.")
    var ring = false

    @OptionGroup var options: CallOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let report = CallReport(
            caller: caller, callerName: name, video: video ? true : nil, ring: ring ? true : nil)
        return try post(.report, to: id, report, in: context)
    }
}

/// `ringwake call update`
struct CallUpdateCommand: CallSubcommand {
    static let configuration = CommandConfiguration(
        "update", "Handler: report what has become known about the call, or has changed.",
        examples: """
            ringwake call update --name "Alice Miller"
            ringwake call update --caller sip:bob@example.com --name Bob
            ringwake call update --no-video --no-hold
            """,
        details: """
            In every state until the call ends, for example after a transfer. A new caller
            without --name has none. Of a call that can't be held, or in which no digits can
            be played, the daemon refuses that. It can be merged only if the handler says so.
            """)

    @Argument(help: .handlersCall, completion: .calls(.update))
    var id: String?

    @Option(help: .of("uri", "Who the call is with: a SIP URI, a number, any handle."))
    var caller: String?

    @Option(help: .of("name", "The name to show."))
    var name: String?

    @Flag(inversion: .prefixedNo, help: "Whether the call has video.")
    var video: Bool?

    @Flag(inversion: .prefixedNo, help: "Whether the call can be held.")
    var hold: Bool?

    @Flag(inversion: .prefixedNo, help: "Whether digits can be played.")
    var dtmf: Bool?

    @Flag(inversion: .prefixedNo, help: "Whether it can be merged with another call.")
    var merge: Bool?

    @OptionGroup var options: CallOptions

    private var report: CallReport {
        CallReport(
            caller: caller, callerName: name, video: video, supportsHold: hold, supportsDTMF: dtmf,
            supportsMerge: merge)
    }

    func validate() throws {
        try require(
            report != CallReport(), "Give what has changed: --caller, --name, --video, --hold, --dtmf or --merge.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try post(.update, to: id, report, in: context)
    }
}

/// `ringwake call ended`
struct CallEndedCommand: CallSubcommand {
    static let configuration = CommandConfiguration(
        "ended", "Handler: report that the other side ended the call.",
        examples: """
            ringwake call ended
            ringwake call ended --reason answeredElsewhere
            """)

    @Argument(help: .handlersCall, completion: .calls(.report))
    var id: String?

    @Option(help: "Why it ended (default: remoteEnded).")
    var reason: EndReasonArgument?

    @OptionGroup var options: CallOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try post(.ended, to: id, CallEnding(reason: reason?.reason.rawValue), in: context)
    }
}

/// A reason that a handler may give, on the command line.
struct EndReasonArgument: ExpressibleByArgument {
    let reason: CallEndReason

    init?(argument: String) {
        guard let reason = CallEndReason(rawValue: argument), Self.reasons.contains(reason) else { return nil }
        self.reason = reason
    }

    /// Of every call; the daemon refuses what doesn't fit.
    private static let reasons = CallEndReason.reportable.union(CallEndReason.reportableOfOutgoing)

    static var allValueStrings: [String] { reasons.map(\.rawValue).sorted() }
}
