/// Something that is wrong with a certificate or a key, or will be soon.
///
/// `VoIPCertificates` finds them, in one file or in all files of a configuration.
package struct CredentialProblem: Codable, Hashable, Sendable {
    /// How bad it is.
    package enum Severity: String, Codable, Sendable {
        /// It cannot be used like this.
        case error
        /// It can be used, with a limit.
        case warning
    }

    /// What is wrong. The words are for programs, and stay the same.
    package enum Kind: String, Sendable, CaseIterable {
        /// Its validity has ended.
        case expired
        /// Its validity ends within ``warningDays``.
        case endsSoon = "ends-soon"
        /// Its validity has not begun.
        case notYetValid = "not-yet-valid"
        /// Its dates cannot be read.
        case invalidDates = "invalid-dates"
        /// The key belongs to another certificate, or has another id.
        case otherKey = "other-key"
        /// The file is missing, or this user may not read it.
        case unreadable
        /// It cannot be read as what it is to be.
        case invalid
        /// The daemon still uses the file's former contents.
        case notLoaded = "not-loaded"
        /// It names no host.
        case noNames = "no-names"
        /// Senders use other names than it has.
        case wrongNames = "wrong-names"
        /// Two teams have the same key.
        case sharedKey = "shared-key"
        /// It is not for a TLS server.
        case noServerPurpose = "no-server-purpose"
        /// It is not for a TLS client.
        case noClientPurpose = "no-client-purpose"
        /// A file of CAs has a certificate that is no CA.
        case noAuthority = "no-ca"
        /// A provider certificate without topic.
        case noTopic = "no-topic"
        /// A provider certificate whose topic is not for VoIP pushes, or not among its certified topics.
        case wrongTopic = "wrong-topic"
        /// A provider certificate that lacks a mark of Apple's.
        case notMarked = "not-marked"
        /// A provider certificate without team.
        case noTeam = "no-team"
        /// There is no private key beside the certificate.
        case noKey = "no-key"
        /// Provider tokens are not signed with such keys.
        case wrongKeyType = "wrong-key-type"
        /// The key's id is unknown.
        case noKeyID = "no-key-id"
    }

    /// A certificate that expires in fewer days causes a warning.
    package static let warningDays: Int64 = 30

    /// The file, as it was named.
    package let file: String
    /// ``Kind`` as text.
    package let problem: String
    package let severity: Severity
    /// What is wrong.
    package let message: String
    /// What to do about it.
    package let hint: String

    package init(file: String, _ kind: Kind, _ severity: Severity, message: String, hint: String) {
        self.file = file
        problem = kind.rawValue
        self.severity = severity
        self.message = message
        self.hint = hint
    }

    /// What is wrong, and what to do: one sentence for a report about ``file``.
    package var sentence: String { "\(message); \(hint)" }

    /// The same problems, errors first.
    package static func sorted(_ problems: [CredentialProblem]) -> [CredentialProblem] {
        problems.filter { $0.severity == .error } + problems.filter { $0.severity == .warning }
    }
}
