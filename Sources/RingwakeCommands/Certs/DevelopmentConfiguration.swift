import ControlProtocol
import VoIPCertificates

/// The part of ringwaked.toml that uses the files of a development CA.
struct DevelopmentConfiguration {
    /// The address in the example: APNs' alternative port, on which any user may listen.
    private static let address = "127.0.0.1:2197"

    let credentials: DevelopmentCredentials

    /// Everything.
    var text: String { [server, listener, team].joined(separator: "\n") }

    /// What a configuration lacks; empty if nothing.
    func missing(in present: ConfigurationMessage) -> String {
        let usesThem = present.server.map { InputFile.absolute($0.certificate) == path(of: .serverCertificate) } == true
        let hasTeam = present.teams.contains { $0.id == credentials.teamID }
        let parts = [
            usesThem ? nil : server, usesThem || !present.listeners.isEmpty ? nil : listener, hasTeam ? nil : team,
        ]
        return parts.compactMap { $0 }.joined(separator: "\n")
    }

    private var server: String {
        """
        [server]
        certificate = \(AppFile.tomlString(path(of: .serverCertificate)))
        key = \(AppFile.tomlString(path(of: .serverKey)))
        provider_cas = [\(AppFile.tomlString(path(of: .authorityCertificate)))]

        """
    }

    private var listener: String {
        """
        [[listener]]
        address = "\(Self.address)"
        environment = "development"

        """
    }

    private var team: String {
        """
        [[team]]
        id = \(AppFile.tomlString(credentials.teamID))
        topics = [\(credentials.teamTopics.map(AppFile.tomlString).joined(separator: ", "))]

        [[team.key]]
        id = \(AppFile.tomlString(credentials.keyID))
        file = \(AppFile.tomlString(path(of: .tokenPublicKey)))

        """
    }

    private func path(of kind: DevelopmentCredentials.Kind) -> String {
        InputFile.absolute(credentials.path(of: kind) ?? "")
    }
}
