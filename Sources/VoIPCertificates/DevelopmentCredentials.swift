/// The files in the directory of a development CA after its setup.
package struct DevelopmentCredentials: Codable, Equatable, Sendable {
    /// What one file is.
    package enum Kind: String, Codable, Sendable {
        case authorityCertificate = "ca-certificate"
        case authorityKey = "ca-key"
        case serverCertificate = "server-certificate"
        case serverKey = "server-key"
        case providerCertificate = "provider-certificate"
        case providerPKCS12 = "provider-pkcs12"
        case providerKey = "provider-key"
        case certificateRequest = "certificate-request"
        case tokenKey = "token-key"
        case tokenPublicKey = "token-public-key"

        /// What it is and who needs it, for people.
        package var explanation: String {
            switch self {
            case .authorityCertificate:
                "CA certificate: 'provider_cas' of the daemon, and what senders trust the server by"
            case .authorityKey: "CA key: signs further certificates; keep it here"
            case .serverCertificate: "server certificate: 'certificate' of the daemon"
            case .serverKey: "server key: 'key' of the daemon"
            case .providerCertificate: "provider certificate with its key, for the sender"
            case .providerPKCS12: "the same as PKCS#12"
            case .providerKey: "key of the certificate that is requested; keep it here"
            case .certificateRequest: "the request, for the CA"
            case .tokenKey: "key that signs provider tokens, for the sender"
            case .tokenPublicKey: "its public half: '[[team.key]]' of the daemon"
            }
        }

        /// Whether it holds a private key, so that the file gets mode 0600.
        package var isSecret: Bool {
            switch self {
            case .authorityKey, .serverKey, .providerCertificate, .providerPKCS12, .providerKey, .tokenKey: true
            case .authorityCertificate, .serverCertificate, .certificateRequest, .tokenPublicKey: false
            }
        }
    }

    /// One file.
    package struct File: Codable, Equatable, Sendable {
        /// Its path, below the directory as it was given.
        package let path: String
        /// What it is.
        package let kind: Kind
        /// Whether it was written now; else it existed and is unchanged.
        package let isNew: Bool
    }

    /// The directory.
    package let directory: String
    /// The team of the provider certificate and of the token key.
    package let teamID: String
    /// The topic that the provider certificate is for.
    package let topic: String
    /// The topics of all provider certificates of the team in the directory.
    package let teamTopics: [String]
    /// The id of the token key, as in its file name.
    package let keyID: String
    /// Every file, in the order in which they were made.
    package let files: [File]

    /// The path of the first file of this kind.
    package func path(of kind: Kind) -> String? {
        files.first { $0.kind == kind }?.path
    }
}
