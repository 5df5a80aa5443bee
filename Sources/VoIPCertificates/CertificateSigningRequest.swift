package import Cryptography
import FileSystem
package import RingwakeCore

/// Makes a key and a request, from which Apple's portal or another CA issues a VoIP Services certificate.
///
///     let made = try CertificateSigningRequest(app: app).write(in: "certs")
///
/// ``CertificateImport`` joins the certificate and the key.
package struct CertificateSigningRequest: Sendable {
    /// The app.
    package var app: AppID
    /// OU of the subject; nil leaves it out. Apple's portal replaces the subject, another CA may keep it.
    package var teamID: String?
    /// The kind of the key.
    package var keyKind = PrivateKey.Kind.rsa2048
    /// Whether an existing key and its request are replaced.
    package var force = false

    package init(app: AppID) {
        self.app = app
    }

    /// What ``write(in:)`` made.
    package struct Result: Equatable, Sendable {
        /// The key first, then the request.
        package let files: [DevelopmentCredentials.File]
        /// Type and size of the key, such as `RSA 2048`.
        package let keyType: String
    }

    /// Writes both files. A key without a request, left by a crash, gets one.
    ///
    /// - Parameter path: the directory, which is made with mode 0700 if it is missing.
    /// - Throws: `conflict` if both exist, or a request without its key; `invalidRequest` for an invalid team.
    package func write(in path: String) throws(RingwakeError) -> Result {
        if let teamID { try TeamID.check(teamID) }
        let directory = try CredentialDirectory(path: path)
        let (keyEntry, requestEntry) = TeamFiles.request(of: app)
        let (keyPath, requestPath) = (directory.path(of: keyEntry), directory.path(of: requestEntry))
        var present: PrivateKey?
        if !force {
            guard !FileSystem.exists(requestPath) else {
                throw RingwakeError(
                    .conflict,
                    "There is a request already, \(requestPath): give that to the CA, or use --force for a new key and a "
                        + "new request. A certificate that was issued for the old key is worthless without it.")
            }
            if FileSystem.exists(keyPath) { present = try PrivateKey(pem: directory.read(keyEntry)) }
        }
        let key: PrivateKey
        if let present { key = present } else { key = try PrivateKey.generate(keyKind) }
        let topic = Topic.voip(of: app).rawValue
        let request = try CertificateRequest.pem(
            subject: .init(userID: topic, commonName: "VoIP Services: \(app)", organizationalUnit: teamID), key: key)
        if present == nil { try directory.make(keyEntry, with: key.pem) }
        try directory.make(requestEntry, with: request)
        return Result(
            files: [
                .init(path: keyPath, kind: keyEntry.kind, isNew: present == nil),
                .init(path: requestPath, kind: requestEntry.kind, isNew: true),
            ], keyType: key.summary)
    }
}
