import ArgumentParser
import RingwakeCore

/// `ringwake certs`
struct CertsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "certs", "Make and renew certificates for development, and explain any certificate or key.",
        examples: """
            ringwake certs dev-ca --app com.example.phone --directory ~/certs
            ringwake certs renew
            ringwake certs show voip-services.p12 --password-file p12-password
            """,
        subcommands: [CertsDevCACommand.self, CertsRenewCommand.self, CertsShowCommand.self])
}
