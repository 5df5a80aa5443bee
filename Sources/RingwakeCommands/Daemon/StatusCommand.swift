import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake status`
struct StatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "status", "Show the daemon's status.",
        examples: """
            ringwake status
            ringwake status --json | jq .pushes.refused
            ringwake status --path
            ringwake status --features
            """,
        details: """
            Shows the connection, listeners, apps, calls, accepted and refused pushes, how
            many days the server's certificate is valid, the journal's state, the newest
            backup that this user may see, each handler's strikes, which resources of the
            device the daemon uses, and what woke the daemon up. A user without rights on
            the control socket learns the version and the connection only.
            """)

    @Flag(help: "Show the network path only.")
    var path = false

    @Flag(help: "Show only what the system offers, and what is lost without it.")
    var features = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(!(path && features), "Give either --path or --features.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        if features {
            let status: StatusMessage = try control.client(in: context).get(RequestTarget("status"))
            let message = FeaturesMessage(status)
            return try show(message, message.text(style: context.style), in: context)
        }
        if path {
            return try show(PathMessage.self, at: RequestTarget("path"), ReachabilityText.text, in: context)
        }
        let answer: StatusAnswer = try control.client(in: context).get(RequestTarget("status"))
        let report = StatusReport(answer, in: context)
        return try show(report, report.text(style: context.style), in: context)
    }
}

/// The answer, and what the command itself sees.
private struct StatusReport: Encodable {
    let answer: StatusAnswer
    /// Nil if there is none, or if this user may not look.
    let backup: LastBackup?

    init(_ answer: StatusAnswer, in context: CommandContext) {
        self.answer = answer
        guard case .full(let status) = answer else {
            backup = nil
            return
        }
        let folder = StandardDirectory.backups(of: status.configuration, in: context)
        backup = try? LastBackup.find(in: folder, now: WallClock.seconds())
    }

    private enum CodingKeys: CodingKey { case backup }

    func encode(to encoder: any Encoder) throws {
        try answer.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(backup, forKey: .backup)
    }

    func text(style: TextStyle) -> String {
        switch answer {
        case .full(let status): StatusText.text(of: status, backup: backup, style: style)
        case .ofStatusSocket(let status): StatusText.text(of: status, style: style)
        }
    }
}

/// The answer of one of the two sockets.
private enum StatusAnswer: Codable {
    case full(StatusMessage)
    case ofStatusSocket(PublicStatusMessage)

    init(from decoder: any Decoder) throws {
        do {
            self = .full(try StatusMessage(from: decoder))
        } catch {
            self = .ofStatusSocket(try PublicStatusMessage(from: decoder))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .full(let status): try status.encode(to: encoder)
        case .ofStatusSocket(let status): try status.encode(to: encoder)
        }
    }
}
