package import Cryptography
package import RingwakeCore

/// A CA for development and testing: makes everything that a daemon and a sender need to try each other out.
///
///     let authority = try DevelopmentAuthority(directory: "certs", now: unixSeconds)
///     let made = try authority.setUp(DevelopmentSetup(app: app, teamID: "DEVTEAM001"))
///
/// An existing CA in the directory is reused, so that a second app's certificates are trusted where the first's are.
package final class DevelopmentAuthority {
    private static let authorityCertificate = CredentialDirectory.Entry(
        kind: .authorityCertificate, name: "ca.pem")
    private static let authorityKey = CredentialDirectory.Entry(kind: .authorityKey, name: "ca.key")
    private static let serverCertificate = CredentialDirectory.Entry(kind: .serverCertificate, name: "server.pem")
    private static let serverKey = CredentialDirectory.Entry(kind: .serverKey, name: "server.key")

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
        issuer = try isThere ? Self.open(directory, now: now) : Self.create(in: directory, now: now)
        record(pair, isNew: !isThere)
    }

    private static func open(
        _ directory: CredentialDirectory, now: Int64
    ) throws(RingwakeError) -> CertificateIssuer {
        let issuer = try CertificateIssuer(
            certificate: Certificate(pem: directory.read(authorityCertificate)),
            key: PrivateKey(pem: directory.read(authorityKey)))
        guard now <= issuer.certificate.notAfter else {
            throw RingwakeError(
                .conflict,
                "The CA in \(directory.path) has expired; remove ca.pem and ca.key, and everything that it issued.")
        }
        return issuer
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
    /// server's and the provider's certificates again.
    ///
    /// - Throws: `invalidRequest` for invalid names, `conflict` for files that don't fit together.
    package func setUp(_ setup: DevelopmentSetup) throws(RingwakeError) -> DevelopmentCredentials {
        try TeamID.check(setup.provider.teamID)
        try makeServer(setup)
        try makeProvider(setup)
        let keyID = try makeTokenKey()
        return DevelopmentCredentials(
            directory: directory.path, teamID: setup.provider.teamID,
            topic: Topic.voip(of: setup.provider.app).rawValue, keyID: keyID, files: files)
    }

    /// A provider certificate of this CA with its key, without a file: for tests of a push service.
    package func issue(
        _ request: ProviderCertificateRequest
    ) throws(RingwakeError) -> (certificate: Certificate, key: PrivateKey) {
        let key = try PrivateKey.generate(request.keyKind)
        return (try issuer.issue(request.template(at: now), for: key), key)
    }

    private func makeServer(_ setup: DevelopmentSetup) throws(RingwakeError) {
        let entries = [Self.serverKey, Self.serverCertificate]
        let names = try setup.allServerNames()
        guard try shallMake(entries, force: setup.force) else {
            let present = try Certificate(pem: directory.read(Self.serverCertificate))
            try keep(Self.serverCertificate, present)
            guard let missing = names.first(where: { !present.subjectAlternativeNames.contains($0) }) else { return }
            throw RingwakeError(
                .conflict,
                "\(directory.path(of: Self.serverCertificate)) is there already and not for \(missing); "
                    + "use --force to issue it anew, or choose another directory.")
        }
        let key = try PrivateKey.generate(.p256)
        let certificate = try issuer.issue(
            CertificateTemplate(
                subject: .init(commonName: names.first?.description ?? "localhost"), role: .server(names),
                notBefore: Validity.start(at: now), notAfter: Validity.end(at: now, days: Validity.serverDays)),
            for: key)
        try directory.write(key.pem, to: Self.serverKey)
        try directory.write(certificate.pem, to: Self.serverCertificate)
        record(entries, isNew: true)
    }

    private func makeProvider(_ setup: DevelopmentSetup) throws(RingwakeError) {
        let name = "voip-services-\(setup.provider.app)"
        let pem = CredentialDirectory.Entry(kind: .providerCertificate, name: name + ".pem")
        let pkcs12 = CredentialDirectory.Entry(kind: .providerPKCS12, name: name + ".p12")
        guard try shallMake([pem, pkcs12], force: setup.force) else {
            let present = try Certificate(pem: directory.read(pem))
            try keep(pem, present)
            let team = present.organizationalUnit
            guard team == setup.provider.teamID else {
                throw RingwakeError(
                    .conflict,
                    "\(directory.path(of: pem)) is there already, for team \(team ?? "none") and not "
                        + "\(setup.provider.teamID); use --force to issue it anew, or choose another directory.")
            }
            return
        }
        let (certificate, key) = try issue(setup.provider)
        let file = try PKCS12.write(
            key: key, certificate: certificate, chain: [issuer.certificate],
            friendlyName: certificate.title, password: setup.pkcs12Password, legacy: setup.isPKCS12Legacy)
        try directory.write(certificate.pem + key.pem, to: pem)
        try directory.write(file, to: pkcs12)
        record([pem, pkcs12], isNew: true)
    }

    private func makeTokenKey() throws(RingwakeError) -> String {
        let present = try directory.names().compactMap(TokenKeyName.keyID(inFileName:)).first
        let keyID = if let present { present } else { try TokenKeyName.makeKeyID() }
        let secret = CredentialDirectory.Entry(kind: .tokenKey, name: TokenKeyName.privateName(keyID: keyID))
        let open = CredentialDirectory.Entry(kind: .tokenPublicKey, name: TokenKeyName.publicName(keyID: keyID))
        if try shallMake([secret, open], force: false) {
            let key = try P256PrivateKey.generate()
            try directory.write(key.pem, to: secret)
            try directory.write(key.publicKeyPEM, to: open)
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
            "\(directory.path(of: entry)) is there already and has expired; use --force to issue it anew.")
    }

    private func record(_ entries: [CredentialDirectory.Entry], isNew: Bool) {
        files += entries.map { .init(path: directory.path(of: $0), kind: $0.kind, isNew: isNew) }
    }
}
