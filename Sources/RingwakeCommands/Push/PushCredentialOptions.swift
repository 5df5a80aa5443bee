import ArgumentParser
import Cryptography
import PushClient
import RingwakeCore

/// The credentials of a sender.
struct PushCredentialOptions: ParsableArguments {
    @Option(help: .of("file", "The provider certificate: PEM or P12."), completion: .file())
    var cert: String?

    @Option(help: .of("file", "Its key in PEM, if --cert has none."), completion: .file())
    var certKey: String?

    @Option(
        help: .of(
            "file",
            "A file whose first line is the password of P12 or key; - is standard input (default: $RINGWAKE_PASSWORD, "
                + "else asks at a terminal)."),
        completion: .file())
    var passwordFile: String?

    @Option(help: .of("file", "The key that signs provider tokens: a P8 file."), completion: .file())
    var key: String?

    @Option(help: .of("id", "The key's id (default: from a file name like AuthKey_ID.p8)."))
    var keyID: String?

    @Option(help: .of("id", "The team that the key belongs to."), completion: .teams)
    var team: String?

    func validate() throws {
        try require(cert == nil || key == nil, "Give --cert or --key, not both: a connection uses one of them.")
        try require(
            cert != nil || (certKey == nil && passwordFile == nil), "--cert-key and --password-file go with --cert.")
        if key == nil {
            try require(keyID == nil && team == nil, "--key-id and --team go with --key.")
            return
        }
        try require(team != nil, "--key needs --team, the 10 characters of your team.")
        try require(resolvedKeyID != nil, "--key needs --key-id, the 10 characters of its id.")
    }

    var isGiven: Bool { cert != nil || key != nil }

    /// Reads the given files, or `certificateFile` if none is given.
    func credential(orElse certificateFile: String?, in context: CommandContext) throws(RingwakeError)
        -> ProviderCredential
    {
        if let key, let keyID = resolvedKeyID, let team {
            let key = try P256PrivateKey(pem: InputFile.read(key))
            return .token(key: key, keyID: keyID, teamID: team)
        }
        guard let file = cert ?? certificateFile else { return .none }
        let keyBytes: [UInt8]?
        if let certKey { keyBytes = try InputFile.read(certKey) } else { keyBytes = nil }
        let bytes = try InputFile.read(file)
        return try PasswordSource.use(file: passwordFile, for: file, in: context) {
            (password) throws(RingwakeError) -> ProviderCredential in
            try .certificate(file: bytes, keyFile: keyBytes, password: password)
        }
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
