import Cryptography
import RingwakeCore

/// Which files of a development CA belong to which team.
///
/// A provider certificate names its team. A token key doesn't, so the file of its public half begins with a line
/// `Team: ID`, which readers of PEM skip.
struct TeamFiles {
    /// What the names of provider certificates begin with.
    static let providerPrefix = "voip-services-"
    private static let certificateSuffix = ".pem"
    private static let keySuffix = ".key"
    private static let markPrefix = "Team: "

    private let directory: CredentialDirectory

    init(_ directory: CredentialDirectory) {
        self.directory = directory
    }

    /// The two files of a provider certificate; `name` has no suffix.
    static func provider(named name: String) -> (pem: CredentialDirectory.Entry, pkcs12: CredentialDirectory.Entry) {
        (
            .init(kind: .providerCertificate, name: name + certificateSuffix),
            .init(kind: .providerPKCS12, name: name + ".p12")
        )
    }

    /// The key of an app's provider certificate, and the request for it.
    static func request(of app: AppID) -> (key: CredentialDirectory.Entry, request: CredentialDirectory.Entry) {
        (
            .init(kind: .providerKey, name: providerPrefix + app.rawValue + keySuffix),
            // Apple's portal wants this suffix.
            .init(kind: .certificateRequest, name: providerPrefix + app.rawValue + ".certSigningRequest")
        )
    }

    /// The files that may have the key of a provider certificate.
    func keyHolders() throws(RingwakeError) -> [CredentialDirectory.Entry] {
        try directory.names().compactMap { name in
            let isProvider = name.hasPrefix(Self.providerPrefix) && name.hasSuffix(Self.certificateSuffix)
            return name.hasSuffix(Self.keySuffix) || isProvider ? .init(kind: .providerKey, name: name) : nil
        }
    }

    /// The names of the provider certificates, without suffix.
    func providerNames() throws(RingwakeError) -> [String] {
        try directory.names().compactMap { name in
            guard name.hasPrefix(Self.providerPrefix), name.hasSuffix(Self.certificateSuffix) else { return nil }
            return String(name.dropLast(Self.certificateSuffix.count))
        }
    }

    /// The VoIP topics of the team's provider certificates.
    func topics(of teamID: String) throws(RingwakeError) -> [String] {
        try providers().filter { $0.organizationalUnit == teamID }.compactMap(\.subjectUserID)
    }

    /// The id of the team's first token key; nil if it has none.
    func keyID(of teamID: String) throws(RingwakeError) -> String? {
        try publicKeys().first { $0.team == teamID }?.id
    }

    /// Writes the team into keys that lack it, as older ones do: the only team that has certificates here.
    func markKeys() throws(RingwakeError) {
        let teams = Set(try providers().compactMap(\.organizationalUnit))
        guard teams.count == 1, let team = teams.first else { return }
        for key in try publicKeys() where key.team == nil {
            try directory.write(Self.mark(of: team) + directory.read(key.entry), to: key.entry)
        }
    }

    private func publicKeys() throws(RingwakeError) -> [(id: String, team: String?, entry: CredentialDirectory.Entry)] {
        var keys: [(id: String, team: String?, entry: CredentialDirectory.Entry)] = []
        for name in try directory.names() {
            guard let id = TokenKeyName.keyID(inFileName: name), name == TokenKeyName.publicName(keyID: id) else {
                continue
            }
            let entry = CredentialDirectory.Entry(kind: .tokenPublicKey, name: name)
            keys.append((id, Self.team(inPublicKey: try directory.read(entry)), entry))
        }
        return keys
    }

    /// The first line of the file of a team's public key.
    static func mark(of teamID: String) -> [UInt8] { Array("\(markPrefix)\(teamID)\n".utf8) }

    private static func team(inPublicKey bytes: [UInt8]) -> String? {
        guard bytes.starts(with: Array(markPrefix.utf8)) else { return nil }
        return String(
            decoding: bytes.dropFirst(markPrefix.utf8.count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private func providers() throws(RingwakeError) -> [Certificate] {
        var certificates: [Certificate] = []
        for name in try providerNames() {
            // A damaged file belongs to no team. 'certs renew' and 'certs show' name it.
            guard let certificate = try? Certificate(pem: directory.read(Self.provider(named: name).pem)) else {
                continue
            }
            certificates.append(certificate)
        }
        return certificates
    }
}
