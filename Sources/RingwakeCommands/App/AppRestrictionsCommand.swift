import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app restrictions`
struct AppRestrictionsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "restrictions", "Show what is restricted for an app, as the app reads it.",
        examples: """
            ringwake app restrictions com.example.phone
            ringwake app restrictions com.example.phone --json | jq .doNotDisturb.active
            In a handler ($RINGWAKE_APP names the app):
              ringwake app restrictions --json
            """,
        details: """
            'ringwake dnd' changes do not disturb, and [restrictions] in ringwaked.toml the
            rest. The daemon applies do not disturb and the rating; explicit content and
            video calls are for the app to leave out.
            """)

    @Argument(help: .of("id", "The app's bundle id (default: $RINGWAKE_APP)."), completion: .apps)
    var id: AppID?

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        guard let app = id?.rawValue ?? context.environment("RINGWAKE_APP") else {
            throw RingwakeError(
                .invalidRequest, "no app: give its bundle id; only a woken handler has $RINGWAKE_APP")
        }
        return try show(
            RestrictionsMessage.self, at: RequestTarget("apps", app, "restrictions"), AppRestrictionsText.text,
            in: context)
    }
}

/// Formats an app's restrictions for people.
enum AppRestrictionsText {
    static func text(of message: RestrictionsMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["do not disturb", doNotDisturb(message.doNotDisturb, style.times)])
        table.add(["rating", message.rating.map(rating) ?? "any"])
        table.add(["explicit content", allowed(message.explicitContentAllowed)])
        table.add(["video calls", allowed(message.videoCallsAllowed)])
        return table.lines().map { TerminalText.printable($0) + "\n" }.joined()
    }

    /// What is restricted, in one line.
    static func line(of message: RestrictionsMessage, _ times: TimeStyle) -> String {
        var parts: [String] = []
        if message.doNotDisturb.active { parts.append("do not disturb " + doNotDisturb(message.doNotDisturb, times)) }
        if let rating = message.rating { parts.append("rating \(self.rating(rating))") }
        if !message.explicitContentAllowed { parts.append("no explicit content") }
        if !message.videoCallsAllowed { parts.append("no video calls") }
        return parts.isEmpty ? "nothing is restricted" : TerminalText.printable(parts.joined(separator: ", "))
    }

    private static func doNotDisturb(_ state: RestrictionsMessage.DoNotDisturb, _ times: TimeStyle) -> String {
        guard state.active else { return "off" }
        return state.until.map { "on until \(times.short($0))" } ?? "on"
    }

    private static func rating(_ rating: RestrictionsMessage.Rating) -> String { "\(rating.name) (\(rating.number))" }

    private static func allowed(_ isAllowed: Bool) -> String { isAllowed ? "allowed" : "not allowed" }
}
