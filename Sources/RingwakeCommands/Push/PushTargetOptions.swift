import ArgumentParser
import PushClient
import RingwakeCore

/// The recipient of a push, and the push service.
struct PushTargetOptions: ParsableArguments {
    @Option(
        help: .of("id", "An app of the local daemon: fills in token, topic, address and development credentials."),
        completion: .apps)
    var app: AppID?

    @Option(help: .of("hex", "The device token, in hex."))
    var token: String?

    @Option(help: .of("name", "The push service (default: the local daemon with --app, else Apple's)."))
    var host: String?

    @Option(help: .of("number", "Its port (default: the daemon's, else 443)."))
    var port: UInt16?

    @Option(help: "The environment that the token belongs to: development or production.")
    var environment: PushEnvironment = .development

    @Option(
        help: .of(
            "file", "CA certificates in PEM to trust instead of the system's (default with --app: the daemon's ca.pem)."
        ), completion: .file())
    var ca: String?

    @Option(
        help: .of(
            "host:port:address:port",
            "Connect to another address than the host's, to test a push service that uses Apple's names."))
    var connectTo: PushServer.ConnectTo?

    @Option(
        help: .of("duration", "How long to wait for an answer (default: 30s)."),
        transform: DurationArgument.init(parsing:))
    var timeout = DurationArgument(.seconds(30))

    func validate() throws {
        try require((app == nil) != (token == nil), "Give exactly one of --app and --token.")
        try require(timeout.duration > .zero, "Give a --timeout longer than 0.")
        // One colon means host:port; an IPv6 address has at least two.
        try require(
            host?.count(where: { $0 == ":" }) != 1, "Give --host a name or an address only; give the port with --port.")
        try require(port != 0, "Give a --port between 1 and 65535.")
    }
}

extension PushEnvironment: ExpressibleByArgument {}

extension PushServer.ConnectTo: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}
