import ArgumentParser
import PushClient
import RingwakeCore

/// Whom a push goes to.
struct PushTargetOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "An app of the local daemon: fills in token, topic, address and development credentials.",
            valueName: "id"))
    var app: AppIDArgument?

    @Option(help: ArgumentHelp("The device token, in hex.", valueName: "hex"))
    var token: String?

    @Option(
        help: ArgumentHelp("The push service (default: the local daemon with --app, else Apple's).", valueName: "name"))
    var host: String?

    @Option(help: ArgumentHelp("Its port (default: the daemon's, else 443).", valueName: "number"))
    var port: UInt16?

    @Option(help: "The environment that the token belongs to: development or production.")
    var environment: PushEnvironment = .development

    @Option(
        help: ArgumentHelp(
            "CA certificates in PEM to trust instead of the system's (default with --app: the daemon's ca.pem).",
            valueName: "file"))
    var ca: String?

    @Option(
        help: ArgumentHelp(
            "Connect to another address than the host's: to try a push service under Apple's names.",
            valueName: "host:port:address:port"))
    var connectTo: ConnectToArgument?

    @Option(help: ArgumentHelp("How long to wait for an answer.", valueName: "duration"))
    var timeout = DurationArgument(.seconds(30))

    func validate() throws {
        guard (app == nil) != (token == nil) else {
            throw ValidationError("Give one of --app and --token.")
        }
        guard timeout.duration > .zero else {
            throw ValidationError("--timeout is longer than 0.")
        }
        // An IPv6 address has two colons at least.
        guard host?.count(where: { $0 == ":" }) != 1 else {
            throw ValidationError("--host is a name or an address alone; give the port with --port.")
        }
        guard port != 0 else {
            throw ValidationError("--port is between 1 and 65535.")
        }
    }
}

extension PushEnvironment: ExpressibleByArgument {}

/// `HOST:PORT:ADDRESS:PORT` on the command line.
struct ConnectToArgument: ExpressibleByArgument, Equatable {
    let connectTo: PushServer.ConnectTo

    init?(argument: String) {
        guard let connectTo = PushServer.ConnectTo(argument) else { return nil }
        self.connectTo = connectTo
    }
}
