import Cryptography
package import RingwakeCore

extension CredentialReport {
    /// Maximum bytes of a file.
    package static let maximumBytes = 1024 * 1024

    /// Explains a PEM, DER, PKCS#12 or P8 file.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - fileName: for the report, and for the key id in the name of a P8 file.
    ///   - password: of a PKCS#12 file; `nil` when none was given.
    ///   - now: seconds since 1970.
    /// - Throws: `badCredential` for bytes that are none of these, naming what was tried; `notPermitted` for a
    ///   wrong password.
    package static func inspect(
        _ bytes: [UInt8], fileName: String, password: String?, now: Int64
    ) throws(RingwakeError) -> CredentialReport {
        guard bytes.count <= maximumBytes else {
            throw RingwakeError(
                .badCredential,
                "\(fileName) has \(bytes.count) bytes, and a certificate or key never has more than \(maximumBytes); "
                    + "is it the right file?")
        }
        do throws(RingwakeError) {
            let found = try CredentialContents(bytes, password: password)
            return report(on: found, fileName: fileName, now: now)
        } catch {
            throw RingwakeError(error.code, "\(fileName): \(error.message)")
        }
    }

    private static func report(on found: CredentialContents, fileName: String, now: Int64) -> CredentialReport {
        let certificates = found.certificates.map { CertificateReport($0, now: now) }
        let keyID = TokenKeyName.keyID(inFileName: fileName)
        let key = found.key.map { key in
            Key(
                type: key.type, isPrivate: key.isPrivate, keyID: keyID,
                belongsToCertificate: found.certificates.first.map(key.belongs))
        }
        let finder = CredentialProblems(file: fileName, now: now)
        var problems = found.problems.map {
            CredentialProblem(
                file: fileName, .invalid, .error, message: "the private key beside the certificate is of no use",
                hint: $0.message)
        }
        for (certificate, report) in zip(found.certificates, certificates) {
            problems += finder.problems(of: certificate, kind: report.kind)
        }
        if found.problems.isEmpty { problems += finder.problems(of: key, certificate: certificates.first) }
        return CredentialReport(
            file: fileName, format: found.format, kind: kind(certificates.first, key), certificates: certificates,
            key: key, problems: CredentialProblem.sorted(problems))
    }

    private static func kind(_ certificate: CertificateReport?, _ key: Key?) -> Kind {
        if let certificate { return certificate.kind }
        guard let key, key.type == PrivateKey.Kind.p256.rawValue else { return .privateKey }
        return key.isPrivate ? .providerTokenKey : .providerTokenPublicKey
    }
}

/// The contents of a file, before they are judged.
struct CredentialContents {
    /// A key of the file.
    struct Key {
        let type: String
        let isPrivate: Bool
        /// Whether it is the key of a certificate.
        let belongs: (Certificate) -> Bool

        init(_ key: PrivateKey) {
            type = key.summary
            isPrivate = true
            belongs = { key.isKey(of: $0) }
        }

        init(_ key: P256PublicKey) {
            type = PrivateKey.Kind.p256.rawValue
            isPrivate = false
            belongs = { key.isKey(of: $0) }
        }
    }

    private(set) var format: CredentialReport.Format
    private(set) var certificates: [Certificate] = []
    private(set) var privateKey: PrivateKey?
    private var publicKey: P256PublicKey?
    /// Why a private key beside a certificate could not be read.
    private(set) var problems: [RingwakeError] = []

    /// The private key, else the public one.
    var key: Key? { privateKey.map { Key($0) } ?? publicKey.map { Key($0) } }

    init(_ bytes: [UInt8], password: String?) throws(RingwakeError) {
        let labels = PEMLabels.all(in: bytes)
        if !labels.isEmpty {
            format = .pem
            try readPEM(bytes, labels: labels)
        } else if PKCS12.looksLikePKCS12(bytes) {
            format = .pkcs12
            let contents = try PKCS12.read(bytes, password: password ?? "")
            certificates = [contents.certificate] + contents.chain
            privateKey = contents.key
        } else {
            format = .der
            try readDER(bytes)
        }
    }

    private mutating func readPEM(_ bytes: [UInt8], labels: [String]) throws(RingwakeError) {
        let hasCertificate = labels.contains { $0.hasSuffix("CERTIFICATE") }
        if hasCertificate { certificates = try Certificate.all(pem: bytes) }
        if labels.contains(where: { $0.hasSuffix("PRIVATE KEY") }) {
            do throws(RingwakeError) {
                privateKey = try PrivateKey(pem: bytes)
            } catch {
                guard hasCertificate else { throw error }
                problems.append(error)
            }
        } else if labels.contains("PUBLIC KEY"), !hasCertificate {
            publicKey = try P256PublicKey(pem: bytes)
        } else if !hasCertificate {
            throw RingwakeError(
                .badCredential,
                "it is PEM with \(labels.map { "'\($0)'" }.joined(separator: ", ")), and neither certificate nor key; "
                    + "name a file with a certificate, a private key or a public key.")
        }
    }

    private mutating func readDER(_ bytes: [UInt8]) throws(RingwakeError) {
        if let certificate = try? Certificate(der: bytes) {
            certificates = [certificate]
        } else if let found = try? PrivateKey(der: bytes) {
            privateKey = found
        } else if let found = try? P256PublicKey(der: bytes) {
            publicKey = found
        } else {
            let size = bytes.isEmpty ? "it is empty" : "its \(bytes.count) bytes are nothing of this"
            throw RingwakeError(
                .badCredential,
                "\(size): PEM, PKCS#12 (.p12), a DER certificate (.cer), a DER private key, a DER public key on "
                    + "P-256; name a certificate or key file, and check that it was copied whole.")
        }
    }
}

/// The labels of the blocks of a PEM text, in order.
enum PEMLabels {
    /// Maximum blocks to read.
    private static let maximumBlocks = 1000
    private static let maximumLabelBytes = 64

    static func all(in bytes: [UInt8]) -> [String] {
        let start = Array("-----BEGIN ".utf8)
        let end = Array("-----".utf8)
        var labels: [String] = []
        for line in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            guard line.starts(with: start), labels.count < maximumBlocks else { continue }
            let rest = line.dropFirst(start.count)
            let label = rest.prefix { $0 != UInt8(ascii: "-") }
            guard label.count <= maximumLabelBytes, rest.dropFirst(label.count).starts(with: end) else { continue }
            labels.append(String(decoding: label, as: UTF8.self))
        }
        return labels
    }
}
