import Cryptography
import FileSystem
package import RingwakeCore

/// Renews the certificates of a development CA, from what the present ones say.
///
///     let report = try CertificateRenewal(directory: "certs", now: unixSeconds).run()
///
/// Each certificate keeps its key. So the file of the server's key stays, and a daemon that reloads in the middle of a
/// renewal reads a key and a certificate that fit. Each file is replaced as a whole, and keeps its owner, group and mode.
package struct CertificateRenewal {
    private typealias Authority = DevelopmentAuthority
    private typealias State = RenewalReport.State

    /// A certificate with less time left, in seconds, is renewed.
    package var within: Int64 = 30 * Validity.secondsPerDay
    /// Whether the CA's own certificate, and all others, are renewed too.
    package var renewsAuthority = false
    /// The password of the P12 files; empty for none.
    package var pkcs12Password = ""

    private let directory: CredentialDirectory
    private let now: Int64
    private let present: CertificateIssuer

    /// - Parameter now: the time of issue, in seconds since 1970.
    /// - Throws: `notFound` if there is no CA, `conflict` if half of it is missing, `badCredential` if it's damaged.
    package init(directory path: String, now: Int64) throws(RingwakeError) {
        directory = try CredentialDirectory(existing: path)
        try TrustedDirectory.require(path)
        self.now = now
        guard try directory.has([Authority.authorityKey, Authority.authorityCertificate]) else {
            throw RingwakeError(
                .notFound,
                "\(path) has no development CA (ca.pem and ca.key); name the directory of 'ringwake certs dev-ca', or "
                    + "renew the certificates where they were issued.")
        }
        present = try Authority.open(directory)
    }

    /// Renews what ends soon. One file that can't be renewed doesn't stop the others.
    ///
    /// - Throws: `conflict` if the CA has expired and stays, or the clock is before its beginning.
    package func run() throws(RingwakeError) -> RenewalReport {
        let certificate = present.certificate
        guard now >= certificate.notBefore else {
            throw RingwakeError(
                .conflict,
                "This machine's clock says \(text(now)), but the CA in \(directory.path) was made on "
                    + "\(text(certificate.notBefore)); set the clock.")
        }
        var issuer = present
        if renewsAuthority {
            issuer = try CertificateIssuer(
                certificate: again(certificate, by: present, until: .max),
                key: PrivateKey(pem: directory.read(Authority.authorityKey)))
            try directory.write(issuer.certificate.pem, to: Authority.authorityCertificate)
        } else if now > certificate.notAfter {
            throw Authority.expired(certificate, in: directory)
        }
        let authority = file(
            Authority.authorityCertificate, renewsAuthority ? .renewed : .valid, issuer.certificate)
        var files: [RenewalReport.File] = []
        if FileSystem.exists(directory.path(of: Authority.serverCertificate)) {
            files.append(renew(Authority.serverCertificate) { () throws(RingwakeError) in try server(by: issuer) })
        }
        for name in try TeamFiles(directory).providerNames() {
            let (pem, pkcs12) = TeamFiles.provider(named: name)
            files.append(
                renew(pem) { () throws(RingwakeError) in try provider(pem, pkcs12, by: issuer) })
        }
        return RenewalReport(directory: directory.path, authority: authority, files: files)
    }

    /// Reports an error of `body` as the file's.
    private func renew(
        _ entry: CredentialDirectory.Entry, _ body: () throws(RingwakeError) -> RenewalReport.File
    ) -> RenewalReport.File {
        do throws(RingwakeError) {
            return try body()
        } catch {
            return file(entry, .failed, nil, why: error.message)
        }
    }

    private func server(by issuer: CertificateIssuer) throws(RingwakeError) -> RenewalReport.File {
        let entry = Authority.serverCertificate
        let chain = try Certificate.all(pem: directory.read(entry))
        guard let old = chain.first else { return file(entry, .failed, nil, why: "it holds no certificate") }
        if let file = try left(entry, old, issuer) { return file }
        guard try PrivateKey(pem: directory.read(Authority.serverKey)).isKey(of: old) else {
            return file(
                entry, .failed, old,
                why: "server.key is not its key; 'ringwake certs dev-ca --force' issues a certificate for that key")
        }
        let new = try again(old, by: issuer, until: issuer.certificate.notAfter)
        var pem = try new.pem
        for link in chain.dropFirst() { pem += try link.pem }
        try directory.write(pem, to: entry)
        return file(entry, .renewed, new)
    }

    /// The PEM and the P12 hold the same certificate, so they are renewed together or not at all.
    private func provider(
        _ pem: CredentialDirectory.Entry, _ pkcs12: CredentialDirectory.Entry, by issuer: CertificateIssuer
    ) throws(RingwakeError) -> RenewalReport.File {
        let bytes = try directory.read(pem)
        let old = try Certificate(pem: bytes)
        if let file = try left(pem, old, issuer) { return file }
        let key = try PrivateKey(pem: bytes)
        guard key.isKey(of: old) else {
            return file(
                pem, .failed, old, why: "the key in it is not its key; remove it, and make a new one with dev-ca")
        }
        let new = try again(old, by: issuer, until: issuer.certificate.notAfter)
        if FileSystem.exists(directory.path(of: pkcs12)) {
            let packed = try directory.read(pkcs12)
            do throws(RingwakeError) {
                _ = try PKCS12.read(packed, password: pkcs12Password)
            } catch {
                guard error.code == .notPermitted else { throw error }
                return file(
                    pem, .failed, old,
                    why:
                        "\(pkcs12.name), which holds it too, has another password; give it with --p12-password-file, or "
                        + "remove that file")
            }
            let file = try PKCS12.write(
                key: key, certificate: new, chain: [issuer.certificate], friendlyName: new.title,
                password: pkcs12Password, legacy: PKCS12.isLegacy(packed))
            // Before the PEM: if this process ends in between, the next run renews both.
            try directory.write(file, to: pkcs12)
        }
        try directory.write(new.pem + key.pem, to: pem)
        return file(pem, .renewed, new)
    }

    /// The report on a certificate that is left alone; nil for one to renew.
    private func left(
        _ entry: CredentialDirectory.Entry, _ certificate: Certificate, _ issuer: CertificateIssuer
    ) throws(RingwakeError) -> RenewalReport.File? {
        let (end, isOverflow) = now.addingReportingOverflow(within)
        let isDue = isOverflow || certificate.notAfter < end
        guard try certificate.isIssued(by: issuer.certificate) else {
            let issuer = certificate.isSelfSigned ? "itself" : "'\(certificate.issuerCommonName ?? "an unnamed CA")'"
            return file(
                entry, .foreign, certificate,
                why: isDue
                    ? "it was issued by \(issuer), not by this CA, so this command can't renew it; renew it there" : nil
            )
        }
        return isDue || renewsAuthority ? nil : file(entry, .valid, certificate)
    }

    /// `certificate` from an hour ago on, for as long as it was valid, but not longer than its CA.
    private func again(
        _ certificate: Certificate, by issuer: CertificateIssuer, until end: Int64
    ) throws(RingwakeError) -> Certificate {
        let (length, isUnreadable) = certificate.notAfter.subtractingReportingOverflow(certificate.notBefore)
        let start = Validity.start(at: now)
        let (last, isOverflow) = start.addingReportingOverflow(length)
        guard !isUnreadable, !isOverflow, length > 0 else {
            throw RingwakeError(.badCredential, "its dates can't be read; make it anew with 'certs dev-ca --force'")
        }
        return try issuer.reissue(certificate, notBefore: start, notAfter: min(last, end))
    }

    private func file(
        _ entry: CredentialDirectory.Entry, _ state: State, _ certificate: Certificate?, why: String? = nil
    ) -> RenewalReport.File {
        RenewalReport.File(
            path: directory.path(of: entry), kind: entry.kind, state: state,
            notAfter: certificate.flatMap { CertificateReport.text(secondsSince1970: $0.notAfter) },
            daysLeft: certificate?.daysLeft(at: now), why: why)
    }

    private func text(_ seconds: Int64) -> String {
        CertificateReport.text(secondsSince1970: seconds) ?? "an unreadable date"
    }
}
