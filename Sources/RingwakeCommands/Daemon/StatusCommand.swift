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
            many days the server's certificate is valid, the journal's state, each
            handler's strikes, which resources of the device the daemon uses, and what
            woke the daemon up. A user without rights on the control socket learns the
            version and the connection only.
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
        return try show(StatusAnswer.self, at: RequestTarget("status"), { $0.text(style: $1) }, in: context)
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

    func text(style: TextStyle) -> String {
        switch self {
        case .full(let status): StatusText.text(of: status, style: style)
        case .ofStatusSocket(let status): StatusText.text(of: status, style: style)
        }
    }
}
