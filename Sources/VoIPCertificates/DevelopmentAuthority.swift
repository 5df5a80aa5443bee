package import Cryptography
import FileSystem
package import RingwakeCore

/// A CA for development and testing: makes everything that a daemon and a sender need to try each other out.
///
///     let authority = try DevelopmentAuthority(directory: "certs", now: unixSeconds)
///     let made = try authority.setUp(DevelopmentSetup(app: app, teamID: "DEVTEAM001"))
///
/// An existing CA in the directory is reused, so that a second app's certificates are trusted where the first's are.
package final class DevelopmentAuthority {
    static let authorityCertificate = CredentialDirectory.Entry(kind: .authorityCertificate, name: "ca.pem")
    static let authorityKey = CredentialDirectory.Entry(kind: .authorityKey, name: "ca.key")
    static let serverCertificate = CredentialDirectory.Entry(kind: .serverCertificate, name: "server.pem")
    static let serverKey = CredentialDirectory.Entry(kind: .serverKey, name: "server.key")

    private let directory: CredentialDirectory
    private let now: Int64
    private let issuer: CertificateIssuer
    private var files: [DevelopmentCredentials.File] = []

    /// The CA's certificate.
    package var certificate: Certificate { issuer.certificate }

    /// Opens the CA in `directory`, or makes one there; the directory gets mode 0700 when it is made.
    ///
    /// - Parameter now: the time of issue, in seconds since 1970.
    /// - Throws: `conflict` for an incomplete or expired CA, `badCredential` for a damaged one, `system` when the
    ///   directory cannot be used.
    package init(directory path: String, now: Int64) throws(RingwakeError) {
        directory = try CredentialDirectory(path: path)
        self.now = now
        let pair = [Self.authorityKey, Self.authorityCertificate]
        let isThere = try directory.has(pair)
        issuer = try isThere ? Self.open(directory) : Self.create(in: directory, now: now)
        record(pair, isNew: !isThere)
        guard now <= issuer.certificate.notAfter else { throw Self.expired(issuer.certificate, in: directory) }
    }

    /// The CA in `directory`, whether it has expired or not.
    static func open(_ directory: CredentialDirectory) throws(RingwakeError) -> CertificateIssuer {
        try CertificateIssuer(
            certificate: Certificate(pem: directory.read(authorityCertificate)),
            key: PrivateKey(pem: directory.read(authorityKey)))
    }

    static func expired(_ certificate: Certificate, in directory: CredentialDirectory) -> RingwakeError {
        let end = CertificateReport.text(secondsSince1970: certificate.notAfter) ?? "an unreadable date"
        return RingwakeError(
            .conflict,
            "The CA in \(directory.path) expired on \(end); renew it with 'ringwake certs renew --directory "
                + "\(directory.path) --ca', and give its new ca.pem to each sender.")
    }

    private static func create(
        in directory: CredentialDirectory, now: Int64
    ) throws(RingwakeError) -> CertificateIssuer {
        let key = try PrivateKey.generate(.p256)
        // The random mark distinguishes the CAs of two installations in a list of trusted ones.
        let mark = encodeHex(try SecureRandom.bytes(4))
        let certificate = try CertificateIssuer.selfSigned(
            CertificateTemplate(
                subject: .init(commonName: "Ringwake Development CA \(mark)", organization: "Ringwake development"),
                role: .authority, notBefore: Validity.start(at: now),
                notAfter: Validity.end(at: now, days: Validity.authorityDays)),
            key: key)
        try directory.write(key.pem, to: authorityKey)
        try directory.write(certificate.pem, to: authorityCertificate)
        return try CertificateIssuer(certificate: certificate, key: key)
    }

    /// Makes the missing files of `setup`: server certificate, provider certificate, token key.
    ///
    /// An existing CA and token key stay: what they signed would be worthless with others. `setup.force` issues the
    /// server's and the provider's certificates again. The server's key stays too: it has a file of its own, and a
    /// daemon that starts between two writes would find a key that isn't the certificate's.
    ///
    /// - Throws: `invalidRequest` for invalid names, `conflict` for files that don't fit together.
    package func setUp(_ setup: DevelopmentSetup) throws(RingwakeError) -> DevelopmentCredentials {
        try TeamID.check(setup.provider.teamID)
        try TeamFiles(directory).markKeys()
        try makeServer(setup)
        try makeProvider(setup)
        let keyID = try makeTokenKey(of: setup.provider.teamID)
        let topic = Topic.voip(of: setup.provider.app).rawValue
        let others = try TeamFiles(directory).topics(of: setup.provider.teamID)
        return DevelopmentCredentials(
            directory: directory.path, teamID: setup.provider.teamID, topic: topic,
            teamTopics: Set(others + [topic]).sorted(), keyID: keyID, files: files)
    }

    /// A provider certificate of this CA with its key, without a file: for tests of a push service.
    package func issue(
        _ request: ProviderCertificateRequest
    ) throws(RingwakeError) -> (certificate: Certificate, key: PrivateKey) {
        let key = try PrivateKey.generate(request.keyKind)
        return (try issuer.issue(request.template(at: now), for: key), key)
    }

    /// The names that the server certificate in a directory is for.
    package static func serverNames(in path: String) throws(RingwakeError) -> [String] {
        let directory = try CredentialDirectory(existing: path)
        return try Certificate(pem: directory.read(serverCertificate)).subjectAlternativeNames.map(\.description)
    }

    private func makeServer(_ setup: DevelopmentSetup) throws(RingwakeError) {
        let entries = [Self.serverKey, Self.serverCertificate]
        var names = try setup.allServerNames()
        if try !shallMake(entries, force: setup.force) {
            let present = try Certificate(pem: directory.read(Self.serverCertificate))
            try keep(Self.serverCertificate, present)
            guard let missing = names.first(where: { !present.subjectAlternativeNames.contains($0) }) else { return }
            guard setup.addsServerNames else {
                throw RingwakeError(
                    .conflict,
                    "\(directory.path(of: Self.serverCertificate)) is there already and not for \(missing); "
                        + "use --force to issue it anew, or choose another directory.")
            }
            guard try present.isIssued(by: issuer.certificate) else {
                throw RingwakeError(
                    .conflict,
                    "\(directory.path(of: Self.serverCertificate)) is not for \(missing), and another CA issued it "
                        + "(\(present.issuerCommonName ?? "unnamed")); have it issued there, or move it away.")
            }
            let known = names
            names = present.subjectAlternativeNames + known.filter { !present.subjectAlternativeNames.contains($0) }
            files.removeAll { $0.path == directory.path(of: Self.serverCertificate) && !$0.isNew }
        }
        let key = try serverKey()
        let certificate = try issuer.issue(
            CertificateTemplate(
                subject: .init(commonName: names.first?.description ?? "localhost"), role: .server(names),
                notBefore: Validity.start(at: now), notAfter: Validity.end(at: now, days: Validity.serverDays)),
            for: key)
        try directory.write(certificate.pem, to: Self.serverCertificate)
        record([Self.serverCertificate], isNew: true)
    }

    /// The server's key: the present one, else a new one.
    private func serverKey() throws(RingwakeError) -> PrivateKey {
        if FileSystem.exists(directory.path(of: Self.serverKey)) {
            let key = try PrivateKey(pem: directory.read(Self.serverKey))
            if !files.contains(where: { $0.kind == .serverKey }) { record([Self.serverKey], isNew: false) }
            return key
        }
        let key = try PrivateKey.generate(.p256)
        try directory.write(key.pem, to: Self.serverKey)
        record([Self.serverKey], isNew: true)
        return key
    }

    private func makeProvider(_ setup: DevelopmentSetup) throws(RingwakeError) {
        let (pem, pkcs12) = TeamFiles.provider(named: TeamFiles.providerPrefix + setup.provider.app.rawValue)
        // 'certs import' put it there, without a P12.
        let isApples = (try? Certificate(pem: directory.read(pem)))?.namesAppleAsIssuer == true
        guard !isApples || !setup.force else {
            throw RingwakeError(
                .conflict,
                "\(directory.path(of: pem)) has a certificate that Apple issued, and this command does not replace that; "
                    + "choose another directory, or move the file away.")
        }
        guard try shallMake(isApples ? [pem] : [pem, pkcs12], force: setup.force) else {
            let present = try Certificate(pem: directory.read(pem))
            try keep(pem, present)
            let team = present.organizationalUnit
            guard team == setup.provider.teamID else {
                throw RingwakeError(
                    .conflict,
                    "\(directory.path(of: pem)) is there already, for team \(team ?? "none") and not "
                        + "\(setup.provider.teamID); name that team, or let 'ringwake certs dev-ca --force' issue it anew."
                )
            }
            return
        }
        let (certificate, key) = try issue(setup.provider)
        let file = try PKCS12.write(
            key: key, certificate: certificate, chain: [issuer.certificate],
            friendlyName: certificate.title, password: setup.pkcs12Password, legacy: setup.isPKCS12Legacy)
        // The P12 first: until the PEM is written too, the next run finds the old one and makes both again.
        try directory.write(file, to: pkcs12)
        try directory.write(certificate.pem + key.pem, to: pem)
        record([pem, pkcs12], isNew: true)
    }

    private func makeTokenKey(of teamID: String) throws(RingwakeError) -> String {
        let keyID =
            if let present = try TeamFiles(directory).keyID(of: teamID) { present } else {
                try TokenKeyName.makeKeyID()
            }
        let secret = CredentialDirectory.Entry(kind: .tokenKey, name: TokenKeyName.privateName(keyID: keyID))
        let open = CredentialDirectory.Entry(kind: .tokenPublicKey, name: TokenKeyName.publicName(keyID: keyID))
        if try shallMake([secret, open], force: false) {
            let key = try P256PrivateKey.generate()
            try directory.write(key.pem, to: secret)
            try directory.write(TeamFiles.mark(of: teamID) + key.publicKeyPEM, to: open)
            record([secret, open], isNew: true)
        }
        return keyID
    }

    /// Whether to write files that belong together; records those that stay.
    private func shallMake(_ entries: [CredentialDirectory.Entry], force: Bool) throws(RingwakeError) -> Bool {
        if force { return true }
        guard try directory.has(entries) else { return true }
        record(entries, isNew: false)
        return false
    }

    /// - Throws: `conflict` when a certificate that would stay has expired.
    private func keep(_ entry: CredentialDirectory.Entry, _ certificate: Certificate) throws(RingwakeError) {
        guard certificate.notAfter < now else { return }
        throw RingwakeError(
            .conflict,
            "\(directory.path(of: entry)) is there already and has expired; renew it with "
                + "'ringwake certs renew --directory \(directory.path)'.")
    }

    private func record(_ entries: [CredentialDirectory.Entry], isNew: Bool) {
        files += entries.map { .init(path: directory.path(of: $0), kind: $0.kind, isNew: isNew) }
    }
}
