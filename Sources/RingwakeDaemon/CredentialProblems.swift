internal import Cryptography
internal import DaemonConfiguration
internal import Glibc
internal import HTTPServer
internal import Logging
internal import RingwakeCore
internal import VoIPCertificates

// What is wrong with the certificates and keys, now or soon.
extension Daemon {
    /// Looks at the files again if they have changed. Nothing does this by itself later: a start, a reload and a request
    /// for the status do.
    func credentialProblems() -> [CredentialProblem] {
        let addresses = (listeners?.providers.open ?? []).map { $0.listener.localAddress.host }
        return credentials.inventory.problems(
            at: ServerPlace(
                addresses: addresses, hostName: hostName(), certificateInUse: credentials.tls?.certificate.der),
            now: unixMilliseconds() / 1000)
    }

    /// After a start and a reload.
    func logCredentialProblems() {
        for problem in credentialProblems() {
            logger.warning(
                "a certificate or key has a problem",
                metadata: [
                    "file": "\(problem.file)", "problem": "\(problem.problem)", "why": "\(problem.sentence)",
                ])
        }
    }
}

extension CredentialInventory {
    init(_ configuration: Configuration) {
        self.init(
            ConfiguredCredentials(
                server: configuration.server.map {
                    .init(certificate: $0.certificateFile, key: $0.keyFile, authorities: $0.providerCAFiles)
                },
                keys: configuration.teams.flatMap { team in
                    team.keys.map {
                        .init(
                            team: team.id, id: $0.id, file: $0.file ?? team.file,
                            pem: $0.file == nil ? $0.publicPEM ?? "" : nil)
                    }
                }))
    }

    /// The problems before a daemon runs.
    mutating func problems(of configuration: Configuration) -> [CredentialProblem] {
        problems(
            at: ServerPlace(addresses: configuration.listeners.map(\.address.host), hostName: hostName()),
            now: unixMilliseconds() / 1000)
    }
}

/// Nil if the machine has no name but `localhost`.
func hostName() -> String? {
    // HOST_NAME_MAX is 64.
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
    let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return name.isEmpty || name.hasPrefix("localhost") ? nil : name
}
