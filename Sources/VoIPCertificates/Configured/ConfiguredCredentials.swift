/// The certificates and keys that a configuration names, and what each is for.
package struct ConfiguredCredentials: Equatable, Sendable {
    /// The files of `[server]`.
    package struct Server: Equatable, Sendable {
        package let certificate: String
        package let key: String
        /// The CAs that issue provider certificates.
        package let authorities: [String]

        package init(certificate: String, key: String, authorities: [String]) {
            self.certificate = certificate
            self.key = key
            self.authorities = authorities
        }
    }

    /// A key that signs a team's provider tokens.
    package struct TokenKey: Equatable, Sendable {
        package let team: String
        package let id: String
        /// The file that has it: its own, or the team's.
        package let file: String
        /// The key in PEM, if the team's file has it; nil: ``file`` is its own.
        package let pem: String?

        package init(team: String, id: String, file: String, pem: String?) {
            self.team = team
            self.id = id
            self.file = file
            self.pem = pem
        }
    }

    /// Nil without `[server]`.
    package let server: Server?
    package let keys: [TokenKey]

    package init(server: Server?, keys: [TokenKey]) {
        self.server = server
        self.keys = keys
    }

    /// Every file, each once.
    var files: Set<String> {
        var files = Set(keys.filter { $0.pem == nil }.map(\.file))
        if let server { files.formUnion([server.certificate, server.key] + server.authorities) }
        return files
    }
}

/// How senders reach the server.
package struct ServerPlace: Equatable, Sendable {
    /// Numeric addresses on which it listens, without ports.
    package var addresses: [String]
    /// The machine's host name; nil if it has none.
    package var hostName: String?
    /// DER of the certificate that the server uses now; nil if no server runs.
    package var certificateInUse: [UInt8]?

    package init(addresses: [String], hostName: String?, certificateInUse: [UInt8]? = nil) {
        self.addresses = addresses
        self.hostName = hostName
        self.certificateInUse = certificateInUse
    }
}
