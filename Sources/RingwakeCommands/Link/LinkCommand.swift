import ArgumentParser
import ControlProtocol
import FileSystem
import RingwakeCore

/// `ringwake link`
struct LinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "link", "Link this device to a gateway, so that senders reach it behind NAT.",
        examples: """
            ringwake link pair 'ringwake://push.example.com:8883/pair?code=…'
            ringwake link status
            ringwake link unpair
            """,
        subcommands: [
            LinkStatusCommand.self, LinkPairCommand.self, LinkUnpairCommand.self, LinkResetCommand.self,
        ])
}

/// `ringwake link status`
struct LinkStatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "status", "Show the link: whether it is there, since when, and how the last one ended.",
        examples: """
            ringwake link status
            ringwake link status --json | jq -r .state
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(LinkMessage.self, at: RequestTarget("link"), { LinkText.text(of: $0, style: $1) }, in: context)
    }
}

/// `ringwake link pair`
struct LinkPairCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "pair", "Pair this device with a gateway, by the link or the code of an invitation.",
        examples: """
            ringwake link pair 'ringwake://push.example.com:8883/pair?code=…&pin=…'
            ringwake link pair push.example.com AB-1234-5678
            ringwake link pair 192.0.2.7:8883 AB-1234-5678 --ca ca.pem
            """,
        details: """
            'ringwake gateway invite' on the gateway makes both. All apps get new tokens:
            'ringwake app show' has them, and their senders now send to the gateway.
            """)

    @Argument(help: .of("gateway", "The link of an invitation, or the gateway as host or host:port (8883)."))
    var gateway: String

    @Argument(help: .of("code", "The invitation's code, if the gateway is not a link."))
    var code: String?

    @Option(help: .of("sha256", "The SHA-256 of the public key of the gateway or of its CA: 64 hex digits."))
    var pin: String?

    @Option(help: .of("file", "The CA of the gateway's certificate, in PEM."), completion: .file())
    var ca: String?

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var pairing = try LinkPairing(invitation: gateway, code: code)
        if let pin { pairing.pin = pin }
        if let ca {
            do throws(FileSystemError) {
                pairing.authorities = String(
                    decoding: try FileSystem.read(ca, maximumSize: 64 * 1024), as: UTF8.self)
            } catch {
                throw RingwakeError(.invalidRequest, "the CA cannot be read from \(ca): \(error.reason)")
            }
            pairing.pin = nil
        }
        let message: LinkMessage = try control.client(in: context).post(RequestTarget("link"), pairing)
        let host = TerminalText.printable(pairing.host)
        return try show(
            message, "paired with \(host); all apps have new tokens, see 'ringwake app show'\n", in: context)
    }
}

/// `ringwake link unpair`
struct LinkUnpairCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "unpair", "Leave the gateway: its senders get 410 for this device's tokens.",
        examples: """
            ringwake link unpair
            """,
        details: """
            All apps get new tokens, which are valid on this machine alone.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let message: LinkMessage = try control.client(in: context).delete(RequestTarget("link"))
        var text = "unpaired; all apps have new tokens, see 'ringwake app show'\n"
        if let gateway = message.leaving.map({ TerminalText.printable($0) }) {
            text +=
                "\(gateway) is told when it can be reached, as long as ringwaked runs; until then it takes pushes for the "
                + "former tokens. 'ringwake gateway revoke' there ends them now.\n"
        }
        return try show(message, text, in: context)
    }
}

/// `ringwake link reset`
struct LinkResetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "reset", "Settle a disagreement with the gateway about registrations.",
        examples: """
            ringwake link reset --now
            ringwake link reset --now --mode discard
            """,
        details: """
            The two disagree when one of them was restored from an older backup, or set up
            anew. Without on_disagreement = "manual" in [link], and if the gateway allows
            it, the device settles that itself. recover keeps tokens that only the device
            has, and takes those that only the gateway has; discard lets the former
            expire. Either way the registrations before and after are kept in the folder
            that 'ringwake link status' names.
            """)

    @Flag(help: "Do it; without it, only show the link.")
    var now = false

    @Option(help: .of("mode", "recover or discard (default: recover, if the gateway allows it)."))
    var mode: String?

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let message: LinkMessage =
            now
            ? try client.post(RequestTarget("link", "reset", query: [("mode", mode)]))
            : try client.get(RequestTarget("link"))
        let text = now ? "it begins; 'ringwake link status' shows how it ends\n" : nil
        return try show(message, text ?? LinkText.text(of: message, style: context.style), in: context)
    }
}
