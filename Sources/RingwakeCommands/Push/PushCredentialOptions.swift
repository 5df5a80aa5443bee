import ArgumentParser
import Cryptography
import PushClient
import RingwakeCore

/// The credentials of a sender.
struct PushCredentialOptions: ParsableArguments {
    @Option(help: .of("file", "The provider certificate: PEM or P12."))
    var cert: String?

    @Option(help: .of("file", "Its key in PEM, if --cert has none."))
    var certKey: String?

    @Option(help: .of("text", "The password of P12 or key; other users can see it in the list of processes."))
    var password: String?

    @Option(help: .of("file", "A file whose first line is the password; - is standard input."))
    var passwordFile: String?

    @Option(help: .of("file", "The key that signs provider tokens: a P8 file."))
    var key: String?

    @Option(help: .of("id", "The key's id (default: from a file name like AuthKey_ID.p8)."))
    var keyID: String?

    @Option(help: .of("id", "The team that the key belongs to."))
    var team: String?

    func validate() throws {
        try require(cert == nil || key == nil, "Give --cert or --key, not both: a connection uses one of them.")
        try require(password == nil || passwordFile == nil, "Give --password or --password-file, not both.")
        try require(
            cert != nil || (certKey == nil && password == nil && passwordFile == nil),
            "--cert-key, --password and --password-file go with --cert.")
        if key == nil {
            try require(keyID == nil && team == nil, "--key-id and --team go with --key.")
            return
        }
        try require(team != nil, "--key needs --team, the 10 characters of your team.")
        try require(resolvedKeyID != nil, "--key needs --key-id, the 10 characters of its id.")
    }

    var isGiven: Bool { cert != nil || key != nil }

    /// Reads the given files, or `certificateFile` if none is given.
    func credential(orElse certificateFile: String?) throws(RingwakeError) -> ProviderCredential {
        if let key, let keyID = resolvedKeyID, let team {
            let key = try P256PrivateKey(pem: InputFile.read(key))
            return .token(key: key, keyID: keyID, teamID: team)
        }
        guard let file = cert ?? certificateFile else { return .none }
        let keyBytes: [UInt8]?
        if let certKey { keyBytes = try InputFile.read(certKey) } else { keyBytes = nil }
        return try ProviderCredential.certificate(
            file: InputFile.read(file), keyFile: keyBytes,
            password: PasswordSource.password(password, file: passwordFile))
    }

    /// `--key-id`, else the ID of `AuthKey_ID.p8`, the name that Apple gives its files.
    var resolvedKeyID: String? {
        if let keyID { return keyID }
        guard let name = key?.split(separator: "/").last, name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else {
            return nil
        }
        let id = name.dropFirst("AuthKey_".count).dropLast(".p8".count)
        return id.isEmpty ? nil : String(id)
    }
}
