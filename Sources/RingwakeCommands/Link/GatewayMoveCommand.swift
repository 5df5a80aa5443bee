import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake gateway move`
struct GatewayMoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "move", "Move a device, or all, to another gateway.",
        examples: """
            ringwake gateway move door-station --to push2.example.com:8883
            ringwake gateway move --all --to push2.example.com
            ringwake gateway move --all --to push2.example.com --temporary
            ringwake gateway move door-station --off
            """,
        details: """
            The other gateway has to know the device already, and to show a certificate that
            the device accepts as it accepts this gateway's. A device that cannot use it
            comes back, and is asked again after an hour. When it is there it takes what
            waits for it here; then its tokens end here, and senders get 410. The tokens are
            valid at the other gateway.
            With --temporary only devices that are linked now are asked. They come back when
            their link there ends, and their tokens stay valid here.
            """)

    @Argument(help: .of("device", "The device's name, or the beginning of its id."), completion: .linkedDevices)
    var device: String?

    @Flag(help: "Move all devices.")
    var all = false

    @Option(help: .of("gateway", "The other gateway, as host or host:port (8883)."))
    var to: String?

    @Flag(help: "Only for now.")
    var temporary = false

    @Flag(help: "Let the device stay, if it has not moved yet.")
    var off = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        if (device == nil) != all { throw ValidationError("give a device, or --all") }
        if (to == nil) != off { throw ValidationError("give the other gateway with --to, or --off") }
        if off, temporary { throw ValidationError("--temporary goes with --to") }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let order = to.map { DeviceMove(to: $0, temporary: temporary ? true : nil) }
        let verb = off ? "stays" : "is asked to use \(TerminalText.printable(to ?? ""))"
        guard let device else {
            let target = RequestTarget("gateway", "move")
            let message: GatewayMessage = try order == nil ? client.delete(target) : client.post(target, order)
            return try show(message, "every device \(verb)\n", in: context)
        }
        let target = RequestTarget("gateway", "devices", device, "move")
        let message: LinkedDeviceMessage = try order == nil ? client.delete(target) : client.post(target, order)
        return try show(message, "\(TerminalText.printable(message.name)) \(verb)\n", in: context)
    }
}
