import Cryptography
import FileSystem
package import RingwakeCore

/// Joins a provider certificate, as a CA returned it, with its key: the PEM that a sender uses.
///
///     let file = try CertificateFile(bytes, name: "voip_services.cer", password: nil)
///     let made = try CertificateImport(directory: "certs", now: unixSeconds).run(file)
///
/// The key is in the file, is named, or lies in the directory, where ``CertificateSigningRequest`` made it.
package struct CertificateImport: Sendable {
    /// The directory of the PEM; made with mode 0700 if it is missing.
    package var directory: String
    /// The time, in seconds since 1970.
    package var now: Int64
    /// Whether an existing PEM with another certificate is replaced.
    package var force = false

    package init(directory: String, now: Int64) {
        self.directory = directory
        self.now = now
    }

    /// What was imported.
    package struct Result: Codable, Equatable, Sendable {
        /// The PEM.
        package let path: String
        /// Whether it was written now; else it has this certificate already.
        package let isNew: Bool
        /// The app, after which the PEM is named.
        package let app: AppID
        /// The certificate.
        package let certificate: CertificateReport
        /// The file that had the key.
        package let keyFile: String
        /// Warnings about the certificate.
        package let problems: [CredentialProblem]
        /// A P12 beside the PEM, which has the certificate that the PEM had before.
        package let outdatedPKCS12: String?
    }

    /// Imports the certificate of `file`.
    ///
    /// - Parameter named: bytes and name of the file of its key.
    /// - Throws: `badCredential` for a certificate that is no provider's, or of no use; `notFound` if no key fits;
    ///   `conflict` if the PEM has another certificate.
    package func run(
        _ file: CertificateFile, key named: (bytes: [UInt8], name: String)? = nil
    ) throws(RingwakeError) -> Result {
        let certificate = file.certificate
        let report = CertificateReport(certificate, now: now)
        let (app, problems) = (try app(of: file, report), try problems(of: file, report))
        let (key, keyFile) = try key(of: file, named)

        let target = try CredentialDirectory(path: directory)
        let (pem, pkcs12) = TeamFiles.provider(named: TeamFiles.providerPrefix + app.rawValue)
        let path = target.path(of: pem)
        let bytes = try file.pem(with: key)
        var isNew = true
        if FileSystem.exists(path) { isNew = try target.read(pem) != bytes }
        if isNew {
            try requireFree(pem, in: target)
            try target.make(pem, with: bytes)
        }
        let other = target.path(of: pkcs12)
        return Result(
            path: path, isNew: isNew, app: app, certificate: report, keyFile: keyFile, problems: problems,
            outdatedPKCS12: isNew && FileSystem.exists(other) ? other : nil)
    }

    /// The app that the certificate is for: by its topic, which becomes a part of the name of a file.
    private func app(of file: CertificateFile, _ report: CertificateReport) throws(RingwakeError) -> AppID {
        guard report.isProvider else {
            throw RingwakeError(
                .badCredential,
                "\(file.name) has the \(report.kind.words) '\(file.certificate.title)', which is no provider certificate; "
                    + "name the file that the CA issued for the request.")
        }
        let topic = file.certificate.subjectUserID ?? ""
        let suffix = Topic.voipSuffix
        guard let app = AppID(topic.hasSuffix(suffix) ? String(topic.dropLast(suffix.count)) : topic) else {
            throw RingwakeError(
                .badCredential,
                "'\(file.certificate.title)' in \(file.name) has no topic: the UID of its subject is "
                    + "\(topic.isEmpty ? "missing" : "'\(topic)'"), not a bundle id and '\(suffix)'; have it issued as a VoIP "
                    + "Services certificate.")
        }
        return app
    }

    /// The warnings about the certificate.
    private func problems(
        of file: CertificateFile, _ report: CertificateReport
    ) throws(RingwakeError) -> [CredentialProblem] {
        let problems = CredentialProblem.sorted(
            CredentialProblems(file: file.name, now: now).problems(of: file.certificate, kind: report.kind))
        guard let worst = problems.first, worst.severity == .error else { return problems }
        throw RingwakeError(
            .badCredential, "'\(file.certificate.title)' in \(file.name) cannot be used: \(worst.sentence).")
    }

    private func key(
        of file: CertificateFile, _ named: (bytes: [UInt8], name: String)?
    ) throws(RingwakeError) -> (key: PrivateKey, file: String) {
        if let key = try file.key(or: named) { return (key, file.key === key ? file.name : named?.name ?? file.name) }
        var count = 0
        if FileSystem.exists(directory) {
            let folder = try CredentialDirectory(existing: directory)
            for entry in try TeamFiles(folder).keyHolders() {
                // Another file's damage is not this certificate's.
                guard let key = try? PrivateKey(pem: folder.read(entry)) else { continue }
                if key.isKey(of: file.certificate) { return (key, folder.path(of: entry)) }
                count += 1
            }
        }
        throw RingwakeError(
            .notFound,
            "\(file.name) has no private key, and none of the \(count) keys in \(directory) is the key of "
                + "'\(file.certificate.title)'. It was made with the request for this certificate: name its file with --key, "
                + "or its directory with --directory. If it is lost, begin again with 'ringwake certs request'.")
    }

    private func requireFree(_ pem: CredentialDirectory.Entry, in target: CredentialDirectory) throws(RingwakeError) {
        let path = target.path(of: pem)
        guard !force, FileSystem.exists(path) else { return }
        let present = try? Certificate(pem: target.read(pem))
        let end = present.flatMap { CertificateReport.text(secondsSince1970: $0.notAfter) }
        throw RingwakeError(
            .conflict,
            "\(path) is there already, with \(end.map { "a certificate that ends on \($0)" } ?? "something else"); replace it "
                + "with --force.")
    }
}
