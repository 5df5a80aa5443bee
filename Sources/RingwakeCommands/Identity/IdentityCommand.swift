import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake identity`
struct IdentityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "identity", "Show or replace what this device is called towards the vendors of apps.",
        examples: """
            ringwake identity show
            ringwake identity reset
            """,
        subcommands: [IdentityShowCommand.self, IdentityResetCommand.self, IdentityAcceptCommand.self])
}

/// `ringwake identity show`
struct IdentityShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "show", "Show the identity: the device's id, and the identifier that each vendor's apps get.",
        examples: """
            ringwake identity show
            ringwake identity show --json | jq -r '.vendors[].vendorIdentifier'
            """,
        details: """
            All of them are random. The apps of one vendor get the same identifier, and two
            vendors cannot tell from theirs that they know the same device. A vendor is the
            team that an app's file names ('team'), else the one team that may push to it,
            else the first two parts of its bundle id. Nobody but you gets the device's id;
            the id of a link is another one, which the gateway knows.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(IdentityMessage.self, at: RequestTarget("identity"), IdentityText.text, in: context)
    }
}

/// `ringwake identity reset`
struct IdentityResetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "reset", "Make this another device to all vendors: other identifiers, and other device tokens.",
        examples: """
            ringwake identity reset
            ringwake identity reset --yes
            ringwake identity reset --keep-tokens --yes
            """,
        details: """
            Use it on a device that is a copy of another one (a disk image), or that gets
            another owner. All apps get new device tokens: senders cannot reach them until
            they know these, and get 410 ExpiredToken for the former ones. Connected
            handlers are told with the event 'credentials'. With --keep-tokens calls go on
            arriving, but a vendor that has a token sees that this is the same device. The
            link to a gateway keeps its own id; for another one run 'ringwake link unpair',
            and pair again.
            """)

    @Flag(help: "Keep the apps' device tokens.")
    var keepTokens = false

    @Flag(name: .shortAndLong, help: "Don't ask.")
    var yes = false

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try Confirmation.require(
            "Give each vendor another identifier" + (keepTokens ? "" : ", and each app new device tokens"), given: yes,
            in: context)
        let identity: IdentityMessage = try control.client(in: context).post(
            RequestTarget("identity", "reset"), IdentityReset(keepTokens: keepTokens))
        return try show(identity, IdentityText.text(of: identity, style: context.style), in: context)
    }
}

/// `ringwake identity accept`
struct IdentityAcceptCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "accept", "Say that this is still the same device, although its machine id is another one.",
        examples: """
            ringwake identity accept
            """,
        details: """
            The daemon warns when /etc/machine-id is not the one that the identity was made
            with. That is so on a copy of a device, which needs 'ringwake identity reset'
            instead, and after a new installation of the same one, for which this is.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let identity: IdentityMessage = try control.client(in: context).post(RequestTarget("identity", "accept"))
        return try show(identity, "the identity is kept on this machine\n", in: context)
    }
}

/// Formats the identity for people.
enum IdentityText {
    static func text(of identity: IdentityMessage, style: TextStyle) -> String {
        var lines = [style.bold("device") + "  " + TerminalText.printable(identity.device)]
        if identity.machine == "other" {
            lines.append("  " + style.bad("made on another machine") + "; see 'ringwake identity accept --help'")
        }
        var table = TextTable([.left, .left, .left])
        table.add(["vendor", "identifier", "apps"])
        for vendor in identity.vendors {
            let name = vendor.team ?? "\(vendor.prefix ?? "").*"
            let cells = [name, vendor.vendorIdentifier, vendor.apps.joined(separator: " ")]
            table.add(cells.map { TerminalText.printable($0) })
        }
        return lines.joined(separator: "\n") + "\n" + (identity.vendors.isEmpty ? "" : table.list(style: style))
    }
}
