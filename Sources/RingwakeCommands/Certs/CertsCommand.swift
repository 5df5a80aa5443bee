import ArgumentParser
import RingwakeCore

/// `ringwake certs`
struct CertsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "certs", "Make, request and renew certificates, and explain any certificate or key.",
        examples: """
            ringwake certs dev-ca --app com.example.phone --directory ~/certs
            ringwake certs request --app com.example.phone
            ringwake certs import voip_services.cer
            ringwake certs renew
            ringwake certs show voip-services.p12 --password-file p12-password
            """,
        subcommands: [
            CertsDevCACommand.self, CertsRequestCommand.self, CertsImportCommand.self, CertsExportCommand.self,
            CertsRenewCommand.self, CertsShowCommand.self,
        ])
}
