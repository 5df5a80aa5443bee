import ControlProtocol
import Cryptography
import FileSystem
import RingwakeCore
import VoIPCertificates

/// A team's file, `teams.d/ID.toml`, as this program writes it.
struct TeamFile {
    /// The first line. A file without it was written by somebody else, and is never changed.
    static let mark = "# A team that may send pushes; see ringwaked.toml(5). Written by 'ringwake team'."

    let id: String
    /// Topics that the team may send to; nil for all.
    var topics: [String]?
    /// Whether each of its accepted pushes is answered with its outcome.
    var getsOutcome: Bool
    /// Where its receipts are posted to; nil: nowhere.
    var webhook: ConfigurationMessage.Team.Webhook?
    /// Its keys, in PEM.
    var keys: [(id: String, publicPEM: String)]

    init(
        id: String, topics: [String]?, getsOutcome: Bool = false, keys: [(id: String, publicPEM: String)] = []
    ) {
        self.id = id
        self.topics = topics
        self.getsOutcome = getsOutcome
        self.keys = keys
    }

    /// The present contents of a team's file.
    init(_ team: ConfigurationMessage.Team) {
        self.init(
            id: team.id, topics: team.topics, getsOutcome: team.outcome == true,
            keys: team.keys.map { ($0.id, $0.publicKey) })
        webhook = team.webhook
    }

    static func path(of id: String, in directory: String) -> String { "\(directory)/\(id).toml" }

    /// Whether this program wrote the file, so that it may write it again.
    static func isOurs(_ path: String) throws(RingwakeError) -> Bool {
        let bytes = try withFiles { () throws(FileSystemError) in
            try FileSystem.read(path, maximumSize: ConfiguredFile.maximumBytes)
        }
        return bytes.starts(with: Array(mark.utf8))
    }

    var text: String {
        var lines = [TeamFile.mark]
        if let topics { lines.append("topics = [\(topics.map(AppFile.tomlString).joined(separator: ", "))]") }
        if getsOutcome { lines.append("outcome = true") }
        if let webhook {
            lines.append("webhook = \(AppFile.tomlString(webhook.url))")
            lines.append("webhook_secret = \(AppFile.tomlString(webhook.secretFile))")
            if let file = webhook.caFile { lines.append("webhook_ca = \(AppFile.tomlString(file))") }
        }
        for key in keys {
            lines += ["", "[[key]]", "id = \(AppFile.tomlString(key.id))", "public = \"\"\"", key.publicPEM + "\"\"\""]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Whether `id` can be a team's: it is a file name, and stands in URIs of SIP.
    static func isID(_ id: String) -> Bool {
        (1...64).contains(id.utf8.count)
            && id.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
    }

    /// The public half of a key's file.
    ///
    /// - Parameter id: its key id; nil: from a file name like `AuthKey_ID.p8`.
    static func key(of file: String, id: String?) throws(RingwakeError) -> (id: String, publicPEM: String) {
        let name = FileSystem.split(file).name
        let stem = name.hasPrefix("AuthKey_") ? name.dropFirst("AuthKey_".count).prefix { $0 != "." } : ""
        let id = id ?? String(stem)
        guard !id.isEmpty else {
            throw RingwakeError(
                .invalidRequest, "the file name '\(name)' does not say the key's id; give it with --key-id")
        }
        let bytes = try InputFile.read(file)
        // It holds a public key, but no token is signed with a certificate's key.
        guard (try? Certificate(pem: bytes)) == nil else {
            throw RingwakeError(
                .badCredential,
                "\(file) is a certificate; give the key that signs provider tokens: a P8, or its public half. A sender "
                    + "with a provider certificate needs no key")
        }
        do throws(RingwakeError) {
            return (id, String(decoding: try P256PublicKey(pem: bytes).pem, as: UTF8.self))
        } catch {
            throw RingwakeError(error.code, "\(file): \(error.message)")
        }
    }

    /// A line about a key id that Apple wouldn't give; empty for others. The daemon accepts any.
    static func note(onKeyID id: String) -> String {
        guard !TokenKeyName.isKeyID(id) else { return "" }
        return "note: Apple's key ids have 10 characters of A-Z and 0-9; senders have to use '"
            + TerminalText.printable(id) + "'\n"
    }

    /// Adds a key.
    ///
    /// - Throws: `conflict` for another key with the same id.
    mutating func add(_ key: (id: String, publicPEM: String)) throws(RingwakeError) {
        guard let present = keys.first(where: { $0.id == key.id }) else { return keys.append(key) }
        guard present.publicPEM == key.publicPEM else {
            throw RingwakeError(
                .conflict,
                "the team '\(id)' has another key '\(key.id)'; retire that one first, with 'ringwake team key retire'")
        }
    }

    /// Makes the directory of teams as its parent is: who may read the configuration may read the teams.
    static func makeDirectory(_ path: String) throws(FileSystemError) {
        try FileSystem.createDirectory(path, mode: 0o700)
        try FileSystem.setAttributes(FileSystem.attributes(of: FileSystem.split(path).directory), of: path)
    }
}
