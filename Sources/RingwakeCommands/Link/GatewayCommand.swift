import ArgumentParser
import ControlProtocol
import Glibc
import RingwakeCore

/// `ringwake gateway`
struct GatewayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "gateway", "Manage the devices that are linked to this gateway.",
        examples: """
            ringwake gateway status
            ringwake gateway invite
            ringwake gateway devices
            ringwake gateway revoke door-station
            ringwake gateway drain
            """,
        subcommands: [
            GatewayStatusCommand.self, GatewayInviteCommand.self, GatewayDevicesCommand.self, GatewayRevokeCommand.self,
            GatewayDrainCommand.self, GatewayMoveCommand.self, GatewayResetCommand.self,
        ])
}

/// `ringwake gateway status`
struct GatewayStatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "status", "Show the gateway: its port, its devices, and what waits for them.",
        examples: """
            ringwake gateway status
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(
            GatewayMessage.self, at: RequestTarget("gateway"), { LinkText.text(of: $0, style: $1) }, in: context)
    }
}

/// `ringwake gateway invite`
struct GatewayInviteCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "invite", "Make a code with which one device can pair, within ten minutes.",
        examples: """
            ringwake gateway invite
            ringwake gateway invite --qr
            ringwake gateway invite --json | jq -r .link
            """,
        details: """
            On the device, give the link to 'ringwake link pair', or the gateway's address
            and the code. The link has a pin, if the CAs of other systems do not vouch for
            this gateway: the SHA-256 of its CA's key, or of its own. A certificate of the
            same CA, or with the same key, can replace the present one later. Whoever
            types the code instead gives the pin with --pin, or the CA with --ca.
            """)

    @Flag(help: "Print the link as a QR code too; needs the program qrencode.")
    var qr = false

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let message: InvitationMessage = try client.post(RequestTarget("gateway", "invitations"))
        let status = try show(message, LinkText.text(of: message, style: context.style), in: context)
        let gateway: GatewayMessage? = try? client.get(RequestTarget("gateway"))
        if gateway?.drainedMs != nil {
            context.errors.write(
                "ringwake: the gateway is drained: no device can pair until 'ringwake gateway drain --off'\n")
        }
        if qr, !wantsJSON { try drawCode(message.link) }
        return status
    }

    private func drawCode(_ link: String) throws(RingwakeError) {
        let failure = RingwakeError(
            .notFound, "the QR code needs the program qrencode; install it (apt-get install qrencode), or use the link")
        // Its full path: spawn doesn't search for it.
        let paths = ["/usr/bin/qrencode", "/usr/local/bin/qrencode"]
        guard let program = paths.first(where: { access($0, X_OK) == 0 }) else { throw failure }
        let process = try spawn(
            [program, "-t", "ANSIUTF8", "--", link], input: STDIN_FILENO, output: STDOUT_FILENO, error: STDERR_FILENO)
        guard DaemonProgram.reap(process) == 0 else { throw failure }
    }
}

/// `ringwake gateway devices`
struct GatewayDevicesCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "devices", "List the devices of this gateway.",
        examples: """
            ringwake gateway devices
            ringwake gateway devices --json | jq -r '.devices[].name'
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(
            LinkedDeviceListMessage.self, at: RequestTarget("gateway", "devices"),
            { LinkText.text(of: $0.devices, style: $1) }, in: context)
    }
}

/// `ringwake gateway revoke`
struct GatewayRevokeCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "revoke", "Take a device out: its link closes, and its tokens end.",
        examples: """
            ringwake gateway revoke door-station
            ringwake gateway revoke qxd4f2
            """,
        details: """
            Senders get 410 for its tokens from now on. The device may be paired again.
            """)

    @Argument(help: .of("device", "The device's name, or the beginning of its id."), completion: .linkedDevices)
    var device: String

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let message: LinkedDeviceMessage = try control.client(in: context).delete(
            RequestTarget("gateway", "devices", device))
        let name = TerminalText.printable(message.name)
        return try show(message, "revoked \(name); its tokens have ended\n", in: context)
    }
}

/// `ringwake gateway drain`
struct GatewayDrainCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "drain", "Take no links, and let those that there are end; with --off, take links again.",
        examples: """
            ringwake gateway drain
            ringwake gateway drain --off
            """,
        details: """
            The links end one after the other, within two minutes at most, and their devices
            are told when to come again. Senders are answered as before: pushes are written
            and wait for the devices. A restart ends the drain.
            """)

    @Flag(help: "Take links again.")
    var off = false

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let (client, target) = (control.client(in: context), RequestTarget("gateway", "drain"))
        let message: GatewayMessage = off ? try client.delete(target) : try client.post(target)
        let text = off ? "takes links again" : "is drained: its links end now, and pushes wait"
        return try show(message, "the gateway \(text)\n", in: context)
    }
}

/// `ringwake gateway reset`
struct GatewayResetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "reset", "Make a device and this gateway disagree, to test what follows.",
        examples: """
            ringwake gateway reset door-station
            """,
        details: """
            The gateway takes a later revision of the device's registrations than the
            device has, as if the device had been restored from a backup, and the device
            compares the two. With a port for production pushes this needs --force.
            """)

    @Argument(help: .of("device", "The device's name, or the beginning of its id."), completion: .linkedDevices)
    var device: String

    @Flag(help: "Do it on a production gateway too.")
    var force = false

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let status: StatusMessage = try client.get(RequestTarget("status"))
        if !force, status.listeners.contains(where: { $0.environment == "production" }) {
            throw RingwakeError(
                .conflict, "this gateway takes production pushes; with --force the device is reset all the same")
        }
        let message: LinkedDeviceMessage = try client.post(RequestTarget("gateway", "devices", device, "reset"))
        let name = TerminalText.printable(message.name)
        return try show(message, "\(name) compares its registrations when it links again\n", in: context)
    }
}
