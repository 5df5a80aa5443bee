import Cryptography
import FileSystem
package import RingwakeCore

/// A file with a certificate, and what it has beside it: the key, and other certificates.
package struct CertificateFile {
    /// The name of the file, for messages.
    package let name: String
    let certificate: Certificate
    /// The intermediate certificates.
    let chain: [Certificate]
    /// Any private key of the file.
    let key: PrivateKey?

    /// Reads PEM, DER or PKCS#12.
    ///
    /// - Parameter password: of a PKCS#12 file; nil when none was given.
    /// - Throws: `badCredential` for another file, or one without a certificate; `notPermitted` for a wrong password.
    package init(_ bytes: [UInt8], name: String, password: String?) throws(RingwakeError) {
        let found: CredentialContents
        do throws(RingwakeError) {
            found = try CredentialContents(bytes, password: password)
        } catch {
            throw RingwakeError(error.code, "\(name): \(error.message)")
        }
        if let problem = found.problems.first { throw RingwakeError(problem.code, "\(name): \(problem.message)") }
        let owner = found.privateKey.flatMap { key in found.certificates.first(where: key.isKey(of:)) }
        guard let certificate = owner ?? found.certificates.first(where: { !$0.isCA }) ?? found.certificates.first
        else {
            throw RingwakeError(
                .badCredential, "\(name) has a key and no certificate; name the file of the certificate.")
        }
        self.name = name
        self.certificate = certificate
        chain = found.certificates.filter { $0.isCA && !$0.isSelfSigned && $0.der != certificate.der }
        key = found.privateKey
    }

    /// Its own key, if it has one; else that of another file.
    ///
    /// - Parameter other: bytes and name of that file.
    /// - Throws: `badCredential` if neither is the key of the certificate.
    func key(or other: (bytes: [UInt8], name: String)?) throws(RingwakeError) -> PrivateKey? {
        if let key, key.isKey(of: certificate) { return key }
        guard let other else {
            guard key != nil else { return nil }
            throw RingwakeError(
                .badCredential,
                "The key in \(name) is not the key of '\(certificate.title)'; name the right one with --key.")
        }
        guard let key = try CredentialContents(other.bytes, password: nil).privateKey, key.isKey(of: certificate) else {
            throw RingwakeError(
                .badCredential,
                "\(other.name) has no key of '\(certificate.title)'; name the file of the key that was made with the "
                    + "request for this certificate.")
        }
        return key
    }

    /// One PEM for a sender: the certificate, its intermediates, and `key`.
    func pem(with key: PrivateKey) throws(RingwakeError) -> [UInt8] {
        var bytes = try certificate.pem
        for link in chain { bytes += try link.pem }
        return try bytes + key.pem
    }
}

/// The form of an exported certificate.
package enum CertificateExport: Equatable, Sendable {
    /// Certificate, intermediates and key.
    case pem
    /// The same with AES-256 and SHA-256, or for old readers (see ``PKCS12/write``).
    case pkcs12(password: String, isLegacy: Bool)

    /// Writes the certificate and its key to a file of mode 0600.
    ///
    /// - Parameters:
    ///   - file: the certificate.
    ///   - key: bytes and name of the file of the key, if `file` has none.
    ///   - path: the new file; its directory exists.
    ///   - force: whether an existing file is replaced.
    /// - Returns: the file that was written.
    /// - Throws: `badCredential` without a key that fits; `conflict` if the file exists.
    @discardableResult
    package func write(
        _ file: CertificateFile, key: (bytes: [UInt8], name: String)?, to path: String, force: Bool
    ) throws(RingwakeError) -> DevelopmentCredentials.File {
        guard let key = try file.key(or: key) else {
            throw RingwakeError(
                .badCredential,
                "\(file.name) has no private key; name the key with --key, or import the certificate first with "
                    + "'ringwake certs import'.")
        }
        guard force || !FileSystem.exists(path) else {
            throw RingwakeError(.conflict, "\(path) is there already; choose another name, or replace it with --force.")
        }
        let (directory, name) = FileSystem.split(path)
        let target = try CredentialDirectory(existing: directory)
        let bytes =
            switch self {
            case .pem: try file.pem(with: key)
            case .pkcs12(let password, let isLegacy):
                try PKCS12.write(
                    key: key, certificate: file.certificate, chain: file.chain, friendlyName: file.certificate.title,
                    password: password, legacy: isLegacy)
            }
        let kind: DevelopmentCredentials.Kind = self == .pem ? .providerCertificate : .providerPKCS12
        try target.make(.init(kind: kind, name: String(name)), with: bytes)
        return DevelopmentCredentials.File(path: path, kind: kind, isNew: true)
    }
}
