import ArgumentParser
import ControlProtocol
import Cryptography
import RingwakeCore

/// The option of commands that read protected records without the daemon.
struct RecordPassphraseOptions: ParsableArguments {
    @Option(
        help: .of(
            "file", "The file with the passphrase that opens protected records, in its first line; - asks for it."),
        completion: .file())
    var protectionPassphraseFile: String?

    var isGiven: Bool { protectionPassphraseFile != nil }

    /// - Throws: `invalidRequest` for one that is empty or too long; `notFound`, `notPermitted`, `system` for the file.
    func passphrase(in context: CommandContext) throws(RingwakeError) -> RecordPassphrase {
        guard let file = protectionPassphraseFile,
            let text = try PasswordSource.password(file: file, for: "protected data", in: context)
        else { return RecordPassphrase(line: IdlePassphrase.line(nil)) }
        var bytes = Array(text.utf8)
        let line = IdlePassphrase.line(bytes)
        // It refuses those that no daemon takes.
        _ = try Passphrase(wiping: &bytes)
        return RecordPassphrase(line: line)
    }
}

/// What opens protected records, as `ringwaked --store` reads it from a pipe.
struct RecordPassphrase {
    /// See ``IdlePassphrase``.
    let line: [UInt8]
}
