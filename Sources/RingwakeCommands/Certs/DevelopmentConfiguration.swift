import VoIPCertificates

/// The part of ringwaked.toml that uses the files of a development CA.
enum DevelopmentConfiguration {
    /// The address in the example: APNs' alternative port, on which any user may listen.
    static let address = "127.0.0.1:2197"

    static func text(for credentials: DevelopmentCredentials) -> String {
        let path = { (kind: DevelopmentCredentials.Kind) in
            AppFile.tomlString(InputFile.absolute(credentials.path(of: kind) ?? ""))
        }
        return """
            [server]
            certificate = \(path(.serverCertificate))
            key = \(path(.serverKey))
            provider_cas = [\(path(.authorityCertificate))]

            [[listener]]
            address = "\(address)"
            environment = "development"

            [[team]]
            id = \(AppFile.tomlString(credentials.teamID))
            topics = [\(credentials.teamTopics.map(AppFile.tomlString).joined(separator: ", "))]

            [[team.key]]
            id = \(AppFile.tomlString(credentials.keyID))
            file = \(path(.tokenPublicKey))

            """
    }
}
