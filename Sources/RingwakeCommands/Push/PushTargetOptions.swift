import ArgumentParser
import PushClient
import RingwakeCore

/// Whom a push goes to.
struct PushTargetOptions: ParsableArguments {
    @Option(help: .of("id", "An app of the local daemon: fills in token, topic, address and development credentials."))
    var app: AppIDArgument?

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
        ))
    var ca: String?

    @Option(
        help: .of(
            "host:port:address:port",
            "Connect to another address than the host's: to try a push service under Apple's names."))
    var connectTo: ConnectToArgument?

    @Option(help: .of("duration", "How long to wait for an answer."))
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
