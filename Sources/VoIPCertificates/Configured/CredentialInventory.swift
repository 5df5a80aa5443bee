import Cryptography
import FileSystem
import Glibc
package import RingwakeCore

/// The certificates and keys of a configuration as they are on the disk, and what is wrong with them: the one list that
/// `ringwaked --check-config`, the daemon's log, `ringwake status` and `ringwake doctor` show.
///
///     var inventory = CredentialInventory(configured)
///     let problems = inventory.problems(at: place, now: unixSeconds)
///
/// Files are read again only when they have changed.
package struct CredentialInventory: Sendable {
    /// Maximum bytes of a file. A bundle of all public CAs is smaller.
    private static let maximumFileBytes = 4 << 20

    private let configured: ConfiguredCredentials
    private var stamps: [String: FileStamp?] = [:]
    private var server: Server?
    private var authorities: [(file: String, contents: Contents<[Certificate]>)] = []
    /// By their number in ``configured``.
    private var keys: [Contents<[UInt8]>] = []

    /// What was read, or why it is of no use.
    private enum Contents<Value: Sendable>: Sendable {
        case value(Value)
        case problem(CredentialProblem)

        var value: Value? { if case .value(let value) = self { value } else { nil } }
        var problem: CredentialProblem? { if case .problem(let problem) = self { problem } else { nil } }
    }

    private struct Server: Sendable {
        let chain: Contents<[Certificate]>
        /// Whether it is the key of the certificate; true if the certificate is unknown.
        let key: Contents<Bool>
    }

    package init(_ configured: ConfiguredCredentials) {
        self.configured = configured
        read()
    }

    /// What is wrong now, errors first.
    ///
    /// - Parameter now: seconds since 1970.
    package mutating func problems(at place: ServerPlace, now: Int64) -> [CredentialProblem] {
        if stamps != currentStamps() { read() }
        return CredentialProblem.sorted(
            serverProblems(at: place, now: now) + authorityProblems(now: now) + keyProblems())
    }

    // MARK: - Reading

    private func currentStamps() -> [String: FileStamp?] {
        Dictionary(configured.files.map { ($0, FileStamp($0)) }) { first, _ in first }
    }

    private mutating func read() {
        // Before the files: what changes in between is read again the next time.
        stamps = currentStamps()
        server = configured.server.map { server in
            let chain = contents(server.certificate, what: "certificate") { bytes throws(RingwakeError) in
                try Certificate.all(pem: bytes)
            }
            let key = contents(server.key, what: "private key") { bytes throws(RingwakeError) in
                let key = try PrivateKey(pem: bytes)
                return chain.value?.first.map(key.isKey) ?? true
            }
            return Server(chain: chain, key: key)
        }
        authorities = (configured.server?.authorities ?? []).map { file in
            let read = contents(file, what: "CA certificate") { bytes throws(RingwakeError) in
                try Certificate.all(pem: Certificate.pem(ofFile: bytes))
            }
            return (file, read)
        }
        keys = configured.keys.map { key in
            let name = "key \(key.id) of team \(key.team)"
            let parse = { (bytes: [UInt8]) throws(RingwakeError) in try P256PublicKey(pem: bytes).pem }
            guard let pem = key.pem else { return contents(key.file, what: name, parse) }
            return parsed(Array(pem.utf8), of: key.file, what: name, parse)
        }
    }

    private func contents<Value>(
        _ file: String, what: String, _ parse: ([UInt8]) throws(RingwakeError) -> Value
    ) -> Contents<Value> {
        let bytes: [UInt8]
        do throws(FileSystemError) {
            bytes = try FileSystem.read(file, maximumSize: Self.maximumFileBytes)
        } catch {
            let hint =
                error.isDenied
                ? "the daemon runs as user \(geteuid()): check owner, group and mode of the file and of its folders"
                : "put the file there, or correct its path in the configuration"
            return .problem(
                CredentialProblem(
                    file: file, .unreadable, .error, message: "the \(what) cannot be read: \(error.reason)", hint: hint)
            )
        }
        return parsed(bytes, of: file, what: what, parse)
    }

    private func parsed<Value>(
        _ bytes: [UInt8], of file: String, what: String, _ parse: ([UInt8]) throws(RingwakeError) -> Value
    ) -> Contents<Value> {
        do throws(RingwakeError) {
            return .value(try parse(bytes))
        } catch {
            return .problem(
                CredentialProblem(
                    file: file, .invalid, .error, message: "the \(what) is of no use", hint: error.message))
        }
    }

    // MARK: - Problems

    private func serverProblems(at place: ServerPlace, now: Int64) -> [CredentialProblem] {
        guard let server, let files = configured.server else { return [] }
        var problems = [server.chain.problem, server.key.problem].compactMap { $0 }
        if server.key.value == false {
            problems.append(
                CredentialProblem(
                    file: files.key, .otherKey, .error,
                    message: "it is not the key of the certificate in \(files.certificate)",
                    hint: "put the key there that the certificate was issued for"))
        }
        guard let chain = server.chain.value, let own = chain.first else { return problems }
        let finder = CredentialProblems(file: files.certificate, now: now)
        problems += finder.server(own)
        problems += chain.flatMap(finder.validity)
        let names = ServerNames(own.subjectAlternativeNames, hostName: place.hostName)
        if let address = place.addresses.first(where: { !names.suit(listener: $0) }) {
            let list = own.subjectAlternativeNames.map(\.description).joined(separator: ", ")
            problems.append(
                CredentialProblem(
                    file: files.certificate, .wrongNames, .warning,
                    message: "senders reach \(address) by other names than the certificate's (\(list))",
                    hint:
                        "issue it for the name or address that they use, with 'ringwake setup --host \(place.hostName ?? "NAME")' "
                        + "for a development CA"))
        }
        if let inUse = place.certificateInUse, inUse != own.der {
            problems.append(
                CredentialProblem(
                    file: files.certificate, .notLoaded, .warning,
                    message: "the daemon still uses the certificate that was there before",
                    hint: own.notAfter < now
                        ? "renew the file first: no reload replaces a valid certificate by an expired one"
                        : "run 'ringwake reload'"))
        }
        return problems
    }

    private func authorityProblems(now: Int64) -> [CredentialProblem] {
        authorities.flatMap { file, contents in
            guard let certificates = contents.value else { return contents.problem.map { [$0] } ?? [] }
            let finder = CredentialProblems(file: file, now: now)
            let others = certificates.filter { !$0.isCA }.map { certificate in
                CredentialProblem(
                    file: file, .noAuthority, .warning, message: "'\(certificate.title)' is no CA",
                    hint:
                        "only a sender with exactly this certificate is trusted; name the file of the CA that issued it"
                )
            }
            return others + certificates.flatMap(finder.validity)
        }
    }

    private func keyProblems() -> [CredentialProblem] {
        var problems = keys.compactMap(\.problem)
        for (index, key) in configured.keys.enumerated() {
            if key.pem == nil, let named = TokenKeyName.keyID(inFileName: key.file), named != key.id {
                problems.append(
                    CredentialProblem(
                        file: key.file, .otherKey, .warning,
                        message: "team \(key.team) has it as the key \(key.id), and its name says \(named)",
                        hint: "tokens name the key that signed them; correct the id or the file"))
            }
            guard index < keys.count, let own = keys[index].value else { continue }
            let twins = zip(configured.keys, keys).prefix(index).filter { $0.0.team != key.team && $0.1.value == own }
            if let (twin, _) = twins.first {
                problems.append(
                    CredentialProblem(
                        file: key.file, .sharedKey, .warning,
                        message:
                            "the key \(key.id) of team \(key.team) is also the key \(twin.id) of team \(twin.team)",
                        hint:
                            "whoever has it can send as both; give each team a key of its own with 'ringwake team key add'"
                    ))
            }
        }
        return problems
    }
}
