package import RingwakeCore

/// What a file of certificates and keys is, and what is wrong with it: `ringwake certs show`.
///
/// ``inspect(_:fileName:password:now:)`` makes one; the members are for `--json`, ``lines`` for people.
package struct CredentialReport: Codable, Equatable, Sendable {
    /// The form of the file.
    package enum Format: String, Codable, Sendable {
        case pem = "PEM"
        case der = "DER"
        case pkcs12 = "PKCS#12"
    }

    /// The kind of the file: by its first certificate, else by its key.
    package enum Kind: String, Codable, Sendable {
        case voIPProviderCertificate = "voip-provider-certificate"
        case providerCertificate = "provider-certificate"
        case serverCertificate = "server-certificate"
        case authorityCertificate = "ca-certificate"
        case providerTokenKey = "provider-token-key"
        case providerTokenPublicKey = "provider-token-public-key"
        case privateKey = "private-key"

        /// The kind in words.
        package var words: String {
            switch self {
            case .voIPProviderCertificate: "VoIP Services provider certificate"
            case .providerCertificate: "provider certificate"
            case .serverCertificate: "server certificate"
            case .authorityCertificate: "CA certificate"
            case .providerTokenKey: "provider token key (P8)"
            case .providerTokenPublicKey: "public half of a provider token key"
            case .privateKey: "private key"
            }
        }
    }

    /// A private or public key in the file.
    package struct Key: Codable, Equatable, Sendable {
        /// Type and size, such as `EC P-256`.
        package let type: String
        /// Whether it is a private key.
        package let isPrivate: Bool
        /// The key id that the file name gives, as in `AuthKey_ABC123DEFG.p8`.
        package let keyID: String?
        /// Whether it is the key of the first certificate; `nil` without a certificate.
        package let belongsToCertificate: Bool?
    }

    /// The name of the file, as it was given.
    package let file: String
    /// The form of the file.
    package let format: Format
    /// What the file is.
    package let kind: Kind
    /// Every certificate, in the order of the file.
    package let certificates: [CertificateReport]
    /// The key, if there is one.
    package let key: Key?
    /// The problems, errors first.
    package let problems: [CredentialProblem]

    /// Whether it can be used: there are no errors.
    package var isUsable: Bool {
        !problems.contains { $0.severity == .error }
    }

    /// The report for people, line by line.
    package var lines: [String] {
        var lines = ["\(file): \(kind.words)\(holdsKeyToo ? " with its private key" : "") (\(format.rawValue))"]
        for (index, certificate) in certificates.enumerated() {
            if index > 0 {
                lines.append("")
                lines.append("  and \(certificate.kind.words):")
            }
            lines += certificate.lines
        }
        if let key, certificates.isEmpty {
            lines.append(Self.line("key", "\(key.type), \(key.isPrivate ? "private" : "public")"))
            if let keyID = key.keyID { lines.append(Self.line("key id", "\(keyID) (from the file name)")) }
        }
        for problem in problems {
            lines.append("\(problem.severity.rawValue): \(problem.sentence)")
        }
        return lines
    }

    private var holdsKeyToo: Bool {
        key.map { $0.isPrivate && $0.belongsToCertificate == true } ?? false
    }

    /// One line: a label, and its value in a column of its own.
    static func line(_ label: String, _ value: String) -> String {
        let column = 16
        return "  " + label + String(repeating: " ", count: max(1, column - label.count)) + value
    }
}
